"""Questions about whole tables: methods of :class:`portfolio.api.explainer.Explainer`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from encoders.core.errors import InputError
from portfolio.api.variants import with_asker
from portfolio.engine.question import MAP, Options, Question, check_from_0, strategy_name
from portfolio.questions.every_row import Bounds, every_row
from portfolio.results.result import PROOF_MB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from encoders.search.maps.region_map import Budget
    from portfolio.batch.exploration import Exploration
    from portfolio.engine.ask import Asker
    from portfolio.engine.logbook import Log
    from portfolio.engine.progress import OnAnswer
    from portfolio.model.explained_model import ExplainedModel
    from portfolio.questions.groups.audit import Audit
    from portfolio.workers.work import Answers
    from selector import Portfolio


class BatchQuestions:
    """Methods of an explainer that answer a query for every row of a table.

    Examples
    --------
    >>> explainer.explain_batch(X)["status"].tolist()
    ['optimal', 'optimal', 'optimal', 'optimal']
    """

    _asker: Asker

    def explain_batch(
        self,
        X: Any,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        on_answer: OnAnswer = lambda answered, rows: None,
        log: Log | None = None,
        strategy: str | Sequence[str] = "auto",
        tie_break: bool = False,
        records: bool = False,
        proof_mb: float = PROOF_MB,
        map_folder: str | Path | None = None,
        map_seconds: float | None = None,
        map_mb: float | None = None,
        explore: float | Exploration = 0.0,
        portfolio: str | Sequence[str] | None = None,
    ) -> Any:
        """Explain every row of a table.

        Small batches are solved in this process; worker processes are started for larger ones. With
        ``out`` each answer is appended to a file as soon as it is known, and the table is written
        as Parquet at the end. Ctrl-C and the deadline return the answers so far. A row that fails
        does not end the batch; its message contains the reason.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Rows to explain; the index of a pandas DataFrame gives their ids.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        norm : number, str, callable or mapping, default 1
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of Constraint, default ()
            Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.
        margin : float, optional
            Required lead over every other class, in units of the model's score.
        time_limit_s : float, default 60
            Wall-clock limit in seconds for each row.
        deadline_s : float, optional
            Wall-clock limit in seconds for all rows together, from this call; no limit by default.
        threads : int, default 1
            Number of solver threads of each worker.
        seed : int, default 0
            Random seed of the solvers.
        executor : {"local", "ray"} or executor, default "local"
            Place where rows are solved. "local" solves small batches in this process, and others on
            as many workers as cores and ``threads`` allow. One worker is a thread of this process
            while rows are fast, the others are processes. "ray" starts a local Ray cluster. A
            :class:`LocalExecutor` or a :class:`RayExecutor` sets the details.
        out : str or Path, optional
            Folder for the answers; created if it does not exist.
        resume : bool, default False
            Whether to keep the answers in ``out`` to the same model, rows and settings, and solve
            only the other rows.
        on_answer : callable, optional
            Function called with (rows answered, number of rows).
        log : str, Path, Logbook or callable, optional
            Folder for training logs, as in :meth:`Explainer.explain`.
        strategy : str or sequence of str, default "auto"
            Backend selection, as in :meth:`Explainer.explain`. "map" first builds a map of the
            model and then looks up the answers, see :meth:`Explainer.with_map`.
        tie_break : bool, default False
            Whether to return the same one of several equally cheap answers with every solver.
        records : bool, default False
            Whether each line of the file in ``out`` also contains a record of the answer with its
            proof, as in :meth:`Result.record`. The proof is computed within the time limit of the
            row. The column ``why_no_proof`` contains the reason if a proof is missing, else "".
        proof_mb : float, optional
            Largest size of a proof in megabytes, as in :meth:`Result.record`.
        map_folder : str or Path, optional
            Folder in which the strategy "map" stores its maps and looks for them.
        map_seconds : float, optional
            Largest number of seconds for building maps; by default 60. At most half of the time
            until the deadline is used.
        map_mb : float, optional
            Largest size of maps in megabytes; by default 256.
        explore : float or Exploration, default 0
            Share from 0 to 1 of the rows to solve again with every backend, as in
            :meth:`Explainer.explain`. Only rows that presolve alone does not prove are drawn. They
            are solved after all rows are answered, within the budget and the deadline.
        portfolio : str, sequence of str or None
            Backends among which "auto" chooses, as in :meth:`Explainer.explain`. Maps are used only
            if the portfolio contains "map".

        Returns
        -------
        DataFrame
            A pandas DataFrame, or a frame of the library of ``X``, with one row per query. Columns
            as in :class:`Result`: id, status, stop_reason, distance, bound, margin, backend,
            target, seconds, changed (names of features), message, score_before and score. Columns
            with the prefix ``cf_`` have the counterfactual (NaN if there is none).

        Raises
        ------
        InputError
            If a setting is invalid or the columns are not those of the model.
        BatchError
            If the folder ``out`` can no longer be written; the exception holds the answers so far.

        Examples
        --------
        >>> answers = explainer.explain_batch(X)
        >>> answers[["status", "distance", "changed"]].head(2)
            status  distance changed
        0  optimal  0.103825  income
        1  optimal  0.200511  income
        """
        from portfolio.batch.exploration import explore_batch, read_exploration
        from portfolio.batch.job import Job
        from portfolio.batch.run import read_batch, run_batch
        from portfolio.batch.settings import BatchSettings
        from portfolio.engine.logbook import check_folder
        from portfolio.engine.make_maps import budget_before
        from portfolio.model.frames import as_kind, as_pandas
        from selector import portfolio_of

        limits = (time_limit_s, deadline_s, threads)
        settings = BatchSettings(*limits, executor, out, resume, on_answer)
        asker, question = self._asker.about(
            Question(target, norm, scale, weights, constraints, margin)
        )
        mapped = strategy == MAP
        name = "auto" if mapped else strategy_name(strategy)
        within = portfolio_of(portfolio)
        options = Options(name, time_limit_s, threads, seed, tie_break=tie_break, portfolio=within)
        exploration = read_exploration(explore, log)
        check_from_0("proof_mb", proof_mb)
        rows = read_batch(asker, question, X)
        check_folder(log)
        _check_settings(records and out is None, mapped, map_folder, within)
        fingerprinted = _fingerprinted(asker, question, options, proof_mb if records else None)
        budget = budget_before(settings.left_s, map_seconds, map_mb)
        if name == "auto" and (within is None or MAP in within.candidates):
            asker = _with_maps(asker, question, len(rows.values), budget, mapped, map_folder)
        job = Job(asker, question, options, log, float(proof_mb) if records else None)
        answers = run_batch(rows, job, fingerprinted, settings)
        if exploration is not None:
            explore_batch(job, rows, answers, exploration, settings.left_s)
        return as_kind(answers, as_pandas(X)[1])

    def ask_batch(
        self,
        question: str,
        X: Any,
        time_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        on_answer: OnAnswer = lambda answered, rows: None,
        **settings: Any,
    ) -> Any:
        """Call a question method for every row of a table.

        Parameters
        ----------
        question : str
            Name of a question method about one row: "reasons", "several", "why_not", ...
        X : DataFrame or array of shape (n_rows, n_columns)
            Rows to ask about; the index of a pandas DataFrame gives their ids.
        time_limit_s : float, default 60
            Wall-clock limit in seconds for each row.
        deadline_s : float, optional
            Wall-clock limit in seconds for all rows together, from this call; no limit by default.
        threads : int, default 1
            Number of solver threads of each worker.
        seed : int, default 0
            Random seed of the solvers.
        executor : {"local", "ray"} or executor, default "local"
            Place where rows are solved, as in :meth:`Explainer.explain_batch`.
        out : str or Path, optional
            Folder for the answers, as in :meth:`Explainer.explain_batch`.
        resume : bool, default False
            Whether to reuse the answers in ``out``, as in :meth:`Explainer.explain_batch`.
        on_answer : callable, optional
            Function called with (rows answered, number of rows).
        **settings : object
            Further arguments of the method, such as ``target`` or ``smallest``.

        Returns
        -------
        DataFrame
            A pandas DataFrame, or a frame of the library of ``X``. One row per query with the
            columns id, status, stop_reason, seconds, the members of the answer's ``to_dict()``,
            message, and text (the answer in sentences). Lists of names are joined by commas; nested
            values are JSON.

        Raises
        ------
        InputError
            If the question or a setting is unknown or invalid, or the columns are not those of the
            model.
        BatchError
            If the folder ``out`` can no longer be written; the exception holds the answers so far.

        Examples
        --------
        >>> answers = explainer.ask_batch("reasons", X, smallest=True)
        >>> answers[["status", "features"]].head(2)
            status              features
        0  optimal  age, income, housing
        1  optimal  age, income, housing
        """
        from portfolio.batch.questions import QuestionJob, checked_record
        from portfolio.batch.run import read_batch, run_batch
        from portfolio.batch.settings import BatchSettings
        from portfolio.model.frames import as_kind, as_pandas

        if "y" in settings:  # rows of any type are fingerprinted by their values
            settings["y"] = self._asker.read(settings["y"])
        asker, record = self._asker.about(checked_record(question, settings))
        limited = replace(record, time_limit_s=time_limit_s, threads=threads, seed=seed)
        batch = BatchSettings(time_limit_s, deadline_s, threads, executor, out, resume, on_answer)
        assert limited.options  # are checked before any row is read
        rows = read_batch(asker, record.settings, X, whole=True)
        identity = _identity(asker.model, record.settings.target)
        job = QuestionJob(asker, limited)
        whole = (identity, question, settings, threads, seed, time_limit_s)
        return as_kind(run_batch(rows, job, whole, batch), as_pandas(X)[1])

    def robustness_batch(
        self,
        X: Any,
        radius: float | None = None,
        target: Any = None,
        norm: Norm = "inf",
        scale: str = "none",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        bounds: Bounds = "features",
        time_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        strategy: str | Sequence[str] = "auto",
    ) -> Any:
        """Find the smallest perturbation of every row of a table that changes its prediction.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Rows to check; the index of a pandas DataFrame gives their ids.
        radius : float, optional
            Distance to check; adds a column ``robust``: whether all rows within the radius have the
            same prediction, missing if that is undecided.
        target : label or goal, optional
            Class label or goal that the perturbed row has to reach; by default any other class.
        norm : number, str, callable or mapping, default "inf"
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "none"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        bounds : {"features"} or None, default "features"
            Whether perturbed rows stay within the bounds of the features; None allows any number.
        time_limit_s : float, default 60
            Wall-clock limit in seconds for each row.
        deadline_s : float, optional
            Wall-clock limit in seconds for all rows together, from this call; no limit by default.
        threads : int, default 1
            Number of solver threads of each worker.
        seed : int, default 0
            Random seed of the solvers.
        executor : {"local", "ray"} or executor, default "local"
            Place where rows are solved, as in :meth:`Explainer.explain_batch`.
        out : str or Path, optional
            Folder for the answers, as in :meth:`Explainer.explain_batch`.
        resume : bool, default False
            Whether to reuse the answers in ``out``, as in :meth:`Explainer.explain_batch`.
        strategy : str or sequence of str, default "auto"
            Backend selection, as in :meth:`Explainer.explain`.

        Returns
        -------
        DataFrame
            Table with the columns of :meth:`explain_batch`; ``distance`` is the robustness and
            ``bound`` its proved lower bound.

        Raises
        ------
        InputError
            If a setting is invalid or the columns are not those of the model.

        Examples
        --------
        >>> answers = explainer.robustness_batch(X, radius=0.1)
        >>> answers[["distance", "robust"]].head(2)
           distance  robust
        0       1.0    True
        1       1.0    True
        """
        from portfolio.questions.robust.robustness import check_radius, check_scale, judged

        check_scale(norm, scale, bounds)
        if radius is not None:
            check_radius(radius)
        asker, _ = self._asker.about(Question(target))
        free: Any = with_asker(self, every_row(asker, bounds))
        answers = free.explain_batch(
            X,
            target,
            norm,
            scale,
            weights,
            time_limit_s=time_limit_s,
            deadline_s=deadline_s,
            threads=threads,
            seed=seed,
            executor=executor,
            out=out,
            resume=resume,
            strategy=strategy,
        )
        return judged(answers, radius)

    def audit(
        self,
        X: Any,
        by: Any,
        target: Any,
        reference: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        on_answer: OnAnswer = lambda answered, rows: None,
        strategy: str | Sequence[str] | None = None,
        confidence: float = 0.95,
        resamples: int = 2000,
        bands: int | None = None,
    ) -> Audit:
        """Compare the cost of recourse between groups of rows.

        Every adverse row is explained as in :meth:`Explainer.explain_batch`. Groups are described
        by their share of rows without recourse (proved) and by the mean and median cost of
        recourse, and compared with a reference group.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Rows of all groups.
        by : str or sequence of length n_rows
            Name of a feature, or the group of each row; the attribute need not be used by the
            model.
        target : label or goal
            Favourable outcome, a class label or a goal.
        reference : label, optional
            Group that the others are compared with; by default the largest.
        norm : number, str, callable or mapping, default 1
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of Constraint, default ()
            Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.
        margin : float, optional
            Required lead over every other class, in units of the model's score.
        time_limit_s : float, default 60
            Wall-clock limit in seconds for each row.
        deadline_s : float, optional
            Wall-clock limit in seconds for all rows together.
        threads : int, default 1
            Number of solver threads of each worker.
        seed : int, default 0
            Random seed of the solvers, the bootstrap and the permutation test.
        executor : {"local", "ray"} or executor, default "local"
            Place where rows are solved, as in :meth:`Explainer.explain_batch`.
        out : str or Path, optional
            Folder for the answers, as in :meth:`Explainer.explain_batch`.
        resume : bool, default False
            Whether to reuse the answers in ``out``, as in :meth:`Explainer.explain_batch`.
        on_answer : callable, optional
            Function called with (rows answered, number of rows).
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        confidence : float, default 0.95
            Confidence level of all intervals.
        resamples : int, default 2000
            Number of resamples of the bootstrap and of the permutation test.
        bands : int, optional
            Number of bands with equal shares of the rows, such as 4 for quartiles. An attribute
            with more numbers is divided into them. By default each value is a group.

        Returns
        -------
        Audit
            The numbers of each group, and the differences from the reference group.

        Raises
        ------
        InputError
            If a row, the attribute, the target, the reference or a setting is invalid.
        BatchError
            If the folder ``out`` can no longer be written; the exception holds the answers so far.

        Examples
        --------
        >>> audit = explainer.audit(X_train[:40], by="sex", target="granted")
        >>> [(group.name, group.rows, group.adverse) for group in audit.groups]
        [(0, 21, 17), (1, 19, 18)]
        """
        from portfolio.questions.groups.audit_finder import Attribute, find_audit
        from portfolio.questions.groups.audit_statistics import Sampling

        asker, question = self._asker.about(
            Question(target, norm, scale, weights, constraints, margin)
        )

        def explain(rows: Any) -> Any:
            return self.explain_batch(
                rows,
                target,
                norm,
                scale,
                weights,
                constraints,
                margin,
                time_limit_s=time_limit_s,
                deadline_s=deadline_s,
                threads=threads,
                seed=seed,
                executor=executor,
                out=out,
                resume=resume,
                on_answer=on_answer,
                strategy=strategy_name(strategy),
            )

        sampling = Sampling(confidence, resamples, seed)
        attribute = Attribute(by, reference, bands)
        return find_audit(asker.model, X, attribute, question, sampling, explain)


def _check_settings(
    records_nowhere: bool,
    mapped: bool,
    map_folder: str | Path | None,
    portfolio: Portfolio | None,
) -> None:
    """Raise InputError for settings that exclude each other."""
    if records_nowhere:
        raise InputError("records=True needs a folder for the answers. Set out.")
    if map_folder is not None and not mapped:
        raise InputError('map_folder needs strategy="map". Set the strategy, or omit map_folder.')
    if portfolio is not None and mapped:
        raise InputError("portfolio needs strategy 'auto' or 'race', got 'map'. Omit one of them.")


def _fingerprinted(
    asker: Asker, question: Question, options: Options, proof_mb: float | None
) -> tuple[Any, ...]:
    """Return what the digest of a batch depends on; ``proof_mb`` is None without records.

    Options that are off do not enter the digest.
    """
    more: list[Any] = [options.tie_break] if options.tie_break else []
    more += [] if proof_mb is None else ["records"]
    more += [] if proof_mb in (None, PROOF_MB) else [proof_mb]
    more += [] if options.portfolio is None else [options.portfolio]
    identity = _identity(asker.model, question.target)
    limits = (options.threads, options.seed, options.time_limit_s)
    return (identity, question, options.strategy, *limits, *more)


def _with_maps(
    asker: Asker,
    question: Question,
    count: int,
    budget: Budget,
    mapped: bool,
    folder: str | Path | None,
) -> Asker:
    """Return an asker with maps where the user asks for them or ``count`` rows justify them."""
    from portfolio.engine.make_maps import with_maps, with_maps_if_worth

    if mapped:
        return with_maps(asker, question, budget, folder)
    return with_maps_if_worth(asker, question, count, budget)


def _identity(model: ExplainedModel, target: Any) -> str:
    """Return the identity of the model as far as answers for a target depend on it."""
    from portfolio.model.goals import wanted_of

    identity: str = model.identity_for(wanted_of(model, target) is not None)
    return identity
