"""Cuts of columns whose inputs are constant between them, found by a search over all floats."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.trees.crossings import DENSE, MOST_EVENLY, NUMBERS_AT_ONCE, OutputsOf
from encoders.trees.floats import between, floats, ordered
from encoders.trees.pull_back import RawColumns, Source, Transform, inputs_by_column

MOST = 2048  # intervals of a column in which its inputs may step
SAMPLES = 2048  # numbers between training values of a column that are also evaluated, at least
NOT_BINS = (
    "the pipeline's output for {!r} is not constant between a few cuts, so it does not bin this "
    "column. Declare the step as 'monotone' or 'by value' in steps=."
)


def steps_of(
    numbers: Mapping[int, FloatArray], outputs_of: OutputsOf, refuse: Callable[[int], str | None]
) -> dict[int, tuple[FloatArray, FloatArray]]:
    """Return numbers of each column, and their inputs, on both sides of each step between them.

    Intervals whose ends have different inputs are divided down to neighbouring floats. ``refuse``
    returns the message for a column with too many steps, or None to leave the column out.
    """
    outputs = outputs_of(numbers)
    parts = {at: [(part, outputs[at])] for at, part in numbers.items()}
    open_at = {
        at: _Between(part[:-1], part[1:], outputs[at][:-1], outputs[at][1:])
        for at, part in numbers.items()
    }
    while open_at := {at: part for at, part in _unlike(open_at) if part.low.size}:
        for at in [at for at, part in open_at.items() if part.low.size > MOST]:
            if (message := refuse(at)) is not None:
                raise UnsupportedModelError(message)
            del parts[at], open_at[at]
        if not open_at:
            break
        count = max(part.low.size for part in open_at.values())
        places = {at: part.places(count) for at, part in open_at.items()}
        outputs = outputs_of({at: each.ravel() for at, each in places.items()})
        for at, part in open_at.items():
            parts[at].append((places[at].ravel(), outputs[at]))
            open_at[at] = part.divided(places[at], outputs[at])
    return {at: _sorted(pieces) for at, pieces in parts.items()}


def _sorted(parts: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    numbers = np.concatenate([each for each, _ in parts])
    order = np.argsort(numbers, kind="stable")
    return numbers[order], np.vstack([each for _, each in parts])[order]


@dataclass(frozen=True, eq=False)
class _Between:
    """Intervals of a column, with the inputs at their ends."""

    low: FloatArray
    high: FloatArray
    before: FloatArray
    after: FloatArray

    def places(self, n_intervals: int) -> FloatArray:
        """Return float64 numbers that divide each interval evenly, counted in floats."""
        ways = max(1, min(NUMBERS_AT_ONCE // n_intervals, MOST_EVENLY))
        return floats(between(ordered(self.low), ordered(self.high), ways))

    def divided(self, places: FloatArray, outputs: FloatArray) -> "_Between":
        """Return the parts of each interval."""
        shape = (*places.shape, outputs.shape[1])
        inner = outputs.reshape(shape)
        return _Between(
            np.vstack([self.low, places]).ravel(),
            np.vstack([places, self.high]).ravel(),
            np.concatenate([self.before[None], inner]).reshape(-1, shape[2]),
            np.concatenate([inner, self.after[None]]).reshape(-1, shape[2]),
        )


def _unlike(intervals: Mapping[int, _Between]) -> Iterator[tuple[int, _Between]]:
    """Yield the intervals that contain a float and whose ends have different inputs."""
    for at, part in intervals.items():
        wide = differ(part.before, part.after) & (np.nextafter(part.low, np.inf) < part.high)
        yield at, _Between(*(each[wide] for each in (part.low, part.high, part.before, part.after)))


def differ(some: FloatArray, others: FloatArray) -> BoolArray:
    """Return which rows of inputs differ, bool (n,); missing inputs are equal."""
    both = np.isnan(some) & np.isnan(others)
    unlike: BoolArray = ((some != others) & ~both).any(axis=1)
    return unlike


def with_cuts(raw: RawColumns, transform: Transform, rows: FloatArray) -> RawColumns:
    """Return the columns with the cuts of those that some steps bin."""
    binned = {
        at: [source for source in raw.sources if source.column == at]
        for at in sorted({source.column for source in raw.sources if source.kind == "steps"})
        if at not in raw.n_codes
    }
    if not binned:
        return raw
    inputs = {
        at: np.array([k for k, s in enumerate(raw.sources) if s.column == at and s.kind == "steps"])
        for at in binned
    }
    outputs_of = inputs_by_column(raw, transform, inputs)
    starts = {at: _starts(raw, at, rows[:, at], sources) for at, sources in binned.items()}

    def refuse(column: int) -> str:
        return NOT_BINS.format(raw.names[column])

    steps = steps_of(starts, outputs_of, refuse)
    last = {at: np.flatnonzero(differ(each[:-1], each[1:])) for at, (_, each) in steps.items()}
    cuts = {at: numbers[last[at]] for at, (numbers, _) in steps.items()}
    samples = {at: _samples(each[0], cuts[at], each[-1]) for at, (each, _) in steps.items()}
    for at, sampled in outputs_of(samples).items():
        expected = steps[at][1][np.append(last[at], -1)]
        if differ(sampled, expected[np.searchsorted(cuts[at], samples[at])]).any():
            raise UnsupportedModelError(refuse(at))
    return replace(raw, cuts=cuts)


def _starts(raw: RawColumns, at: int, values: FloatArray, sources: Sequence[Source]) -> FloatArray:
    """Return the numbers at which the search for cuts starts: one in each bin, ascending.

    Every value of the training rows is one, and so are numbers between them. Known bins are
    searched at their own limits and between these.
    """
    low, high = raw.low[at], raw.high[at]
    limits = np.unique(np.concatenate([source.cuts or () for source in sources]))
    seen = np.unique(values[~np.isnan(values)])
    share = np.linspace(0, 1, SAMPLES // max(seen.size, 1) + 3)[1:-1]
    parts = (
        np.array([low, high]),
        *(np.nextafter(limits, -np.inf), limits, np.nextafter(limits, np.inf)),
        (limits[:-1] + limits[1:]) / 2,
        seen,
        (seen[:-1, None] + np.diff(seen)[:, None] * share).ravel(),
    )
    numbers = np.concatenate(parts)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    starts: FloatArray = numbers[(numbers >= low) & (numbers <= high)]
    return starts


def _samples(low: float, cuts: FloatArray, high: float) -> FloatArray:
    """Return numbers to check: random ones between the cuts, and the closest ones to each."""
    rng = np.random.default_rng(0)
    edges = np.concatenate([[low], cuts, [high]])
    share = rng.random((8, edges.size - 1))
    inside = edges[:-1] + np.diff(edges) * share
    near = ordered(cuts)[:, None] + np.arange(-DENSE, DENSE + 1)
    numbers = np.concatenate([inside.ravel(), floats(near.ravel())])
    return np.unique(numbers[(numbers >= low) & (numbers <= high)])
