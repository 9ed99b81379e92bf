"""Online costs are shared, saved and read again, and refused where they do not fit."""

import json
import threading

import pytest

from encoders.core.errors import InputError
from selector.diagram import Diagram, Leaf, Split
from selector.online_costs import OnlineCosts
from selector.schedule import alone
from tests.support.own_sessions import DIAGRAM, LIMIT_S, OWN, law, play

WRONG = law(cp=5.0, milp=1.0, maxsat=8.0)
OTHER = Diagram((Split("norm", 0.0, 1, 2), Leaf(alone("milp")), Leaf(alone("cp"))))


@pytest.fixture
def taught():
    costs = OnlineCosts(DIAGRAM, 0.25)
    play(costs, WRONG, 150, 3)
    return costs


def test_what_is_saved_goes_on_as_if_nothing_had_been(taught, tmp_path):
    taught.save(tmp_path / "mine.json")
    read = OnlineCosts.load(tmp_path / "mine.json", DIAGRAM)
    assert read.leaves == taught.leaves and read.to_json() == taught.to_json()
    assert play(read, WRONG, 150, 4) == play(taught, WRONG, 150, 4)


def test_they_tell_what_they_know(taught):
    assert str(OnlineCosts(DIAGRAM)) == "No observations yet."
    assert "leaf 0 (CP): CP: " in str(taught) and "MILP" in str(taught)


def test_another_diagram_is_refused(taught):
    with pytest.raises(InputError, match=r"belongs to another diagram .* Start new online costs"):
        OnlineCosts.from_json(taught.to_json(), OTHER, "it")
    with pytest.raises(InputError, match=r"belong to another diagram .* Start new ones"):
        taught.check(OTHER)
    taught.check(DIAGRAM)


def test_a_leaf_is_found_by_what_it_says():
    assert [OnlineCosts(OTHER).place_of(OTHER.nodes[k]) for k in (1, 2)] == [1, 2]


@pytest.mark.parametrize("share", [-0.1, 1.1, True, "much", float("nan")])
def test_a_share_is_a_share(share):
    with pytest.raises(InputError, match="from 0 to 1"):
        OnlineCosts(DIAGRAM, share)


def one_leaf(place="0", **changed):
    """What a file says of its leaves."""
    return {"leaves": {place: {"allowance_s": 0.0, "reverted": 0, "newest": []} | changed}}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": 9}, "has format 9"),
        ({"share": 7}, "from 0 to 1"),
        ({"leaves": 3}, "does not hold online costs"),
        ({"leaves": {"0": {"reverted": 0, "newest": []}}}, "lacks 'allowance_s'"),
        (one_leaf("3"), "does not hold online costs"),
        (one_leaf("-1"), "is not a leaf"),
        (one_leaf(reverted=-1), "invalid allowance, count"),
        (one_leaf(allowance_s=float("nan")), "invalid allowance, count"),
        (one_leaf(newest=[["cp", 0, True]]), "above 0"),
        (one_leaf(newest=[["cp", "1", True]]), "must be a number"),
        (one_leaf(newest=[["cp", 1, 1]]), "true or false"),
        (one_leaf(newest=[[1, 1, True]]), "must be a backend name"),
    ],
)
def test_what_can_not_be_read_is_told(taught, changed, words):
    text = json.dumps(json.loads(taught.to_json()) | changed)
    with pytest.raises(InputError, match=words):
        OnlineCosts.from_json(text, DIAGRAM, "it")


def test_a_split_is_no_leaf():
    text = json.dumps(json.loads(OnlineCosts(OTHER).to_json()) | one_leaf())
    with pytest.raises(InputError, match="node 0 of the diagram is not a leaf"):
        OnlineCosts.from_json(text, OTHER, "it")


def test_a_file_that_is_not_there_is_told(taught, tmp_path):
    with pytest.raises(InputError, match="cannot read the online costs"):
        OnlineCosts.load(tmp_path / "none.json", DIAGRAM)
    with pytest.raises(InputError, match="cannot write"):
        taught.save(tmp_path / "nowhere" / "mine.json")


def test_several_sessions_spend_an_allowance_once(taught):
    before = taught.leaves[0].allowance_s
    asked = []

    def ask():
        asked.extend(taught.next_backend(0, OWN, ["milp"], LIMIT_S, ()) for _ in range(40))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = sum(one.seconds for one in asked if one.backend != OWN)
    assert len(asked) == 160 and 0 < spent <= before
    assert taught.leaves[0].allowance_s == pytest.approx(before - spent)
