"""Portfolios: subsets of the configured backends, among which "auto" chooses and which race."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from encoders.backends.registry import all_backends
from encoders.core.close_names import close_names
from encoders.core.errors import InputError, UnavailableBackendError
from encoders.problem.problem import Problem
from selector.candidates import (
    BackendTurn,
    all_able,
    backend_of,
    check_name,
    known_backend,
    named,
    race_rank,
)
from selector.diagram import Diagram, load_diagram
from selector.diagram_places import FOLDER
from selector.schedule import Leaf, Turn

MAP = "map"  # candidate of batches and of explainers with maps; not a backend
SHIPPED_PORTFOLIOS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "paper": ("cp", "maxsat", "milp"),
        "no-licence": ("search", "cp", "maxsat", "milp/highs", MAP),
    }
)


@dataclass(frozen=True)
class Portfolio:
    """A subset of the configured backends.

    Attributes
    ----------
    candidates : tuple of str
        Names of backends, with an engine and a formulation if these are not the defaults, such as
        "milp/highs:ocean"; "map" for maps.
    name : str
        Name of a shipped portfolio, "" for a list of candidates.

    Examples
    --------
    >>> from selector.portfolios import Portfolio
    >>> print(Portfolio(("cp", "milp/highs")))
    cp,milp/highs
    """

    candidates: tuple[str, ...]
    name: str = ""

    def __str__(self) -> str:
        return self.name or ",".join(self.candidates)

    @property
    def backends(self) -> tuple[str, ...]:
        """Candidates without "map", in the order of the list."""
        return tuple(name for name in self.candidates if name != MAP)

    def candidate_for(self, name: str) -> str | None:
        """Return the candidate that a name in a diagram stands for, None if there is none.

        A diagram may name a backend that the portfolio contains with an engine or a formulation.

        Parameters
        ----------
        name : str
            Name of a backend in a diagram.

        Returns
        -------
        str or None
            The candidate.

        Examples
        --------
        >>> from selector.portfolios import Portfolio
        >>> Portfolio(("cp", "milp:ocean")).candidate_for("milp")
        'milp:ocean'
        """
        if name in self.candidates:
            return name
        return next((each for each in self.backends if backend_of(each) == name), None)

    def usable(self, problem: Problem) -> dict[str, BackendTurn]:
        """Return the candidates that can solve a problem, the most promising in a race first.

        Parameters
        ----------
        problem : Problem
            Problem to solve.

        Returns
        -------
        dict
            Configured backends by the name of the candidate. Those that stop at a gap come last.

        Raises
        ------
        UnavailableBackendError
            If there is none.

        Examples
        --------
        >>> from encoders.testing.random_problems import random_problem
        >>> from selector.portfolios import portfolio_of
        >>> list(portfolio_of("cp,milp").usable(random_problem(0)))
        ['milp', 'cp']
        """
        installed = all_able(problem)
        present = [name for name in self.backends if backend_of(name) in installed]
        turns = {name: named(problem, name) for name in present}
        if not turns:
            raise UnavailableBackendError(
                f"No backend of the portfolio {self} can solve this query. Add one of "
                f"{', '.join(installed)}."
            )
        rank = race_rank(problem)
        return dict(sorted(turns.items(), key=lambda item: rank(item[1])))

    def restricted(self, leaf: Leaf, usable: Sequence[str]) -> Leaf:
        """Return a leaf whose schedule names candidates only.

        Others take the place of backends of the last turn that the portfolio does not contain.

        Parameters
        ----------
        leaf : Leaf
            Leaf of a diagram.
        usable : sequence of str
            Candidates that can be used, the most promising first.

        Returns
        -------
        Leaf
            The leaf with at least one candidate in its last turn.

        Examples
        --------
        >>> import math
        >>> from selector.diagram import Leaf
        >>> from selector.portfolios import Portfolio
        >>> leaf = Leaf(((("search",), 2.0), (("search", "milp"), math.inf)))
        >>> Portfolio(("cp", "milp")).restricted(leaf, ["milp", "cp"]).schedule
        ((('milp', 'cp'), inf),)
        """
        turns: list[Turn] = []
        for names, seconds in leaf.schedule:
            present = [each for each in map(self.candidate_for, names) if each in usable]
            turns += [(tuple(filter(None, present)), seconds)] if present else []
        racing = len(leaf.schedule[-1][0])
        last = turns.pop()[0] if turns and math.isinf(turns[-1][1]) else ()
        others = [name for name in usable if name not in last]
        return replace(leaf, schedule=(*turns, ((*last, *others)[:racing], math.inf)))

    def diagram(self) -> Diagram | None:
        """Return the diagram that was learned for a shipped portfolio, None for a list.

        Returns
        -------
        Diagram or None
            The shipped diagram.

        Examples
        --------
        >>> from selector.portfolios import portfolio_of
        >>> portfolio_of("paper").diagram().manifest["backends"]
        ['cp', 'maxsat', 'milp']
        >>> portfolio_of(["cp", "milp"]).diagram() is None
        True
        """
        return load_diagram(FOLDER / f"portfolio-{self.name}.json") if self.name else None


def portfolio_of(value: str | Sequence[str] | Portfolio | None) -> Portfolio | None:
    """Return the portfolio of a name, or of a list of candidates.

    Parameters
    ----------
    value : str, sequence of str, Portfolio or None
        Name of a shipped portfolio, or candidates as a list or separated by commas.

    Returns
    -------
    Portfolio or None
        The portfolio; None for None, which stands for all backends.

    Raises
    ------
    InputError
        If a name is unknown or occurs twice, or the list has no backend.

    Examples
    --------
    >>> from selector.portfolios import portfolio_of
    >>> portfolio_of("paper").candidates
    ('cp', 'maxsat', 'milp')
    >>> portfolio_of("search,milp:ocean") == portfolio_of(["search", "milp:ocean"])
    True
    """
    if value is None or isinstance(value, Portfolio):
        return value
    if isinstance(value, str):
        if value in SHIPPED_PORTFOLIOS:
            return Portfolio(SHIPPED_PORTFOLIOS[value], value)
        names = [name.strip() for name in value.split(",")]
        if len(names) == 1 and value != MAP and known_backend(backend_of(value)) is None:
            raise InputError(
                f"Unknown portfolio {value!r}.{close_names(value, SHIPPED_PORTFOLIOS)} Use one of "
                f"{', '.join(SHIPPED_PORTFOLIOS)}, or backends such as 'cp,milp'."
            )
        return _listed(names)
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        raise InputError(
            f"portfolio must be a name such as 'paper', or a list of backends, got {value!r}."
        )
    return _listed(value)


def _listed(names: Sequence[str]) -> Portfolio:
    """Return the portfolio of a list of candidates."""
    backends = [backend.name for backend in all_backends()]
    for name in names:
        if isinstance(name, str) and backend_of(name) not in (*backends, MAP):
            raise InputError(
                f"unknown backend {name!r} in a portfolio.{close_names(name, backends)} Use one of "
                f"{', '.join(backends)}."
            )
        if name != MAP:
            check_name(name)
    portfolio = Portfolio(tuple(names))
    if not portfolio.backends:
        raise InputError("portfolio must contain at least one backend, such as 'search' or 'cp'.")
    if len(set(names)) < len(names):
        raise InputError(f"portfolio must name each candidate once, got {portfolio}.")
    return portfolio
