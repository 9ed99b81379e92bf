"""The questions of :class:`portfolio.explainer.Explainer` that have several answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from portfolio.question import Options, Question, strategy_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from portfolio.questions.several.diverse import Diverse
    from portfolio.questions.several.front import Front
    from portfolio.questions.several.several import Several
    from portfolio.solving.ask import Asker
    from portfolio.solving.progress import OnProgress


class SeveralQuestions:
    """Methods that an explainer inherits; each is a docstring and a call."""

    _asker: Asker

    def several(
        self,
        x: Any,
        k: int = 5,
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
        strategy: str | Sequence[str] | None = None,
        tie_break: bool = False,
        different: Literal["features", "region"] = "features",
    ) -> Several:
        """The ``k`` cheapest answers that differ, each proved.

        Each is the cheapest of all rows that do not change all that an earlier answer changes. So
        no answer is an earlier one with more changes. Or it is the cheapest of all rows outside the
        regions of the earlier answers: boxes in which every row is decided as wanted, see
        :meth:`Result.region`.

        Parameters
        ----------
        x, target, norm, scale, weights, constraints, margin : as for :meth:`Explainer.explain`
        k : how many at most
        time_limit_s : seconds for all answers together
        threads, seed, strategy, tie_break : as for :meth:`Explainer.explain`
        on_progress : called with (seconds, upper bound, lower bound) of the answer under way
        different : "features" or "region", what tells answers apart

        Returns
        -------
        Several

        Raises
        ------
        InputError
            Bad query, target, norm, weights, constraints, limits or strategy.
        """
        from portfolio.questions.several.several import find_several

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed, tie_break=tie_break)
        return find_several(self._asker, x, question, options, k, different, on_progress)

    def diverse(
        self,
        x: Any,
        k: int = 3,
        within: float = 0.1,
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
        strategy: str | Sequence[str] | None = None,
    ) -> Diverse:
        """The ``k`` answers that are farthest apart, of all that cost little more than the least.

        The least distance between two of them is as large as it gets, which is proved. Two answers
        are as far apart as one costs if the other is the query.

        Parameters
        ----------
        x, target, scale, weights, constraints, margin : as for :meth:`Explainer.explain`
        k : how many, from 2 to 20
        within : share by which they may cost more than the cheapest: 0.1 for a tenth
        norm : 0, 1 or "inf", which are distances between any two rows
        time_limit_s : seconds for all steps together
        threads, seed, strategy : as for :meth:`Explainer.explain`, of the cheapest answer
        on_progress : called with (seconds, upper bound, lower bound) of the least distance

        Returns
        -------
        Diverse

        Raises
        ------
        InputError
            Bad query, k, within, target, norm, weights, constraints, limits or strategy.
        """
        from portfolio.questions.several.diverse_finder import find_diverse

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_diverse(self._asker, x, question, options, k, within, on_progress)

    def front(
        self,
        x: Any,
        by: Literal["changes", "probability", "plausibility"] = "changes",
        levels: Sequence[float] | None = None,
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
        strategy: str | Sequence[str] | None = None,
        tie_break: bool = False,
    ) -> Front:
        """What fewer changes cost, or a higher probability or plausibility: a proved answer each.

        Parameters
        ----------
        x, target, norm, scale, weights, constraints, margin : as for :meth:`Explainer.explain`; by
            "probability" the target is a class, None for the other one of two
        by : "changes": the cheapest answer with at most so many changes; "probability": with at
            least this probability of the target; "plausibility": with at least this score of the
            isolation forest, as its ``score_samples`` gives it
        levels : numbers of changes, probabilities or scores. None: from the cheapest answer to the
            fewest changes that suffice; 0.5, 0.6, 0.7, 0.8, 0.9 and 0.95; or from the forest's own
            threshold up to three quarters of it, in steps of a twentieth
        time_limit_s : seconds for all levels together
        threads, seed, strategy, tie_break : as for :meth:`Explainer.explain`
        on_progress : called with (seconds, upper bound, lower bound) of the level under way

        Returns
        -------
        Front

        Raises
        ------
        InputError
            Bad query, levels, target, norm, weights, constraints, limits or strategy.
        """
        from portfolio.questions.several.front import find_front

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed, tie_break=tie_break)
        return find_front(self._asker, x, question, options, by, levels, on_progress)
