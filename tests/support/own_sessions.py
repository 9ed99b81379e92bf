"""Sessions that are made up: backends take what a law of chance says."""

import math
import random
from dataclasses import dataclass, field

from selector.diagram import Diagram, Leaf
from selector.online import Took
from selector.schedule import alone

OWN, LIMIT_S, BUILD_S = "cp", 60.0, 1.0
DIAGRAM = Diagram((Leaf(alone(OWN)),))


def law(**medians):
    """Seconds of each backend, given a source of chance: half to twice its median, mostly."""
    return lambda rng: {
        name: median * math.exp(rng.gauss(0, 0.5)) for name, median in medians.items()
    }


@dataclass
class Played:
    """What became of some queries.

    Attributes
    ----------
    spent_s : seconds in all
    usual_s : what the diagram's own would have taken for the same queries
    counted_s : what it did take, or its mean where nobody knew
    asked : whom the queries were given to first
    """

    spent_s: float = 0.0
    usual_s: float = 0.0
    counted_s: float = 0.0
    asked: list[str] = field(default_factory=list)


def play(costs, drawn, queries, seed, ready=None):
    """Ask queries one after another, as a session does; failed tries are told with their time.

    Parameters
    ----------
    costs : learns from them
    drawn : a law
    queries : how many
    seed : of chance
    ready : who has a model by now
    """
    rng, ready, played = random.Random(seed), set() if ready is None else ready, Played()
    for _ in range(queries):
        seconds = drawn(rng)
        others = [name for name in seconds if name != OWN]
        asked = costs.next_backend(0, OWN, others, LIMIT_S, ready)
        own_s = min(seconds[OWN], LIMIT_S)
        played.asked.append(asked.backend)
        played.usual_s += own_s
        if asked.backend == OWN:
            played.spent_s += own_s
            played.counted_s += own_s
            costs.record_default(0, Took(OWN, own_s, own_s < LIMIT_S))
            continue
        first_s = 0.0 if asked.backend in ready else BUILD_S
        needs = seconds[asked.backend]
        if first_s + needs <= asked.seconds:
            ready.add(asked.backend)
            played.spent_s += first_s + needs
            played.counted_s += asked.usual_s
            took = Took(asked.backend, needs, True)
            costs.record_alternative(0, asked, OWN, took, first_s + needs, math.nan)
        else:
            played.spent_s += asked.seconds + own_s
            played.counted_s += own_s
            took = Took(asked.backend, asked.seconds, False)
            costs.record_alternative(0, asked, OWN, took, asked.seconds, own_s)
    return played
