"""When a batch is worth a map of its model."""

from encoders.maps.region_map import Guess

# Measured on CP, BC and SE, forests and boosted models of 20 to 100 trees: a map saves 3 to 15 ms
# a row, of which a fifth of the least may go into making it; 1e8 leaves are looked at in 4 to 8 s.
LOOKS_A_ROW = 10_000
LEAST_ROWS = 2_000  # fewer are answered before the map's code is loaded
MOST_MB = 64.0  # every worker has a copy
# Ways down that the guess is made from: a number, so that a batch is answered alike each time.
WAYS = 300


def may_be_worth_a_map(rows: int) -> bool:
    """Whether a batch has rows enough to look at what a map would take."""
    return rows >= LEAST_ROWS


def most_looks(rows: int) -> float:
    """How many leaves may be looked at for a map that saves a batch more than it takes."""
    return float(LOOKS_A_ROW * rows)


def worth_a_map(rows: int, expected: Guess) -> bool:
    """Whether a map saves a batch more than it takes."""
    return expected.looks <= most_looks(rows) and expected.megabytes <= MOST_MB
