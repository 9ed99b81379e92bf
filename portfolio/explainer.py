"""From a fitted model and a row to the closest row that the model decides otherwise.

What reads models and what solves are imported when an explainer is made: a program that only
names the class starts three times as fast.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from encoders.as_html import folded, paragraph
from encoders.errors import InputError
from portfolio.question import (
    MAP,
    RACE,
    Options,
    Question,
    check_progress,
    strategy_name,
)
from portfolio.questions.batch_methods import BatchQuestions
from portfolio.questions.methods import Questions
from portfolio.variants import Variants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from encoders.backends.attempt import RunBackend
    from encoders.backends.interface import Backend, Outcome, Request
    from encoders.problem.problem import Problem
    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from encoders.query.features import FeatureSpace
    from portfolio.exploration import Exploration
    from portfolio.logbook import Log
    from portfolio.model.plausibility import Plausibility
    from portfolio.result import Result
    from portfolio.running.solver_workers import Workers
    from portfolio.session import Session
    from portfolio.solving.progress import OnProgress
    from selector import Diagram, Metric, OnlineCosts


class Runner(Protocol):
    """What runs backends."""

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome: ...


class Explainer(Questions, BatchQuestions, Variants):
    """Explains one fitted model; reads it once, answers any number of queries.

    Parameters
    ----------
    model : fitted classifier or regressor
        scikit-learn forests, trees and gradient boosting, XGBoost, LightGBM, CatBoost, several of
        these together, :class:`HardVotingClassifier`, or a scikit-learn Pipeline that ends so.
    X_train : DataFrame (of pandas, polars or pyarrow) or array (n_rows, n_columns)
        The frame the model was trained on; bounds, kinds and scales come from it. None, or a frame
        without rows, where ``features`` describes every column.
    features : mapping, path of a JSON file, FeatureSpace, or None
        Overrides of what is inferred (see :func:`encoders.query.infer_features.infer_features`).
    voting : "soft", "hard" or None
        "hard" lets the trees of a forest vote; None and "soft" take the model as it is.
    plausibility : Plausibility or None
        Counterfactuals must be inliers of the target class' isolation forest.
    also : sequence of fitted models
        Counterfactuals must reach the target under each of these, too. Of any kind that can be
        read, and fitted on the same columns as the model; a regressor with regressors.
    workers : Workers or None
        Worker processes to share with other explainers; None: its own.
    diagram : Diagram, path of a JSON file, or None
        What picks backends for "auto"; None: the one promoted, or shipped. See
        ``counterfolio selector``.
    steps : mapping or None
        What steps of a Pipeline do that are not known, each column for itself, by name as in
        ``get_params()``: "monotone" (only rises or only falls), or "by value" (each value of the
        training data counts for itself). It is checked where values are looked at.
    model_file : path or None
        Of the file that the model was loaded from; records tell its SHA-256.

    Raises
    ------
    InputError, UnsupportedModelError
        One sentence on what is wrong and what to do.

    Notes
    -----
    Immutable after construction; one Explainer may be used from several threads. Solvers that
    may not stop when asked run in worker processes, which end with the Explainer.
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
        steps: Mapping[str, Literal["monotone", "by value"]] | None = None,
        also: Sequence[Any] = (),
        model_file: str | Path | None = None,
    ) -> None:
        from portfolio.model.explained_model import read
        from portfolio.model.files import digest_of
        from portfolio.model.plausibility import Plausibility
        from portfolio.questions.answer_methods import regional
        from portfolio.running.solver_workers import Workers
        from portfolio.solving.ask import Asker
        from selector import Selector, diagram_of

        if plausibility is not None and not isinstance(plausibility, Plausibility):
            raise InputError(
                f"plausibility must be a Plausibility, got {type(plausibility).__name__}; "
                "wrap an isolation forest of yours: Plausibility(forest)."
            )
        if workers is not None and not isinstance(workers, Workers):
            raise InputError(f"workers must be a Workers, got {workers!r}.")
        if not isinstance(also, list | tuple):
            raise InputError(f"also must be a list of models, got {type(also).__name__}.")
        selector = Selector(diagram_of(diagram))
        digest = None if model_file is None else digest_of(model_file)
        made = read(model, X_train, features, voting, plausibility, steps, also)
        self._model = replace(made, file_digest=digest)
        self._asker = Asker(self._model, workers or Workers(), selector, regional)
        self.follows_default = diagram is None

    @property
    def features(self) -> FeatureSpace:
        """What the columns were taken for; ``print`` it to see."""
        return self._model.space

    @property
    def classes(self) -> tuple[Any, ...]:
        """The model's labels; none of a regressor."""
        return self._model.native.classes

    @property
    def digest(self) -> str:
        """Of all that the model's decisions depend on; the same in every process."""
        return self._model.identity

    def _repr_html_(self) -> str:
        """What a notebook shows: the model, what it decides, and the features."""
        model = f"Explains {type(self._model.native.model).__name__}"
        classes = ", ".join(map(repr, self.classes))
        decides = f"which decides for {classes}" if classes else "which predicts a number"
        return paragraph(f"{model}, {decides}.") + folded("Features", self.features._repr_html_())

    def predict(self, x: Any) -> Any:
        """The model's own label for one row, or a regressor's prediction.

        Parameters
        ----------
        x : as for :meth:`explain`
        """
        row = self._asker.read(x)
        if self._model.ensemble.regression:
            return float(self._model.native.values(row.values[None, :], "prediction", 0)[0])
        return self.classes[int(self._model.native.predict(row.values[None, :])[0])]

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
    ) -> Result:
        """Find the cheapest change that makes the model reach ``target``, and prove it.

        Parameters
        ----------
        x : Series, one-row DataFrame (of pandas, polars or pyarrow), mapping, or array (n_columns,)
        target : label to reach; None: any other than the current one, the cheapest wins. Or a goal:
            ``Probability("granted", at_least=0.8)``, ``Score(low, high)``, and for regressors
            ``(low, high)``, ``AtLeast``, ``AtMost``, ``Less(by=...)``, ``More(percent=...)``
        norm : any p from 0 to 100 (2: sum of squares), "inf" (largest single change), a function
            ``(feature, from, to) -> cost``, or ``{feature: {value: cost} | (from, to) -> cost}``
            (features left out cost L1). Costs of a function must not fall with distance.
        scale : change of a numeric or ordinal feature that costs 1: its "range" (upper bound minus
            lower, those of the training data unless ``features`` gives bounds), its "std" or
            "mad" (std where that is 0) in the training data, or "none"
        weights : factor per feature, default 1; a mapping by name or one per feature
        constraints : Fixed, Increase, Decrease, Range, Allowed, MaxChanges
        margin : lead over every other class, in the model's score (probability of a forest, raw
            score of boosting, votes in hard voting). None or 0: what the model's own predict
            decides, ties and rounding included, is the measure, and proofs are about just that
        time_limit_s : seconds from this call, posing and verification included; what has to be
            compiled on the first use on a machine is compiled before
        threads : solver threads, default all cores this process may use
        seed : of the solvers
        on_progress : called with (seconds, upper bound, lower bound), from solver threads
        executor : where backends run: "local", "ray" (a cluster started here), or a
            :class:`portfolio.running.ray.executor.RayExecutor`
        log : folder to which a record per attempt is appended, a
            :class:`portfolio.logbook.Logbook`, or a function of the result that gives one;
            see :mod:`selector.logs.files`
        metric : what "auto" goes by, "total" seconds of this query or "solver", the seconds that
            solving takes where a model is kept; see also :meth:`session`
        strategy : by what the reduced problem is solved: "auto" (default); a registered backend,
            or one with an engine or a formulation, as in "milp/gurobi", "milp:ocean" or
            "milp/highs:ocean"; "race" for all that can prove, or a sequence of names that race,
            the most promising first: backends then work at once, as many as there are threads,
            and the first proof ends it (see :attr:`Result.race`). "plain-cp", or "plain-" and
            another name, solves the unreduced problem by the backend's plain published
            formulation, for comparisons
        tie_break : of all answers that cost the same (but for 1e-9 of it) give the first, whoever
            solves: fewest changes, then the earliest features, then the nearest values. Takes a few
            more solves; :attr:`Result.first` says whether it is proved
        explore : float from 0 to 1, or Exploration: probability that the query, if presolve alone
            does not prove it, is then solved by every other backend too, for the selector to learn
            from. The runs are logged below ``log`` and add at most 60 s, or the budget given
        second : a backend that then proves once more, on the unreduced problem and within the same
            time limit, that nothing is cheaper; :attr:`Result.second` says whether it did

        Returns
        -------
        Result

        Raises
        ------
        InputError
            Bad query, target, norm, weights, constraints, limits or strategy.
        """
        from portfolio.exploration import explore_rows, read_exploration

        question = Question(target, norm, scale, weights, constraints, margin)
        name = strategy_name(strategy)
        options = Options(name, time_limit_s, threads, seed, metric, tie_break=tie_break)
        check_progress(on_progress)
        exploration = read_exploration(explore, log)
        run = self._runner(executor)
        if second is not None:
            from portfolio.solving.second import check_second, with_second

            check_second(second)
        if tie_break:
            from portfolio.questions.series import Series

            row = self._asker.read(x)
            found = Series(self._asker, row, question, options, run, on_progress, log).ask([])
        else:
            way = self._asker.strategy(question, options, run)
            found = self._asker.ask(question, options, x, way, on_progress, log)
        if second is not None:
            found = with_second(self._asker, question, options, x, found, second, log)
        if exploration is not None and found.attempts and found.stop_reason != "interrupted":
            rows = [self._asker.read(x)]
            explore_rows(self._asker, question, options, rows, exploration, log, run)
        return found

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
    ) -> Session:
        """Keep one backend's model for many queries: structure once, costs per query.

        The whole problem is solved, without reduction but where a backend needs no model;
        ``session.explain(x)`` asks.

        Parameters
        ----------
        target, norm, scale, weights, constraints, margin, threads, seed : as for :meth:`explain`
        strategy : a backend, with an engine or a formulation or without, or "auto" (the default),
            which picks by the seconds that solving takes; "search" keeps nothing and reduces each
            query; or "map", which makes a map of the model and asks that, see
            :meth:`Explainer.with_map`
        online : for "auto": costs that this session adds to and picks by, see
            :class:`selector.online_costs.OnlineCosts`. None: the diagram alone picks

        Raises
        ------
        InputError
            The backend can't keep a model; ``counterfolio backends`` says which can.
        """
        from encoders.backends.registry import all_backends
        from portfolio.goals import checked_target
        from portfolio.session import Session
        from portfolio.solving.make_maps import with_maps
        from selector import OnlineCosts, check_name, takes_sessions
        from selector.candidates import AUTO

        if not isinstance(strategy, str) or strategy == RACE:
            raise InputError(
                "a session keeps the model of a single backend. Set strategy to one backend or to "
                f"'auto', not {strategy!r}."
            )
        if online is not None:
            if not isinstance(online, OnlineCosts):
                raise InputError(f"online must be OnlineCosts, got {type(online).__name__}.")
            if strategy != AUTO:
                raise InputError(f"online needs strategy='auto', got {strategy!r}.")
            online.check(self.diagram)
        question = Question(target, norm, scale, weights, constraints, margin)
        checked_target(self._asker.model, target)
        question.cost(self._asker.model.space)
        if strategy == MAP:
            options = Options(threads=threads, seed=seed)
            return Session(with_maps(self._asker, question), question, options, MAP)
        check_name(strategy)
        if not takes_sessions(strategy):
            able = [own.name for own in all_backends() if own.capability.sessions]
            known = f"{', '.join(able[:-1])} or {able[-1]}"
            raise InputError(f"backend {strategy} does not support sessions. Use {known}.")
        options = Options(strategy, threads=threads, seed=seed, metric="solver")
        return Session(self._asker, question, options, strategy, online)

    def _runner(self, executor: str | Runner) -> RunBackend | None:
        """What runs backends elsewhere; None for the workers of this machine."""
        if isinstance(executor, str):
            from portfolio.running.ray_by_name import ray_by_name

            return None if executor == "local" else ray_by_name(executor).run
        if not hasattr(executor, "run"):
            raise InputError(f"executor must be 'local', 'ray' or a RayExecutor, got {executor!r}.")
        return executor.run
