"""Parts of a goal: the remaining problem of a part, and how it is split."""

from dataclasses import dataclass, replace

from encoders.arrays import IntArray
from encoders.posing.pose import Posed
from encoders.posing.relaxation import Relaxation
from encoders.posing.requirements import Part
from encoders.reduce.usable import usable

MOST_CUTS = 3  # rows that cut off rejected choices of a part, before it is split
# Maximal rounds of narrowing, and the share of remaining leaves above which no round follows. Each
# round recomputes rows, which then takes longer than it saves.
NARROWINGS, AGAIN = 4, 0.8


@dataclass(frozen=True, eq=False)
class GoalPart:
    """Range of each lead, and the leaves that matter there.

    Attributes
    ----------
    posed : problem with those leaves; its rows are of the part, or of one that contains it.
    part : part of the goal.
    """

    posed: Posed
    part: Part

    @property
    def relaxation(self) -> Relaxation:
        """Relaxation that gives the part's rows."""
        assert self.posed.relaxation is not None
        return self.posed.relaxation

    def narrowed(self, cutoff: float) -> "GoalPart | None":
        """Return what costs less than a cutoff, with new rows; None if nothing does.

        The fewer leaves matter, the closer together leads are, and the closer rows are to the goal.
        The closer rows are, the fewer leaves matter.
        """
        posed, part = self.posed, self.part
        for _ in range(NARROWINGS):
            alive = usable(posed.problem, cutoff)
            if alive is None:
                return None
            few = alive.sum() <= AGAIN * alive.size
            posed = posed.only(alive)
            assert posed.relaxation is not None
            within = part.among(posed.relaxation.whole)
            if within is None:
                return None
            part = within
            posed = posed.within(part)
            if not few:
                break
        return GoalPart(posed, part)

    def anew(self) -> "GoalPart":
        """Return the part with new rows, and all of its leaves."""
        return replace(self, posed=self.posed.within(self.part))

    def without(self, refused: tuple[IntArray, ...]) -> "GoalPart":
        """Return the part after some choices have been cut off."""
        problem = self.posed.problem
        for levels in refused:
            choice = levels[: problem.n_axes]  # later axes belong to the part's own problem
            if problem.keeps_rows(choice):
                problem = problem.without(choice)
        return replace(self, posed=replace(self.posed, problem=problem))


@dataclass(eq=False)
class Guide:
    """Decision on a part after a choice in it has been rejected.

    Attributes
    ----------
    at : the part.
    most_ties : number of ties after which the part is left; ties hold but for rounding.
    cuts : number of choices that were cut off so far.
    ties : number of ties among them.
    halves : parts that it is split into, or None.
    """

    at: GoalPart
    most_ties: float
    cuts: int = 0
    ties: int = 0
    halves: tuple[Part, Part] | None = None

    def pause(self, choice: IntArray) -> bool:
        """Return whether to leave the part, because it is split or has too many ties."""
        problem, relaxation, part = self.at.posed.problem, self.at.relaxation, self.at.part
        self.cuts += 1
        cut = relaxation.cut(part, problem, choice) is not None
        if cut and self.cuts <= MOST_CUTS:
            return False
        self.halves = relaxation.split(part, problem, choice)
        if self.halves is not None:
            return True
        self.ties += not cut
        return self.ties > self.most_ties
