"""The Explainer, which finds counterfactuals of a fitted model.

Modules that read models and solve are imported when an Explainer is created. A program that only
imports the class starts three times as fast.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from encoders.core.as_html import folded, paragraph
from encoders.core.collector import paused
from encoders.core.errors import InputError
from portfolio.api.batch_methods import BatchQuestions
from portfolio.api.methods import Questions
from portfolio.api.variants import Variants
from portfolio.engine.question import MAP, RACE, Options, Question, check_progress, strategy_name

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from encoders.backends.attempt import RunBackend
    from encoders.backends.interface import Backend, Outcome, Request
    from encoders.core.arrays import FloatArray
    from encoders.problem.problem import Problem
    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from encoders.query.features import FeatureSpace
    from encoders.query.goal import Goal
    from portfolio.api.session import Session
    from portfolio.batch.exploration import Exploration
    from portfolio.engine.ask import Asker
    from portfolio.engine.logbook import Log
    from portfolio.engine.progress import OnProgress
    from portfolio.model.explained_model import ExplainedModel
    from portfolio.model.plausibility import Plausibility
    from portfolio.model.row import Row
    from portfolio.results.result import Result
    from portfolio.workers.solver_workers import Workers
    from selector import Diagram, Metric, OnlineCosts


class Runner(Protocol):
    """Interface of objects that run backends."""

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome: ...


class Explainer(Questions, BatchQuestions, Variants):
    """Solver of counterfactual queries about one fitted model.

    The model is read once, and any number of queries can follow.

    Parameters
    ----------
    model : fitted classifier or regressor
        Forest, tree or gradient boosting of scikit-learn, XGBoost, LightGBM or CatBoost, or an
        explainable boosting machine. Also an ensemble of these, :class:`HardVotingClassifier`, or
        a scikit-learn Pipeline that ends in one of them.
    X_train : DataFrame (pandas, polars or pyarrow) or array of shape (n_rows, n_columns)
        Training data, from which bounds, feature types and scales are inferred. None or a frame
        without rows if ``features`` describes every column.
    features : mapping, path of a JSON file, FeatureSpace or None
        Overrides of the inferred features, see
        :func:`encoders.query.infer_features.infer_features`.
    voting : {"soft", "hard"} or None
        Voting rule of a forest: "hard" lets each tree vote; None and "soft" keep the rule of the
        model.
    plausibility : Plausibility or None
        Isolation forests; counterfactuals must be inliers of the target class.
    workers : Workers or None
        Worker processes to share with other explainers; by default the explainer has its own.
    diagram : Diagram, path of a JSON file, or None
        Decision diagram with which "auto" chooses backends; by default the promoted or the shipped
        one, see ``counterfolio selector``.
    steps : mapping or None
        Properties of unknown Pipeline steps that transform each column separately, by name as in
        ``get_params()``. "monotone" steps only rise or only fall. "by bin" steps are constant
        between cuts. "by value" steps map each value of the training data independently. The
        properties are verified wherever values are used.
    also : sequence of fitted models
        Further models for which counterfactuals must reach the target as well. They must be
        supported and fitted on the same columns; regressors go with regressors only.
    model_file : str, Path or None
        File that the model was loaded from; records contain its SHA-256.
    outputs : sequence of str or None
        Names of the outputs of a model that predicts several labels or numbers; their indices by
        default. Targets name one or more outputs, such as ``{"fraud": 0, "churn": 1}``.

    Raises
    ------
    InputError
        If an argument is invalid.
    UnsupportedModelError
        If the model is not supported.

    Notes
    -----
    An Explainer is immutable, and several threads may use it. Solvers that may ignore a stop
    request run in worker processes, which end with the Explainer.

    Examples
    --------
    >>> explainer = Explainer(model, X_train)
    >>> explainer.explain(row, target="granted").status
    'optimal'
    """

    def __init__(
        self,
        model: Any,
        X_train: Any = None,
        features: Mapping[str, Any] | str | Path | FeatureSpace | None = None,
        voting: Literal["soft", "hard"] | None = None,
        plausibility: Plausibility | None = None,
        workers: Workers | None = None,
        diagram: Diagram | str | Path | None = None,
        steps: Mapping[str, Literal["monotone", "by value", "by bin"]] | None = None,
        also: Sequence[Any] = (),
        model_file: str | Path | None = None,
        outputs: Sequence[Any] | None = None,
    ) -> None:
        from portfolio.engine.ask import Asker
        from portfolio.model.explained_model import read
        from portfolio.model.file_digest import digest_of
        from portfolio.model.plausibility import Plausibility
        from portfolio.model.sample import rows_at
        from portfolio.model.saved import Arguments
        from portfolio.workers.solver_workers import Workers
        from selector import Selector, diagram_of

        if plausibility is not None and not isinstance(plausibility, Plausibility):
            raise InputError(
                f"plausibility must be a Plausibility, got {type(plausibility).__name__}. "
                "Wrap an isolation forest: Plausibility(forest)."
            )
        if workers is not None and not isinstance(workers, Workers):
            raise InputError(f"workers must be a Workers, got {workers!r}.")
        if not isinstance(also, list | tuple):
            raise InputError(f"also must be a list of models, got {type(also).__name__}.")
        selector = Selector(diagram_of(diagram), by_default=diagram is None)
        digest = None if model_file is None else digest_of(model_file)
        made = read(model, X_train, features, voting, plausibility, steps, also, outputs)
        parsed = replace(made, file_digest=digest)
        self._asker = Asker(parsed, workers or Workers(), selector, _regional, _recording)
        sample = rows_at(X_train, made.representative)
        file = None if model_file is None else Path(model_file)
        self._arguments = Arguments(
            model, sample, voting, plausibility, dict(steps or {}), tuple(also), outputs, file
        )

    def save(self, folder: str | Path, rows: bool = True) -> None:
        """Save the explainer to a folder that needs no training data and contains no pickles.

        The folder contains the model files in the formats of their libraries (``.skops`` for
        scikit-learn), the features, and ``explainer.json`` with all other settings. Maps and
        workers are not saved.

        Parameters
        ----------
        folder : str or Path
            Folder to create. An existing one must be empty.
        rows : bool, default True
            Whether to save about 200 training rows, from which searches start. Otherwise no row is
            copied: categories and text are shuffled within their column, and numbers are random
            ones within the bounds of their feature.

        Raises
        ------
        InputError
            If the folder cannot be written, or if a model, label or column cannot be saved without
            a pickle.

        Examples
        --------
        >>> explainer.save("loans")
        >>> Explainer.load("loans").explain(row, target="granted").status
        'optimal'
        """
        from portfolio.model.saved import Contents, folder_path, save

        diagram = None if self.follows_default else self.diagram.to_json()
        contents = Contents(self._arguments, self.features, diagram)
        save(folder_path(folder), self._asker.model, contents, rows)

    @classmethod
    def load(
        cls, folder: str | Path, trust: bool = False, workers: Workers | None = None
    ) -> Explainer:
        """Load an explainer that :meth:`save` wrote.

        Parameters
        ----------
        folder : str or Path
            Folder of the saved explainer, or its address in MLflow, such as ``models:/credit/1``.
        trust : bool, default False
            Whether to open model files in this process at once. By default another process tries
            files that this user has not opened before, as a damaged file can crash the process that
            opens it. See the page on saved explainers for times.
        workers : Workers or None
            Worker processes, as for a new explainer.

        Returns
        -------
        Explainer
            The explainer, whose ``digest`` and answers are those of the saved one.

        Raises
        ------
        InputError
            If the folder is not a saved explainer, if a file is damaged or has changed, or if the
            installed libraries read the model differently.

        Examples
        --------
        >>> explainer.save("applicants")
        >>> Explainer.load("applicants", trust=True).digest == explainer.digest
        True
        """
        with paused():
            return cls._loaded(folder, trust, workers)

    @classmethod
    def _loaded(cls, folder: str | Path, trust: bool, workers: Workers | None) -> Explainer:
        from portfolio.model.mlflow_places import resolved
        from portfolio.model.saved import folder_path, load
        from selector import Diagram

        contents = load(resolved(folder_path(folder)), trust, _import_engine)
        arguments, text = contents.arguments, contents.diagram
        explainer = cls(
            arguments.model,
            arguments.sample,
            contents.space,
            arguments.voting,  # type: ignore[arg-type]
            arguments.plausibility,
            workers,
            None if text is None else Diagram.from_json(text, str(folder)),
            arguments.steps,
            arguments.also,
            arguments.model_file,
            arguments.outputs,
        )
        contents.check_digest(explainer.digest)
        return explainer

    @property
    def features(self) -> FeatureSpace:
        """Inferred features of the columns; ``print`` it to see their types and bounds."""
        return self._asker.model.space

    @property
    def classes(self) -> tuple[Any, ...]:
        """Labels of the model; empty for a regressor. See :attr:`outputs` for several outputs."""
        return self._asker.model.native.classes

    @property
    def outputs(self) -> dict[Any, tuple[Any, ...]]:
        """Labels of each output by its name, empty for one output."""
        outputs = self._asker.model.outputs
        return {name: each.model.native.classes for name, each in outputs.items()}

    @property
    def digest(self) -> str:
        """Digest of everything that predictions depend on; equal in every process."""
        return self._asker.model.identity

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the model, its classes and the features."""
        model = f"Explainer of {type(self._asker.model.native.model).__name__}"
        if self.outputs:
            model += f" with the outputs {', '.join(map(repr, self.outputs))}"
        classes = ", ".join(map(repr, self.classes))
        kind = f"a classifier with the classes {classes}" if classes else "a regressor"
        return paragraph(f"{model}, {kind}.") + folded("Features", self.features._repr_html_())

    def predict(self, x: Any) -> Any:
        """Return the model's own prediction for one row.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to predict.

        Returns
        -------
        label, float or dict
            The predicted label, or the number that a regressor predicts. For several outputs, one
            of these by the name of each.

        Examples
        --------
        >>> explainer.predict(row)
        'refused'
        """
        model, values = self._asker.model, self._asker.read(x).values[None, :]
        if model.outputs:
            return {name: _prediction(each.model, values) for name, each in model.outputs.items()}
        return _prediction(model, values)

    def explain(
        self,
        x: Any,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        executor: Literal["local", "ray"] | Runner = "local",
        log: Log | None = None,
        metric: Metric = "total",
        strategy: str | Sequence[str] = "auto",
        tie_break: bool = False,
        second: str | None = None,
        explore: float | Exploration = 0.0,
        portfolio: str | Sequence[str] | None = None,
    ) -> Result:
        """Find the cheapest change of a row that makes the model reach a target, and prove it.

        Parameters
        ----------
        x : DataFrame of one row (pandas, polars or pyarrow), Series, mapping or array (n_columns,)
            Row to explain.
        target : label, goal, pair of float or None
            Class label to reach; None for the cheapest class other than the current one. A goal is
            ``Probability("granted", at_least=0.8)``, ``Score(low, high)`` or ``Beat(other_row)``.
            For regressors it may be ``(low, high)``; for them and isolation forests ``AtLeast``,
            ``AtMost``, ``Less(by=...)`` or ``More(percent=...)``.
        norm : number, str, callable or mapping, default 1
            Distance measure: p from 0 to 100 (2 is the sum of squares) or "inf" for the largest
            change. A function ``(feature, from, to) -> cost`` or a mapping
            ``{feature: {value: cost} | (from, to) -> cost}`` defines other costs; features missing
            in the mapping use norm 1. Costs of a function must not fall with distance.
        scale : {"range", "std", "mad", "none"}, default "range"
            Change of a numeric or ordinal feature that costs 1. "range" is its upper minus lower
            bound, from the training data unless ``features`` sets bounds. "std" and "mad" are the
            standard deviation and the median absolute deviation in the training data ("std" where
            "mad" is 0). "none" is 1.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of constraint, optional
            Constraints such as Fixed, Increase, Decrease, Range, Allowed and MaxChanges.
        margin : float, optional
            Required lead over every other class in the model's score: probability of a forest, raw
            score of boosting, votes in hard voting. With None or 0 the proof covers exactly the
            rows for which the model's own predict returns the target, ties and rounding included.
        time_limit_s : float, default 60
            Limit in seconds from this call, including encoding and verification. Compilation at the
            first use on a machine does not count.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) from solver threads.
        executor : {"local", "ray"} or RayExecutor, default "local"
            Place where backends run: this machine, a Ray cluster started here, or the cluster of a
            :class:`portfolio.workers.ray.executor.RayExecutor`.
        log : str, Path, Logbook or callable, optional
            Training log to which a record per attempt is appended. It is a folder, a
            :class:`portfolio.engine.logbook.Logbook`, or a function that returns one for a result.
            See :mod:`selector.logs.files`.
        metric : {"total", "solver"}, default "total"
            Time that "auto" minimises: all seconds of the query, or the solver's seconds when the
            model is kept. See also :meth:`session`.
        strategy : str or sequence of str, default "auto"
            Method that solves the reduced problem. A backend may have an engine or a formulation,
            such as "milp/gurobi", "milp:ocean" or "milp/highs:ocean". "race" runs all backends that
            can prove, and a sequence of names runs these, the most promising first. Racing backends
            run at the same time, one per thread, until the first proof; see :attr:`Result.race`.
            "plain-cp" ("plain-" and any backend) solves the unreduced problem with the published
            formulation, for comparisons.
        tie_break : bool, default False
            Whether to return the first of all answers at the same distance (to a relative 1e-9)
            with every backend. The order is: fewest changes, earliest features, nearest values.
            This needs a few more solves. :attr:`Result.first` shows whether it is proved.
        second : str, optional
            Backend that then proves within the same time limit, on the unreduced problem, that
            nothing is cheaper. :attr:`Result.second` shows whether it did.
        explore : float or Exploration, default 0
            Probability that every other backend solves the query too, so that the selector can
            learn. Queries that presolve proves are skipped. The runs are logged in a subfolder of
            ``log`` and add at most 60 s, or the given budget.
        portfolio : str, sequence of str or None
            Backends among which "auto" chooses and which "race" runs: "paper", "no-licence" or a
            list such as ["cp", "milp/highs"]; by default all. See :mod:`selector.portfolios`.

        Returns
        -------
        Result
            The answer, with its proof, distance and changes.

        Raises
        ------
        InputError
            If the row, the target or a setting is invalid.

        Examples
        --------
        >>> result = explainer.explain(row, constraints=[Fixed("age")])
        >>> result.status
        'optimal'
        >>> [change.feature for change in result.changed]
        ['income']
        """
        from portfolio.batch.exploration import explore_rows, read_exploration
        from selector import portfolio_of

        asker, question = self._asker.about(
            Question(target, norm, scale, weights, constraints, margin)
        )
        name = strategy_name(strategy)
        options = Options(
            name,
            time_limit_s,
            threads,
            seed,
            metric,
            tie_break=tie_break,
            portfolio=portfolio_of(portfolio),
        )
        check_progress(on_progress)
        exploration = read_exploration(explore, log)
        run = self._runner(executor)
        if second is not None:
            from portfolio.engine.second import check_second, with_second

            check_second(second)
        if tie_break:
            from portfolio.engine.series import Series

            row = asker.read(x)
            result = Series(asker, row, question, options, run, on_progress, log).ask([])
        else:
            solver = asker.strategy(question, options, run)
            result = asker.ask(question, options, x, solver, on_progress, log)
        if second is not None:
            result = with_second(asker, question, options, x, result, second, log)
        if exploration is not None and result.attempts and result.stop_reason != "interrupted":
            rows = [asker.read(x)]
            explore_rows(asker, question, options, rows, exploration, log, run)
        return result

    def session(
        self,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        strategy: str = "auto",
        online: OnlineCosts | None = None,
        portfolio: str | Sequence[str] | None = None,
    ) -> Session:
        """Open a session, which keeps a backend's model for many queries.

        The whole problem is solved without presolve, except by backends that need no model. Call
        ``session.explain(x)`` for each row.

        Parameters
        ----------
        target : label, goal or None
            Target of all queries, as in :meth:`explain`.
        norm : number, str, callable or mapping, default 1
            Distance measure, as in :meth:`explain`.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, as in :meth:`explain`.
        constraints : sequence of constraint, optional
            Constraints, as in :meth:`explain`.
        margin : float, optional
            Required lead over every other class, as in :meth:`explain`.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        strategy : str, default "auto"
            Backend, with or without an engine or a formulation. "auto" chooses by the seconds that
            solving takes. "search" keeps no model and presolves each query. "map" builds a map of
            the model and uses it, see :meth:`Explainer.with_map`.
        online : OnlineCosts, optional
            Costs that this session updates and by which "auto" chooses, see
            :class:`selector.online_costs.OnlineCosts`; by default the diagram alone decides.
        portfolio : str, sequence of str or None
            Backends among which "auto" chooses, as in :meth:`explain`.

        Returns
        -------
        Session
            The session; close it or use it in a ``with`` statement.

        Raises
        ------
        InputError
            If the backend does not support sessions (see ``counterfolio backends``), or if a
            setting is invalid.

        Examples
        --------
        >>> with explainer.session(target="granted", strategy="cp") as session:
        ...     session.explain(row).status
        'optimal'
        """
        from encoders.backends.registry import all_backends
        from portfolio.api.session import Session
        from portfolio.engine.make_maps import with_maps
        from portfolio.model.goals import checked_target
        from selector import OnlineCosts, check_name, portfolio_of, takes_sessions
        from selector.candidates import AUTO

        if not isinstance(strategy, str) or strategy == RACE:
            raise InputError(
                f"session() supports a single backend or 'auto', got strategy={strategy!r}. Use "
                "explain() or explain_batch() for a race."
            )
        if online is not None:
            if not isinstance(online, OnlineCosts):
                raise InputError(f"online must be OnlineCosts, got {type(online).__name__}.")
            if strategy != AUTO:
                raise InputError(f"online needs strategy='auto', got {strategy!r}.")
            if portfolio is not None:
                raise InputError("online does not support portfolio. Omit one of them.")
            online.check(self.diagram)
        asker, question = self._asker.about(
            Question(target, norm, scale, weights, constraints, margin)
        )
        checked_target(asker.model, question.target)
        question.cost(asker.model.space)
        if strategy == MAP:
            if portfolio is not None:
                raise InputError("portfolio needs strategy 'auto', got 'map'. Omit one of them.")
            options = Options(threads=threads, seed=seed)
            return Session(with_maps(asker, question), question, options, MAP)
        check_name(strategy)
        if not takes_sessions(strategy):
            able = [each.name for each in all_backends() if each.capability.sessions]
            names = f"{', '.join(able[:-1])} or {able[-1]}"
            raise InputError(f"backend {strategy} does not support sessions. Use {names}.")
        within = portfolio_of(portfolio)
        if within is not None and not any(map(takes_sessions, within.backends)):
            raise InputError(f"no backend of the portfolio {within} supports sessions. Add 'cp'.")
        options = Options(strategy, threads=threads, seed=seed, metric="solver", portfolio=within)
        return Session(asker, question, options, strategy, online)

    def _runner(self, executor: str | Runner) -> RunBackend | None:
        """Return the function that runs backends elsewhere; None for workers on this machine."""
        if isinstance(executor, str):
            from portfolio.workers.ray.executor import ray_by_name

            return None if executor == "local" else ray_by_name(executor).run
        if not hasattr(executor, "run"):
            raise InputError(f"executor must be 'local', 'ray' or a RayExecutor, got {executor!r}.")
        return executor.run


def _prediction(model: ExplainedModel, rows: FloatArray) -> Any:
    """Return the label or number that a model predicts for the first row."""
    if model.ensemble.regression:
        return float(model.native.values(rows, "prediction", 0)[0])
    return model.native.classes[int(model.native.predict(rows)[0])]


def _regional(
    asker: Asker, row: Row, goal: Goal, label: Any, changed: tuple[str, ...]
) -> Callable[..., Any]:
    """Return a function that computes the region around an answer on demand."""

    def region(
        order: Sequence[str] | None,
        time_limit_s: float,
        threads: int | None,
        seed: int,
        on_progress: Callable[[float, int, int], None] | None,
        stop: threading.Event | None = None,
    ) -> Any:
        from portfolio.questions.records import RegionQuestion
        from portfolio.questions.region.region import region_around

        question = RegionQuestion(
            order=order, time_limit_s=time_limit_s, threads=threads, seed=seed
        )
        about = (replace(asker, stop=stop), row, goal, label, changed)
        return region_around(*about, question, on_progress)

    return region


def _recording(*arguments: Any) -> Any:
    """Return the record of a result; the modules of proofs are imported on demand."""
    from portfolio.proofs.record import record_of

    return record_of(*arguments)


def _import_engine() -> None:
    """Import the modules that creating an Explainer needs."""
    import portfolio.engine.ask
    import portfolio.workers.solver_workers  # noqa: F401
