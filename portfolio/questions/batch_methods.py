"""The questions of :class:`portfolio.explainer.Explainer` asked of whole tables."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal

from encoders.errors import InputError
from portfolio.proofs.size import PROOF_MB
from portfolio.question import MAP, Options, Question, check_from_0, strategy_name
from portfolio.questions.every_row import Bounds, every_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from encoders.maps.region_map import Budget
    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from portfolio.batch.settings import OnAnswer
    from portfolio.exploration import Exploration
    from portfolio.logbook import Log
    from portfolio.model.explained_model import ExplainedModel
    from portfolio.running.work import Answers
    from portfolio.solving.ask import Asker


OF_A_QUESTION = ("target", "norm", "scale", "weights", "constraints", "margin")


class BatchQuestions:
    """Methods that an explainer inherits."""

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
    ) -> Any:
        """Explain every row of a table.

        Small batches are answered in this process; workers are started if that takes longer.
        With ``out`` every answer is appended to a file as it comes, and the table is written there
        as Parquet at the end. Ctrl-C and the deadline return what is done; a row that fails has the
        reason in its place.

        Parameters
        ----------
        X : DataFrame or array (n_rows, n_columns); the index of pandas gives the ids
        target, norm, scale, weights, constraints, margin, seed, log, strategy : as for
            :meth:`Explainer.explain`; the strategy "map" makes a map of the model first and then
            asks that, see :meth:`Explainer.with_map`
        time_limit_s : seconds for each row
        deadline_s : seconds for all, from this call; None for no limit
        threads : solver threads of each worker
        executor : "local" (this process for small batches, else one worker per core and
            ``threads``), "ray" (a cluster started here), a
            :class:`portfolio.running.local_executor.LocalExecutor`, or a
            :class:`portfolio.running.ray.executor.RayExecutor`
        out : folder for the answers, made if need be
        resume : keep the answers that ``out`` has to the same model, rows and settings, and ask
            the others only
        on_answer : called with (rows answered, rows in all)
        tie_break : as for :meth:`Explainer.explain`
        records : whether each line of ``out`` has the answer's record, too, as of
            :meth:`Result.record`; its proof is made in what is left of the row's seconds. A column
            ``why_no_proof`` says of each why it has none, "" if it has
        proof_mb : as for :meth:`Result.record`
        map_folder : where the strategy "map" keeps its maps and looks for them, None for nowhere
        map_seconds, map_mb : what maps may take, None for 60 s and 256 MB; never more than half of
            the seconds until the deadline
        explore : float from 0 to 1, or Exploration: share of the rows, of those that presolve alone
            does not prove, that are solved by every backend once all rows are answered, as for
            :meth:`Explainer.explain`; at most the budget, and the seconds until the deadline

        Returns
        -------
        DataFrame
            Of pandas, or of the kind that ``X`` is.
            One row per query: id, status, stop_reason, distance, bound, margin, backend, target,
            seconds, changed (names of features), message, score_before and score (as in
            :class:`Result`), and ``cf_`` columns with the counterfactual, NaN without one.

        Raises
        ------
        InputError
            Bad settings, or columns other than the model's.
        BatchError
            The folder can't be written to any more; holds what was answered.
        """
        from portfolio.batch.job import Job
        from portfolio.batch.rows import read_batch
        from portfolio.batch.run import run_batch
        from portfolio.batch.settings import BatchSettings
        from portfolio.exploration import explore_batch, read_exploration
        from portfolio.logbook import check_folder
        from portfolio.model.frames import as_kind, as_pandas
        from portfolio.solving.make_maps import budget_before

        limits = (time_limit_s, deadline_s, threads)
        settings = BatchSettings(*limits, executor, out, resume, on_answer)
        question = Question(target, norm, scale, weights, constraints, margin)
        mapped = strategy == MAP
        name = "auto" if mapped else strategy_name(strategy)
        options = Options(name, time_limit_s, threads, seed, tie_break=tie_break)
        exploration = read_exploration(explore, log)
        check_from_0("proof_mb", proof_mb)
        rows = read_batch(self._asker, question, X)
        check_folder(log)
        identity = _identity(self._asker.model, target)
        # Digests without them are those of older versions.
        more: list[Any] = ([tie_break] if tie_break else []) + (["records"] if records else [])
        more += [proof_mb] if records and proof_mb != PROOF_MB else []
        asked = (identity, question, name, threads, seed, time_limit_s, *more)
        _check_folders(records and out is None, map_folder is not None and not mapped)
        budget = budget_before(settings.left_s, map_seconds, map_mb)
        asker = self._asker
        if name == "auto":
            asker = _with_maps(asker, question, len(rows.values), budget, mapped, map_folder)
        job = Job(asker, question, options, log, float(proof_mb) if records else None)
        answers = run_batch(rows, job, asked, settings)
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
        """Ask any question about a row of every row of a table.

        Parameters
        ----------
        question : name of the method that asks it of one row: "reasons", "several", "why_not", ...
        X, time_limit_s, deadline_s, threads, seed, executor, out, resume, on_answer : as for
            :meth:`explain_batch`
        **settings : the method's own arguments, such as ``target`` or ``smallest``

        Returns
        -------
        DataFrame
            Of pandas, or of the kind that ``X`` is. One row per query: id, status, stop_reason,
            seconds, all that the answer's ``to_dict()`` has (a list of names as text with commas,
            what has parts of its own as JSON), message, and text, which is the answer in sentences.

        Raises
        ------
        InputError
            No such question or setting, bad settings, or columns other than the model's.
        BatchError
            The folder can't be written to any more; holds what was answered.
        """
        from portfolio.batch.rows import read_batch
        from portfolio.batch.run import run_batch
        from portfolio.batch.settings import BatchSettings
        from portfolio.model.frames import as_kind, as_pandas
        from portfolio.questions.batch_job import QuestionJob, settings_of

        known = settings_of(question)
        if unknown := sorted(settings.keys() - known):
            raise InputError(
                f"{question} takes no {unknown[0]!r} in a batch; its settings are "
                f"{', '.join(sorted(known))}."
            )
        batch = BatchSettings(time_limit_s, deadline_s, threads, executor, out, resume, on_answer)
        asked = Question(**{name: settings[name] for name in OF_A_QUESTION if name in settings})
        name = strategy_name(settings.get("strategy"))
        Options(name, time_limit_s, threads, seed)
        model = self._asker.model
        rows = read_batch(self._asker, asked, X, whole=True)
        if "y" in settings:  # a second row, of whatever kind, is told by its values
            settings["y"] = self._asker.read(settings["y"])
        identity = _identity(model, asked.target)
        job = QuestionJob(self._asker, question, settings | {"threads": threads, "seed": seed})
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
        """Find the smallest perturbation of every row of a table.

        Parameters
        ----------
        X : as for :meth:`explain_batch`
        radius : adds a column ``robust``: whether it holds for the row, missing where that is not
            known
        target, norm, scale, weights, bounds : as for :meth:`robustness`
        time_limit_s, deadline_s, threads, seed, executor, out, resume, strategy : as for
            :meth:`explain_batch`

        Returns
        -------
        DataFrame
            As of :meth:`explain_batch`; ``distance`` is the robustness, ``bound`` what
            is proved of it.

        Raises
        ------
        InputError
            Bad settings, or columns other than the model's.
        """
        from portfolio.questions.robust.robustness import check_radius, check_scale, judged

        check_scale(norm, scale, bounds)
        if radius is not None:
            check_radius(radius)
        answers = self._about(every_row(self._asker, bounds)).explain_batch(
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

    def _about(self, asker: Asker) -> Any:
        """The same explainer about other rows."""
        other: Any = copy.copy(self)
        other._asker, other._model = asker, asker.model
        return other


def _check_folders(records_nowhere: bool, maps_unused: bool) -> None:
    """Raise :class:`InputError` for records without a folder, or a folder of maps without maps."""
    if records_nowhere:
        raise InputError("records are written beside the answers; give out, a folder for them.")
    if maps_unused:
        raise InputError('map_folder is where maps are kept; ask with the strategy "map".')


def _with_maps(
    asker: Asker,
    question: Question,
    count: int,
    budget: Budget,
    mapped: bool,
    folder: str | Path | None,
) -> Asker:
    """Return an asker with maps where the user asks for them or ``count`` rows justify them."""
    from portfolio.solving.make_maps import with_maps, with_maps_if_worth

    if mapped:
        return with_maps(asker, question, budget, folder)
    return with_maps_if_worth(asker, question, count, budget)


def _identity(model: ExplainedModel, target: Any) -> str:
    """The model's, as far as answers for a target depend on it."""
    from portfolio.goals import wanted_of

    identity: str = model.identity_for(wanted_of(model, target) is not None)
    return identity
