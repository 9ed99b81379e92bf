"""How a claim is judged: a figure from runs, and the interval that decides.

A verdict is "holds" where the whole interval is on the claim's side, "falls" where it is wholly on
the other, and "undecided" otherwise, as also with fewer than six queries. Of two runs without proof
neither was sooner; a run that ended at a limit before the other's proof decides nothing either.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray
from portfolio.study.paper.anytime import errors
from portfolio.study.paper.estimates import LEAST, Estimate, median, share
from portfolio.study.paper.published import Claim
from portfolio.study.paper.runs import ANY, OWN, side_by_side
from selector.logs.check import AGREEMENT

HOLDS, FALLS, UNDECIDED, NO_LOGS = "holds", "falls", "undecided", "no logs"
HALF = 0.5
# What two runs of a pair have in common, but for what their conditions are about.
PAIRED = ("dataset", "kind", "row", "norm", "plausible", "rounds", "depth")


@dataclass(frozen=True)
class Finding:
    """What logs say of a claim.

    Attributes
    ----------
    estimate : the figure
    verdict : one of the four words above
    unit : "share" or "ratio"
    """

    estimate: Estimate
    verdict: str
    unit: str


def judge(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """What runs of one timing say of a claim."""
    return RULES[claim.rule](claim, runs.query(claim.where), optima)


def _sooner(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Share of the queries that tell on which the first proved before all others."""
    hits, count = _wins(claim, runs)
    return _above(share(hits, count), HALF)


def _seldom(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """That share is below the bar."""
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
    """Share proved within the limit. Ours are shorter than the paper's, so too few say nothing."""
    proved = runs.loc[runs["backend"] == claim.first, "proved"]
    found = _above(share(int(proved.sum()), len(proved)), claim.bar)
    return Finding(found.estimate, UNDECIDED, found.unit) if found.verdict == FALLS else found


def _alike(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Median of the others' seconds per second of the first, within the bar either way."""
    ratio = median(_ratios(claim, runs))
    if ratio.count < LEAST:
        return _undecided(ratio, "ratio")
    if ratio.low >= 1 / claim.bar and ratio.high <= claim.bar:
        return Finding(ratio, HOLDS, "ratio")
    apart = ratio.low > claim.bar or ratio.high < 1 / claim.bar
    return Finding(ratio, FALLS if apart else UNDECIDED, "ratio")


def _ratios(claim: Claim, runs: pd.DataFrame) -> FloatArray:
    """Second backend's seconds per second of the first, where one of them proved. A run without
    proof counts what it took, so that the ratio is nearer to 1 than it should be."""
    names = (claim.first, claim.others[0])
    least = side_by_side(runs, names, "least_s")
    proved = side_by_side(runs, names, "proved").loc[least.index].any(axis=1)
    first, second = least[proved.astype(bool)].to_numpy().T
    return np.asarray(second / first)


def _earlier(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Share of queries on which the first's mean error over the logarithm of time is lower."""
    of = errors(runs, claim.first, claim.others[0], optima)
    means = np.array([pair.mean(axis=1) for pair in of.values()]).reshape(-1, 2)
    hits, losses = means[:, 0] < means[:, 1], means[:, 0] > means[:, 1]
    return _above(share(int(hits.sum()), int((hits | losses).sum())), HALF)


def _grows(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """By how much the ratio of the other's seconds to the first's grows from one size to another.

    A run without proof counts what it took. Where neither proved there is no ratio.
    """
    before, after = (_log_ratio(claim, runs.query(c)) for c in (claim.before, claim.after))
    both = before.to_frame("before").join(after.to_frame("after"), how="inner")
    growth = median(np.exp((both["after"] - both["before"]).to_numpy(dtype=np.float64)))
    if growth.count < LEAST:
        return _undecided(growth, "ratio")
    verdict = HOLDS if growth.low > 1 else FALLS if growth.high < 1 else UNDECIDED
    return Finding(growth, verdict, "ratio")


def _log_ratio(claim: Claim, runs: pd.DataFrame) -> "pd.Series[float]":
    """By what two runs of a pair have in common."""
    names, keys = (claim.first, claim.others[0]), _keys(claim)
    least = side_by_side(runs, names, "least_s")
    least = least[side_by_side(runs, names, "proved").loc[least.index].astype(bool).any(axis=1)]
    ratio = pd.Series(np.log(least[names[1]] / least[names[0]]), index=least.index, name="ratio")
    asked = runs.drop_duplicates("query").set_index("query")[keys]
    return asked.join(ratio, how="inner").set_index(keys)["ratio"]


def _keys(claim: Claim) -> list[str]:
    return [name for name in PAIRED if name not in claim.before]


def _longer(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Share of rows on which the first took longer under the second condition."""
    pairs = _pairs(claim, runs[runs["backend"] == claim.first])
    longer = pairs["seconds"] < pairs["least_s_after"]
    shorter = pairs["seconds_after"] < pairs["least_s"]
    return _above(share(int(longer.sum()), int((longer | shorter).sum())), HALF)


def _costs(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Share of rows whose least cost is higher under the second condition: no cheapest answer meets
    it by itself."""
    pairs = _pairs(claim, _answered(claim, runs[runs["status"] == "optimal"]))
    higher = pairs["upper_after"] > pairs["upper"] * (1 + AGREEMENT)
    return _above(share(int(higher.sum()), len(pairs)), claim.bar)


def _pairs(claim: Claim, runs: pd.DataFrame) -> pd.DataFrame:
    """Runs under both conditions about the same row of a data set."""
    keys = _keys(claim)
    runs = runs[runs["row"] != ""]
    before, after = (runs.query(c).drop_duplicates(keys) for c in (claim.before, claim.after))
    return before.merge(after, on=keys, suffixes=("", "_after"))


def _valid(claim: Claim, runs: pd.DataFrame, optima: dict[str, float]) -> Finding:
    """Share of answers that the model and the isolation forest themselves confirm; all must be."""
    answered = _answered(claim, runs)
    answered = answered[answered["status"].isin(("optimal", "feasible"))]
    found = share(int(answered["verified"].sum()), len(answered))
    if found.count < LEAST:
        return _undecided(found, "share")
    return Finding(found, HOLDS if found.value == 1 else FALLS, "share")


def _answered(claim: Claim, runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of the claim's backend, or of any, our own before others."""
    if claim.first != ANY:
        return runs[runs["backend"] == claim.first]
    return runs.assign(other=runs["backend"] != OWN).sort_values("other", kind="stable")


def _above(found: Estimate, bar: float) -> Finding:
    if found.count < LEAST:
        return _undecided(found, "share")
    verdict = HOLDS if found.low > bar else FALLS if found.high < bar else UNDECIDED
    return Finding(found, verdict, "share")


def _below(found: Estimate, bar: float) -> Finding:
    if found.count < LEAST:
        return _undecided(found, "share")
    verdict = HOLDS if found.high < bar else FALLS if found.low > bar else UNDECIDED
    return Finding(found, verdict, "share")


def _undecided(found: Estimate, unit: str) -> Finding:
    return Finding(found, UNDECIDED if found.count else NO_LOGS, unit)


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
