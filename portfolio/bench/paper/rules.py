"""Rules that judge claims by a figure from runs and its confidence interval.

A verdict is "holds" if the whole interval is on the claim's side, and "falls" if it is on the other
side. Otherwise, and with fewer than six queries, it is "undecided". Two runs without proof do not
show which was sooner. A run that reached its limit before the other's proof does not either.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from portfolio.bench.anytime import errors
from portfolio.bench.paper.estimates import LEAST, Estimate, median, share
from portfolio.bench.paper.published import Claim
from portfolio.bench.paper.runs import ANY, OWN, side_by_side
from selector.logs.check import AGREEMENT

HOLDS, FALLS, UNDECIDED, NO_LOGS = "holds", "falls", "undecided", "no logs"
HALF = 0.5
# Columns in which the runs of a pair agree, except for those in their conditions.
PAIRED = ("dataset", "kind", "row", "norm", "plausible", "rounds", "depth")


@dataclass(frozen=True)
class Finding:
    """Verdict of logs on a claim."""

    estimate: Estimate  # figure and its interval
    verdict: str  # "holds", "falls", "undecided" or "no logs"
    unit: str  # "share" or "ratio"


def judge(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge a claim by the runs of one timing."""
    return RULES[claim.rule](claim, runs.query(claim.where), optima)


def _sooner(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge the share of conclusive queries on which the first proved before all others."""
    hits, count = _wins(claim, runs)
    return _above(share(hits, count), HALF)


def _seldom(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge whether the share of :func:`_sooner` is below the bar."""
    hits, count = _wins(claim, runs)
    return _below(share(hits, count), claim.bar)


def _wins(claim: Claim, runs: pd.DataFrame) -> tuple[int, int]:
    names = (claim.first, *claim.others)
    seconds = side_by_side(runs, names, "seconds").to_numpy()
    least = side_by_side(runs, names, "least_s").to_numpy()
    if not len(seconds):
        return 0, 0
    won = (seconds[:, :1] < least[:, 1:]).all(axis=1)
    lost = (seconds[:, 1:] < least[:, :1]).any(axis=1)
    return int(won.sum()), int((won | lost).sum())


def _proves(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge the share proved; never "falls", as our limits are shorter than the paper's."""
    proved = runs.loc[runs["backend"] == claim.first, "proved"]
    estimate = share(int(proved.sum()), len(proved))
    return _finding(estimate, "share", estimate.low > claim.bar, falls=False)


def _alike(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge whether the median ratio of seconds is between 1 / bar and bar."""
    ratio = median(np.asarray(_ratios(claim, runs), dtype=np.float64))
    within = ratio.low >= 1 / claim.bar and ratio.high <= claim.bar
    return _finding(ratio, "ratio", within, ratio.low > claim.bar or ratio.high < 1 / claim.bar)


def _ratios(claim: Claim, runs: pd.DataFrame) -> "pd.Series[float]":
    """Return by query the ratio of the other backend's seconds to the first's, if one proved.

    A run without proof counts with its seconds, so that its ratio is too close to 1.
    """
    names = (claim.first, claim.others[0])
    least = side_by_side(runs, names, "least_s")
    proved = side_by_side(runs, names, "proved").loc[least.index].astype(bool).any(axis=1)
    return least.loc[proved, names[1]] / least.loc[proved, names[0]]


def _earlier(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge the share of queries on which the first has the lower mean error over log time."""
    of = errors(runs, claim.first, claim.others[0], optima)
    means = np.array([pair.mean(axis=1) for pair in of.values()]).reshape(-1, 2)
    hits, losses = means[:, 0] < means[:, 1], means[:, 0] > means[:, 1]
    return _above(share(int(hits.sum()), int((hits | losses).sum())), HALF)


def _grows(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge the growth of the ratio of the other's seconds to the first's between two sizes.

    A run without proof counts with its seconds. Pairs without any proof have no ratio.
    """
    before, after = (_log_ratio(claim, runs.query(c)) for c in (claim.before, claim.after))
    both = before.to_frame("before").join(after.to_frame("after"), how="inner")
    growth = median(np.exp((both["after"] - both["before"]).to_numpy(dtype=np.float64)))
    return _finding(growth, "ratio", growth.low > 1, growth.high < 1)


def _log_ratio(claim: Claim, runs: pd.DataFrame) -> "pd.Series[float]":
    """Return the logarithms of the ratios, indexed by the columns in which pairs agree."""
    keys = _keys(claim)
    queries = runs.drop_duplicates("query").set_index("query")[keys]
    ratios = queries.join(_ratios(claim, runs).to_frame("ratio"), how="inner")
    return ratios.assign(ratio=np.log(ratios["ratio"])).set_index(keys)["ratio"]


def _keys(claim: Claim) -> list[str]:
    return [name for name in PAIRED if name not in claim.before]


def _longer(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge the share of rows on which the first took longer under the second condition."""
    pairs = _pairs(claim, runs[runs["backend"] == claim.first])
    longer = pairs["seconds"] < pairs["least_s_after"]
    shorter = pairs["seconds_after"] < pairs["least_s"]
    return _above(share(int(longer.sum()), int((longer | shorter).sum())), HALF)


def _costs(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge the share of rows whose least cost is higher under the second condition."""
    pairs = _pairs(claim, _answered(claim, runs[runs["status"] == "optimal"]))
    higher = pairs["upper_after"] > pairs["upper"] * (1 + AGREEMENT)
    return _above(share(int(higher.sum()), len(pairs)), claim.bar)


def _pairs(claim: Claim, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the same rows under both conditions, side by side."""
    keys = _keys(claim)
    runs = runs[runs["row"] != ""]
    before, after = (runs.query(c).drop_duplicates(keys) for c in (claim.before, claim.after))
    return before.merge(after, on=keys, suffixes=("", "_after"))


def _valid(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Judge whether the model and the isolation forest confirm all answers."""
    answered = _answered(claim, runs)
    answered = answered[answered["status"].isin(("optimal", "feasible"))]
    verified = share(int(answered["verified"].sum()), len(answered))
    return _finding(verified, "share", verified.value == 1, verified.value < 1)


def _answered(claim: Claim, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the claim's backend, or of any backend with ours first."""
    if claim.first != ANY:
        return runs[runs["backend"] == claim.first]
    return runs.assign(other=runs["backend"] != OWN).sort_values("other", kind="stable")


def _above(estimate: Estimate, bar: float) -> Finding:
    return _finding(estimate, "share", estimate.low > bar, estimate.high < bar)


def _below(estimate: Estimate, bar: float) -> Finding:
    return _finding(estimate, "share", estimate.high < bar, estimate.low > bar)


def _finding(estimate: Estimate, unit: str, holds: bool, falls: bool) -> Finding:
    """Return a finding, which is undecided with too few queries."""
    if estimate.count < LEAST:
        return Finding(estimate, UNDECIDED if estimate.count else NO_LOGS, unit)
    return Finding(estimate, HOLDS if holds else FALLS if falls else UNDECIDED, unit)


Rule = Callable[[Claim, pd.DataFrame, dict[str, float]], Finding]
RULES: dict[str, Rule] = {
    "sooner": _sooner,
    "seldom": _seldom,
    "proves": _proves,
    "alike": _alike,
    "earlier": _earlier,
    "grows": _grows,
    "longer": _longer,
    "costs": _costs,
    "valid": _valid,
}
