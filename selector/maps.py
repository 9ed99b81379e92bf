"""Rules for when computing a region map of a model pays off for a batch."""

from encoders.maps.region_map import Guess

# Measured on CP, BC and SE with forests and boosted models of 20 to 100 trees: a map saves 3 to
# 15 ms a row. At most a fifth of the 3 ms may be spent on making it. Scanning 1e8 leaves takes 4 to
# 8 s.
LOOKS_A_ROW = 10_000
LEAST_ROWS = 2_000  # fewer rows are solved before the map's code is loaded
MOST_MB = 64.0  # each worker process holds a copy
# Number of sampled paths for the estimate; a count, not a time limit, so that it is reproducible.
WAYS = 300


def may_be_worth_a_map(rows: int) -> bool:
    """Return whether a batch has enough rows to estimate the cost of a map."""
    return rows >= LEAST_ROWS


def most_looks(rows: int) -> float:
    """Return how many leaves a map may scan so that it saves a batch more than it costs."""
    return float(LOOKS_A_ROW * rows)


def worth_a_map(rows: int, expected: Guess) -> bool:
    """Return whether a map is expected to save a batch more than it costs."""
    return expected.looks <= most_looks(rows) and expected.megabytes <= MOST_MB
