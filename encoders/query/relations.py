"""Constraints that relate several features."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from encoders.core.errors import InputError
from encoders.query.conditions import Condition
from encoders.query.names import feature_name


@dataclass(frozen=True)
class Implies:
    """Constraint that one condition implies another.

    Attributes
    ----------
    if_ : Condition
        The premise: Changes, Stays, Rises, Falls, Within or Becomes.
    then : Condition
        The consequence, which must hold wherever the premise holds.

    Examples
    --------
    >>> rule = Implies(Changes("job"), Rises("age", by=1))
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    if_: Condition
    then: Condition


@dataclass(frozen=True)
class Together:
    """Constraint that either all of some features change, or none.

    Parameters
    ----------
    *features : str
        Names of the features, at least two.

    Examples
    --------
    >>> rule = Together("income", "job")
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    features: tuple[str, ...]

    def __init__(self, *features: str) -> None:
        object.__setattr__(self, "features", tuple(map(feature_name, features)))


@dataclass(frozen=True)
class Forbidden:
    """Constraint that some conditions do not all hold at once.

    Parameters
    ----------
    *conditions : Condition
        Conditions, at least one: Changes, Stays, Rises, Falls, Within or Becomes.

    Examples
    --------
    >>> rule = Forbidden(Falls("rooms"), Falls("income"))
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    conditions: tuple[Condition, ...]

    def __init__(self, *conditions: Condition) -> None:
        object.__setattr__(self, "conditions", conditions)


@dataclass(frozen=True)
class AllowedPairs:
    """Constraint that two features have one of the listed pairs of values.

    Parameters
    ----------
    first, second : str
        Names of the two features.
    pairs : iterable of tuple, or mapping
        Allowed pairs of numbers or labels. A mapping gives each value of the first feature the
        only value of the second.

    Raises
    ------
    InputError
        If ``pairs`` does not consist of pairs of values.

    Examples
    --------
    >>> rule = AllowedPairs("sex", "job", [(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    first: str
    second: str
    pairs: tuple[tuple[object, object], ...]

    def __init__(
        self, first: str, second: str, pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]]
    ) -> None:
        items = pairs.items() if isinstance(pairs, Mapping) else pairs
        if feature_name(first) == feature_name(second):
            raise InputError(
                f"AllowedPairs needs two different features, got {first!r} twice. Use Allowed "
                "for the values of one feature."
            )
        object.__setattr__(self, "first", feature_name(first))
        object.__setattr__(self, "second", feature_name(second))
        object.__setattr__(self, "pairs", _pairs(items, f"AllowedPairs({first!r}, {second!r})"))


@dataclass(frozen=True)
class Precedence:
    """Constraint that a category is not replaced by an earlier one of an ordered list.

    The constraint does not apply to categories that are not listed.

    Parameters
    ----------
    feature : str
        Name of the categorical feature.
    order : iterable of labels
        Labels of categories, the earliest first.

    Raises
    ------
    InputError
        If ``order`` is not a list.

    Examples
    --------
    >>> rule = Precedence("housing", ["free", "rent", "own"])
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    feature: str
    order: tuple[object, ...]

    def __init__(self, feature: str, order: Iterable[object]) -> None:
        if isinstance(order, str) or not isinstance(order, Iterable):
            raise InputError(
                f"Precedence({feature!r}, ...) needs a list of labels, got {order!r}. "
                f"Write Precedence({feature!r}, ['low', 'middle', 'high'])."
            )
        object.__setattr__(self, "feature", feature_name(feature))
        object.__setattr__(self, "order", tuple(order))
        if not self.order:
            raise InputError(
                f"Precedence({feature!r}, []) lists no categories. "
                "List at least two, the earliest first."
            )


@dataclass(frozen=True)
class Linear:
    """Constraint that a weighted sum of features is at most, at least or equal to a number.

    Numbers are read as the decimals that they are printed as: 0.1 is exactly one tenth. A row in
    which one of the features is missing fulfils the constraint.

    Parameters
    ----------
    terms : mapping of str to float
        Factor of each feature (numeric, ordinal or binary), by name.
    sign : {"<=", ">=", "=="}
        Comparison of the sum with ``bound``.
    bound : float
        Right-hand side of the comparison.

    Raises
    ------
    InputError
        If ``terms`` is not a mapping.

    Examples
    --------
    >>> rule = Linear({"rooms": 10, "income": -1}, "<=", 100)
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    terms: tuple[tuple[str, float], ...]
    sign: Literal["<=", ">=", "=="]
    bound: float

    def __init__(self, terms: Mapping[str, float], sign: str, bound: float) -> None:
        if not isinstance(terms, Mapping):
            raise InputError(
                f"Linear needs a mapping of features to factors, got {terms!r}. "
                "Write, for example, Linear({'rooms': 10, 'income': -1}, '<=', 100)."
            )
        named = tuple((feature_name(name), factor) for name, factor in terms.items())
        object.__setattr__(self, "terms", named)
        object.__setattr__(self, "sign", sign)
        object.__setattr__(self, "bound", bound)


@dataclass(frozen=True)
class JointCost:
    """Additional cost of pairs of values, on top of the costs of both changes.

    Parameters
    ----------
    first, second : str
        Names of the two features.
    costs : mapping of tuple to float
        Additional cost, at least 0, of each pair (value of ``first``, value of ``second``). Other
        pairs and the query's own pair have no additional cost.

    Raises
    ------
    InputError
        If ``costs`` is not a mapping from pairs of values.

    Examples
    --------
    >>> rule = JointCost("sex", "job", {(0, 1): 0.5, (1, 1): 0.5})
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    first: str
    second: str
    costs: tuple[tuple[tuple[object, object], float], ...]

    def __init__(self, first: str, second: str, costs: Mapping[tuple[Any, Any], float]) -> None:
        if not isinstance(costs, Mapping):
            raise InputError(
                f"JointCost needs a mapping of pairs to costs, got {costs!r}. "
                f"Write, for example, JointCost({first!r}, {second!r}, {{(0, 1): 0.5}})."
            )
        where = f"JointCost({first!r}, {second!r})"
        pairs = zip(_pairs(costs, where), costs.values(), strict=True)
        object.__setattr__(self, "first", feature_name(first))
        object.__setattr__(self, "second", feature_name(second))
        object.__setattr__(self, "costs", tuple(pairs))


Relation = Implies | Together | Forbidden | AllowedPairs | Linear | JointCost
# Relations and Precedence, in the order in which messages list them.
RowConstraint = Implies | Together | Forbidden | AllowedPairs | Precedence | Linear | JointCost


def _pairs(values: object, where: str) -> tuple[tuple[object, object], ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise _not_pairs(values, where)
    pairs = []
    for pair in values:
        if isinstance(pair, str) or not isinstance(pair, tuple | list) or len(pair) != 2:
            raise _not_pairs(pair, where)
        if not all(isinstance(value, Hashable) for value in pair):
            raise _not_pairs(pair, where)
        pairs.append((pair[0], pair[1]))
    if not pairs:
        raise _not_pairs([], where)
    return tuple(pairs)


def _not_pairs(value: object, where: str) -> InputError:
    return InputError(
        f"{where} needs pairs of values, got {value!r}. "
        "Write pairs such as [('north', 'A'), ('south', 'B')]."
    )
