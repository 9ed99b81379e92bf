"""Constraints on several features together, as users write them."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from encoders.errors import InputError
from encoders.query.conditions import Condition
from encoders.query.names import feature_name


@dataclass(frozen=True)
class Implies:
    """Where the first holds, the second does, too.

    Attributes
    ----------
    if_ : a condition
    then : a condition
    """

    if_: Condition
    then: Condition


@dataclass(frozen=True)
class Together:
    """Either all of these features change, or none.

    Parameters
    ----------
    *features : names, at least two
    """

    features: tuple[str, ...]

    def __init__(self, *features: str) -> None:
        object.__setattr__(self, "features", tuple(map(feature_name, features)))


@dataclass(frozen=True)
class Forbidden:
    """These conditions do not all hold at once.

    Parameters
    ----------
    *conditions : at least one
    """

    conditions: tuple[Condition, ...]

    def __init__(self, *conditions: Condition) -> None:
        object.__setattr__(self, "conditions", conditions)


@dataclass(frozen=True)
class AllowedPairs:
    """Two features have one of these pairs of values, as where one follows from the other.

    Parameters
    ----------
    first, second : names of features
    pairs : of values or labels; a mapping from values of the first to the only one of the second
    """

    first: str
    second: str
    pairs: tuple[tuple[object, object], ...]

    def __init__(
        self, first: str, second: str, pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]]
    ) -> None:
        given = pairs.items() if isinstance(pairs, Mapping) else pairs
        object.__setattr__(self, "first", feature_name(first))
        object.__setattr__(self, "second", feature_name(second))
        object.__setattr__(self, "pairs", _pairs(given, f"AllowedPairs({first!r}, {second!r})"))


@dataclass(frozen=True)
class Precedence:
    """Categories in the order in which one may follow another: there is no way back.

    Categories that are not listed are not concerned.

    Parameters
    ----------
    feature : its name
    order : labels, the first first
    """

    feature: str
    order: tuple[object, ...]

    def __init__(self, feature: str, order: Iterable[object]) -> None:
        if isinstance(order, str) or not isinstance(order, Iterable):
            raise InputError(f"Precedence({feature!r}, ...) takes a list of labels, got {order!r}.")
        object.__setattr__(self, "feature", feature_name(feature))
        object.__setattr__(self, "order", tuple(order))


@dataclass(frozen=True)
class Linear:
    """A weighted sum of features is at most, at least, or just a number.

    Numbers are taken for the decimals that they are written as: 0.1 is one tenth. A missing value
    fulfils it.

    Parameters
    ----------
    terms : factor of each feature (numeric, ordinal, binary), by name
    sign : "<=", ">=" or "=="
    bound : what the sum is compared with
    """

    terms: tuple[tuple[str, float], ...]
    sign: Literal["<=", ">=", "=="]
    bound: float

    def __init__(self, terms: Mapping[str, float], sign: str, bound: float) -> None:
        if not isinstance(terms, Mapping):
            raise InputError(f"Linear takes a mapping from features to factors, got {terms!r}.")
        named = tuple((feature_name(name), factor) for name, factor in terms.items())
        object.__setattr__(self, "terms", named)
        object.__setattr__(self, "sign", sign)
        object.__setattr__(self, "bound", bound)


@dataclass(frozen=True)
class JointCost:
    """What a pair of values costs on top of the costs of both changes.

    Parameters
    ----------
    first, second : names of features
    costs : (value of the first, value of the second) -> cost, at least 0; other pairs cost nothing
        on top, nor does the query's own
    """

    first: str
    second: str
    costs: tuple[tuple[tuple[object, object], float], ...]

    def __init__(self, first: str, second: str, costs: Mapping[tuple[Any, Any], float]) -> None:
        if not isinstance(costs, Mapping):
            raise InputError(f"JointCost takes a mapping from pairs to costs, got {costs!r}.")
        where = f"JointCost({first!r}, {second!r})"
        pairs = zip(_pairs(costs, where), costs.values(), strict=True)
        object.__setattr__(self, "first", feature_name(first))
        object.__setattr__(self, "second", feature_name(second))
        object.__setattr__(self, "costs", tuple(pairs))


Relation = Implies | Together | Forbidden | AllowedPairs | Linear | JointCost


def _pairs(given: object, where: str) -> tuple[tuple[object, object], ...]:
    wrong = InputError(f"{where} takes pairs of values such as [('north', 'A'), ('south', 'B')].")
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong
    found = []
    for pair in given:
        if isinstance(pair, str) or not isinstance(pair, tuple | list) or len(pair) != 2:
            raise wrong
        if not all(isinstance(value, Hashable) for value in pair):
            raise wrong
        found.append((pair[0], pair[1]))
    if not found:
        raise wrong
    return tuple(found)
