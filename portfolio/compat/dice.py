"""Counterfactuals for programs that use DiCE (``dice_ml``): the same calls, with proofs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from encoders.core.close_names import close_names
from encoders.core.errors import InputError, NothingAdmissibleError
from encoders.query.constraints import Allowed, Constraint, Fixed, Range, listed
from encoders.query.goal import Probability
from encoders.query.names import feature_name
from portfolio.api.explainer import Explainer
from portfolio.compat.dice_answers import CounterfactualExamples, CounterfactualExplanations

if TYPE_CHECKING:
    import pandas as pd

    from encoders.query.cost import Norm
    from encoders.query.features import Feature

ALL, OPPOSITE = "all", "opposite"
MOST = 20  # counterfactuals per row, as in Explainer.diverse
CERTAIN = 0.75  # probability that DiCE requires if stopping_threshold is below one half
# Arguments of DiCE that steer its search. Here the search is exact, so they have no effect.
SEARCH = (
    "posthoc_sparsity_param", "posthoc_sparsity_algorithm", "verbose", "sample_size",
    "random_seed", "limit_steps_ls", "proximity_weight", "sparsity_weight", "diversity_weight",
    "categorical_penalty", "algorithm", "maxiterations", "thresh", "initialization",
    "yloss_type", "diversity_loss_type",
)  # fmt: skip


class Dice:
    """Counterfactuals with the calls and results of ``dice_ml.Dice``, computed by an Explainer.

    Parameters
    ----------
    explainer : Explainer
        Explainer of the model.
    outcome_name : str, default "outcome"
        Column in which frames of the result have the prediction.
    norm : number, str, callable or mapping, default 1
        Distance measure, as in :meth:`Explainer.explain`.
    scale : {"range", "std", "mad", "none"}, default "range"
        Unit of change, as in :meth:`Explainer.explain`; DiCE's distance has "mad".
    weights : mapping or sequence of float, optional
        Cost factor of each feature; 1 by default.
    constraints : sequence of constraint, default ()
        Constraints in addition to ``features_to_vary`` and ``permitted_range``.
    within : float, default 0.1
        Largest additional cost of several counterfactuals, as in :meth:`Explainer.diverse`.
    time_limit_s : float, default 60
        Limit in seconds for each row.
    threads : int, optional
        Number of solver threads; by default all cores that this process may use.

    Raises
    ------
    InputError
        If the explainer has several outputs, or a constraint is invalid.

    Examples
    --------
    >>> from counterfolio.compat.dice import Dice
    >>> dice = Dice(explainer, outcome_name="loan")
    >>> found = dice.generate_counterfactuals(X, total_CFs=1, desired_class="opposite")
    >>> found.cf_examples_list[0].final_cfs_df["loan"].tolist()
    ['granted']
    """

    def __init__(
        self,
        explainer: Explainer,
        outcome_name: str = "outcome",
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        within: float = 0.1,
        time_limit_s: float = 60.0,
        threads: int | None = None,
    ) -> None:
        if not isinstance(explainer, Explainer):
            raise InputError(
                f"Dice() needs an Explainer, got {type(explainer).__name__}. "
                "Write Dice(Explainer(model, X_train))."
            )
        if explainer.outputs:
            raise InputError(
                "Dice() supports models with one output. Use explainer.explain() with a target for "
                "each output."
            )
        self._explainer, self._outcome = explainer, outcome_name
        self._constraints, self._within = listed(constraints), within
        self._settings: dict[str, Any] = {"norm": norm, "scale": scale, "weights": weights}
        self._settings |= {"time_limit_s": time_limit_s, "threads": threads}

    def generate_counterfactuals(
        self,
        query_instances: Any,
        total_CFs: int,
        desired_class: Any = OPPOSITE,
        desired_range: Sequence[float] | None = None,
        permitted_range: Mapping[str, Sequence[Any]] | None = None,
        features_to_vary: Sequence[str] | str = "all",
        stopping_threshold: float = 0.5,
        **search: Any,
    ) -> CounterfactualExplanations:
        """Find the cheapest counterfactual of each row, or several that are far apart.

        Parameters
        ----------
        query_instances : DataFrame
            Rows to explain.
        total_CFs : int
            Number of counterfactuals per row, at most 20. Fewer are returned if no others cost at
            most ``1 + within`` times the cheapest, see :attr:`Diverse.complete`.
        desired_class : int, label or "opposite", default "opposite"
            Class to reach. A whole number is the position of the class, as in DiCE; "opposite" is
            the other one of two classes.
        desired_range : pair of float, optional
            Lower and upper limit of a regressor's prediction.
        permitted_range : mapping, optional
            Limits ``[lower, upper]`` of numbers and lists of categories by feature. Bounds of the
            explainer still apply.
        features_to_vary : sequence of str or "all", default "all"
            Features or columns that may change.
        stopping_threshold : float, default 0.5
            Least probability of class 1 of two; a larger one than 0.5 for class 0 means 0.75.
        **search : object
            Other arguments of DiCE that steer its search, such as ``random_seed``; they have no
            effect.

        Returns
        -------
        CounterfactualExplanations
            The counterfactuals of each row, with proofs.

        Raises
        ------
        InputError
            If an argument is invalid.

        Examples
        --------
        >>> from counterfolio.compat.dice import Dice
        >>> found = Dice(explainer).generate_counterfactuals(X, 1, features_to_vary=["income"])
        >>> found.cf_examples_list[0].answer.status
        'optimal'
        """
        _check_search(search)
        if not isinstance(total_CFs, Integral) or not 1 <= int(total_CFs) <= MOST:
            raise InputError(f"total_CFs must be a whole number from 1 to {MOST}, got {total_CFs}.")
        rows = self._rows(query_instances)
        limits = self._limits(permitted_range, features_to_vary)
        self._check_desired(desired_class, desired_range)
        answers = []
        count = int(total_CFs)
        for at in range(len(rows)):
            row = rows.iloc[[at]].reset_index(drop=True)
            label = OPPOSITE if desired_range is not None else self._label(desired_class, row)
            target = self._target(label, desired_range, stopping_threshold)
            answers.append(self._examples(row, count, label, desired_range, target, limits))
        return CounterfactualExplanations(answers)

    def _examples(
        self,
        row: pd.DataFrame,
        count: int,
        label: Any,
        limits: Sequence[float] | None,
        target: Any,
        constraints: Sequence[Constraint],
    ) -> CounterfactualExamples:
        """Return the counterfactuals of one row."""
        settings = self._settings | {"target": target, "constraints": constraints}
        answer: Any = None
        try:
            if count == 1:
                answer = self._explainer.explain(row, **settings)
            else:
                answer = self._explainer.diverse(row, k=count, within=self._within, **settings)
            message = str(answer)
        except NothingAdmissibleError as error:
            message = f"Infeasible: {error}"
        answers = [answer] if count == 1 and answer is not None else list(answer or ())
        frames = [each.counterfactual for each in answers if each.row is not None]
        return CounterfactualExamples(
            test_instance_df=self._with_outcome([row]),
            final_cfs_df=self._with_outcome(frames) if frames else None,
            answer=answer,
            message=message,
            outcome_name=self._outcome,
            model_type="classifier" if self._explainer.classes else "regressor",
            desired_class=label,
            desired_range=None if limits is None else list(limits),
        )

    def _rows(self, query_instances: Any) -> pd.DataFrame:
        """Return the rows as a pandas frame."""
        import pandas as pd

        from portfolio.model.frames import as_pandas

        rows = as_pandas(query_instances)[0]
        if not isinstance(rows, pd.DataFrame) or not len(rows):
            got = "no rows" if isinstance(rows, pd.DataFrame) else type(rows).__name__
            raise InputError(f"query_instances must be a frame with at least one row, got {got}.")
        if self._outcome in rows:
            raise InputError(
                f"the rows have a column {self._outcome!r}, the name of the outcome. Drop it, or "
                "pass another outcome_name to Dice()."
            )
        return rows

    def _with_outcome(self, rows: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Return rows in one frame with the model's own predictions."""
        import pandas as pd

        outcomes = [self._explainer.predict(row) for row in rows]
        return pd.concat(rows, ignore_index=True).assign(**{self._outcome: outcomes})

    def _limits(
        self,
        permitted_range: Mapping[str, Sequence[Any]] | None,
        features_to_vary: Sequence[str] | str,
    ) -> tuple[Constraint, ...]:
        """Return all constraints. Features that may not vary need no range."""
        features = self._explainer.features.features
        places = self._places()
        limits = {} if permitted_range is None else permitted_range
        if not isinstance(limits, Mapping):
            raise InputError(f"permitted_range must be a mapping by feature, got {limits!r}.")
        _check_names("permitted_range", limits, places)
        free = set(places.values())
        if not _is(features_to_vary, ALL):
            if not _listed(features_to_vary):
                raise InputError(
                    "features_to_vary must be 'all' or a list with at least one name, got "
                    f"{features_to_vary!r}."
                )
            _check_names("features_to_vary", features_to_vary, places)
            free = {places[name] for name in map(feature_name, features_to_vary)}
        fixed = [Fixed(each.name) for each in features if each.name not in free]
        ranges = [
            _permitted(feature, values)
            for name, values in limits.items()
            for feature in features
            if feature.name == places[feature_name(name)] and feature.name in free
        ]
        return (*self._constraints, *fixed, *ranges)

    def _places(self) -> dict[str, str]:
        """Return the name of the feature for each name of a feature or of a column."""
        space = self._explainer.features
        columns = {
            name: feature.name
            for feature in space.features
            for name in (space.columns[at] for at in feature.columns)
        }
        return columns | {feature.name: feature.name for feature in space.features}

    def _check_desired(self, desired_class: Any, desired_range: Sequence[float] | None) -> None:
        """Raise InputError unless the class or the range fits the model."""
        if self._explainer.classes:
            if desired_range is not None:
                raise InputError(
                    "desired_range is for regressors, and the model is a classifier. Set "
                    "desired_class."
                )
            return
        if desired_class is not None and not _is(desired_class, OPPOSITE):
            raise InputError(
                f"desired_class is for classifiers, and the model is a regressor, got "
                f"{desired_class!r}. Set desired_range."
            )
        if desired_range is None:
            raise InputError("a regressor needs desired_range. Set it, such as (2.5, 4).")
        _check_ascending("desired_range", desired_range)

    def _label(self, desired_class: Any, row: pd.DataFrame) -> Any:
        """Return the label that a row is to reach."""
        labels = self._explainer.classes
        if _is(desired_class, OPPOSITE) and OPPOSITE not in labels:
            if len(labels) != 2:
                raise InputError(
                    f"desired_class='opposite' needs a model of two classes, got {len(labels)}. "
                    "Name the class."
                )
            return labels[1 - labels.index(self._explainer.predict(row))]
        if isinstance(desired_class, Integral):
            if 0 <= int(desired_class) < len(labels):
                return labels[int(desired_class)]
        elif desired_class in labels:
            return desired_class
        raise InputError(
            f"desired_class must be a position from 0 to {len(labels) - 1} in the classes "
            f"{list(labels)}, or a label that is text, got {desired_class!r}."
        )

    def _target(self, label: Any, limits: Sequence[float] | None, threshold: float) -> Any:
        """Return the target of the query; a threshold is one of the probability of class 1."""
        if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
            raise InputError(f"stopping_threshold must be from 0 to 1, got {threshold!r}.")
        labels = self._explainer.classes
        if limits is not None:
            return (float(limits[0]), float(limits[1]))
        if threshold == 0.5 or len(labels) != 2:
            return label
        upwards = labels.index(label) == 1
        if (threshold > 0.5) != upwards:
            return Probability(label, at_least=CERTAIN)
        return Probability(label, at_least=threshold if upwards else 1 - threshold)


def _permitted(feature: Feature, values: Sequence[Any]) -> Constraint:
    """Return the constraint of a permitted range: limits of numbers, or a list of categories."""
    if feature.kind in ("binary", "categorical"):
        return Allowed(feature.name, values)
    _check_ascending(f"permitted_range of {feature.name!r}", values)
    low, high = values
    if high < feature.lower or low > feature.upper:
        raise InputError(
            f"permitted_range of {feature.name!r} is {low} to {high}, but the bounds of the "
            f"feature are {feature.lower:g} to {feature.upper:g}. Widen the bounds: "
            f"Explainer(..., features={{{feature.name!r}: {{'bounds': [{low}, {high}]}}}})."
        )
    return Range(feature.name, low, high)


def _check_names(argument: str, names: Any, features: Mapping[str, str]) -> None:
    """Raise InputError if a name is not one of a feature or of a column."""
    for name in map(feature_name, names):
        if name not in features:
            raise InputError(
                f"{argument} has the unknown feature {name!r}.{close_names(name, features)} "
                f"Use names of {', '.join(sorted(set(features.values())))}."
            )


def _check_ascending(argument: str, values: Sequence[Any]) -> None:
    numbers = _listed(values)
    valid = len(numbers) == 2 and all(isinstance(each, Real) for each in numbers)
    if not valid or not numbers[0] <= numbers[1]:
        raise InputError(f"{argument} must be two numbers in ascending order, got {values!r}.")


def _listed(values: Any) -> list[Any]:
    """Return the entries of a list or an array; no entries for text and anything else."""
    listed = isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    return list(values) if listed else []


def _is(value: Any, word: str) -> bool:
    """Return whether an argument is a word; arrays are compared with none."""
    return isinstance(value, str) and value == word


def _check_search(search: Mapping[str, Any]) -> None:
    for name in search:
        if name not in SEARCH:
            raise InputError(
                f"generate_counterfactuals() does not support {name!r}. Omit it; weights, norm and "
                "constraints are arguments of Dice()."
            )
