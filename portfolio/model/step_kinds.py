"""Path to a step of a pipeline, and the table row of steps that are analysed alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from encoders.trees.pull_back import Source

Sources = tuple[Source, ...]
Said = Literal["monotone", "by value", "by bin"]


@dataclass(frozen=True)
class Way:
    """Path to a step of a pipeline.

    Attributes
    ----------
    name : name of the step after those of its parents, joined by "__"; "" for the whole pipeline.
    declarations : the user's declarations of steps, by such names.
    width : number of columns that the step gives, or None if it is unknown.
    columns : names of the user's columns.
    """

    name: str
    declarations: Mapping[str, Said]
    width: int | None
    columns: Sequence[Any] = ()

    def into(self, step: str, width: int | None) -> "Way":
        """Return the path to a child step."""
        name = f"{self.name}__{step}" if self.name else step
        return replace(self, name=name, width=width)

    @property
    def words(self) -> str:
        """The step in the words of an error."""
        return f"step {self.name!r} of the pipeline" if self.name else "the pipeline"


Follow = Callable[[Way, Any, Sources], Sources]


@dataclass(frozen=True)
class Steps:
    """Steps that are analysed alike; a row of the table in docs/reference/pipelines.md."""

    kinds: tuple[str, ...]  # names of the classes
    follow: Follow  # function that returns the sources of the outputs
    words: str  # text for the documentation
    library: str = "sklearn"  # package of the classes
