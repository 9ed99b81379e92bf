"""Intervals and tests of samples, from their definitions; nothing here asks scipy for them."""

import math
from itertools import combinations
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()
EXACT = 3000  # ways to deal rows to two groups that are tried one by one


def wilson(count, n, confidence):
    z = NORMAL.inv_cdf((1 + confidence) / 2)
    centre, half = count + z * z / 2, z * math.sqrt(count * (n - count) / n + z * z / 4)
    return (centre - half) / (n + z * z), (centre + half) / (n + z * z)


def newcombe(one, other, confidence):
    """Of the difference of two shares, each (count, n)."""
    (k, n), (j, m) = one, other
    (low, high), (below, above) = wilson(k, n, confidence), wilson(j, m, confidence)
    gap = k / n - j / m
    least = gap - math.hypot(k / n - low, above - j / m)
    return least, gap + math.hypot(high - k / n, j / m - below)


def fisher(one, other):
    """How likely tables with the same margins are that are no likelier than this one."""
    (k, n), (j, m) = one, other
    every = range(max(0, k + j - m), min(n, k + j) + 1)
    ways = {i: math.comb(n, i) * math.comb(m, k + j - i) for i in every}
    return sum(w for w in ways.values() if w <= ways[k]) / sum(ways.values())


def permuted(one, other, seed, turns):
    """How often groups of these sizes differ by as much, both ways: (p-value, tried one by one)."""
    pool, n = np.concatenate([one, other]), len(one)
    exact = math.comb(len(pool), n) <= EXACT
    rng = np.random.default_rng(seed)
    if exact:
        picks = np.array(list(combinations(range(len(pool)), n)))
    else:
        picks = np.argsort(rng.random((turns, len(pool))), axis=1)[:, :n]
    mine = pool[picks].sum(axis=1)
    gaps = mine / n - (pool.sum() - mine) / len(other)
    own = np.mean(one) - np.mean(other)
    room = 1e-12 * max(1.0, np.abs(pool).max())
    sides = np.mean(gaps <= own + room), np.mean(gaps >= own - room)
    return min(1.0, 2 * min(sides)), exact


class Bootstrap:
    """What a statistic of resampled groups comes to, and where its interval's ends lie in that."""

    def __init__(self, samples, statistic, seed, turns):
        rng = np.random.default_rng(seed)
        drawn = [s[rng.integers(len(s), size=(turns, len(s)))] for s in samples]
        self.found = np.sort(statistic(*drawn))
        own = float(statistic(*(s[None, :] for s in samples))[0])
        room = 1e-12 * max(1.0, abs(own))
        # Half of those that are equal count as below; rounding may count any of them.
        shares = (self.found < own - room).mean(), (self.found <= own + room).mean()
        ends = [NORMAL.inv_cdf(float(np.clip(p, 1e-12, 1 - 1e-12))) for p in shares]
        self.biases = ends if 0 < sum(shares) < 2 else [math.inf]
        apart = [(s - s.mean(), len(s)) for s in samples]
        signed = zip(apart, (1, -1), strict=False)
        third = sum(sign * (d**3).sum() / n**3 for (d, n), sign in signed)
        second = sum((d**2).sum() / n**2 for d, n in apart)
        self.skew = third / (6 * second**1.5) if second else math.nan

    def places(self, confidence, side, accelerated):
        """Normal quantiles between which an end lies; sides are -1 and 1."""
        z = side * NORMAL.inv_cdf((1 + confidence) / 2)
        if not accelerated or not math.isfinite(sum(self.biases) + self.skew):
            return z, z
        moved = [b + z for b in self.biases]
        found = [
            b + m / (1 - self.skew * m) if self.skew * m < 1 else math.copysign(9.0, m)
            for b, m in zip(self.biases, moved, strict=True)
        ]
        return min(found), max(found)

    def near(self, end, places):
        """Whether an end is where it has to be, give or take what resampling leaves open."""
        tiny = 1e-9 * max(1.0, abs(end))
        below = (self.found < end - tiny).mean()
        within = (self.found <= end + tiny).mean()
        low, high = places
        return below <= self._share(high, 1) and within >= self._share(low, -1)

    def _share(self, place, side):
        """Of what lies below a quantile, as far up or down as two such samples may differ."""
        share = NORMAL.cdf(place + 0.05 * side)
        return share + side * 4.5 * math.sqrt(2 * share * (1 - share) / len(self.found))
