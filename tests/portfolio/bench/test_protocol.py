"""Protocols: what the paper ran, and what is refused."""

from dataclasses import replace

import pytest

from encoders.core.errors import InputError
from portfolio.bench.protocol import PAPER, QUICK, configurations, load_protocol, run_id, size


def test_the_paper_protocol():
    datasets = ["AD", "BC"]
    every = configurations(PAPER, datasets)
    assert every == configurations(PAPER, datasets) and len(set(every)) == len(every)
    first = [c for c in every if c.dataset == "AD" and c.seed == 0 and c.kind == "soft"]
    assert {c.depth for c in first if c.trees == 100} == {3, 4, 5, 6, 7, 8}
    assert {c.trees for c in first if c.depth == 5} == {10, 20, 50, 100, 200, 500}
    assert {c.norm for c in first} == {"0", "1", "2"} and any(c.plausible for c in first)
    assert size(PAPER, datasets) == (len(every), len(every) * 50 * len(PAPER.entries))
    ids = {run_id(QUICK, c, q, e) for c in every[:20] for q in range(3) for e in QUICK.entries}
    assert len(ids) == 20 * 3 * len(QUICK.entries)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tree = [1]", "unknown setting 'tree'. Did you mean \"trees\"\\?"),
        ("trees = 5", "must be a list"),
        ("kinds = ['xgboost']", "'xgboost'. Use one of soft, hard, extra, xgb"),
        ("trees = [", "is not valid TOML"),
    ],
)
def test_bad_protocols(tmp_path, text, message):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_protocol(str(path))
    with pytest.raises(InputError, match=r"'slow'\. Use one of paper, quick, or a \.toml file"):
        load_protocol("slow")


@pytest.mark.parametrize(
    "line",
    [
        'time_limit_s = "x"', "time_limit_s = -1", 'queries = "a"', "queries = 0", "threads = 0",
        "sample = -1", 'entries = ["nope"]', 'entries = ["second-auto"]',
        'entries = ["session-smt"]', 'questions = ["why"]', 'seeds = ["x"]',
        'plausible = ["yes"]', 'cross = "no"', "trees = 5", 'brief = ["nope"]',
    ],
)  # fmt: skip
def test_wrong_protocols_are_refused(tmp_path, line):
    path = tmp_path / "p.toml"
    path.write_text(line)
    with pytest.raises(InputError, match=line.split()[0]):
        load_protocol(str(path))


def test_brief_backends_have_a_limit_of_their_own():
    own = replace(QUICK, brief=("cp", "milp:ocean"), smt_limit_s=1.0)
    limits = {e: own.limit_s(e) for e in ("milp", "smt", "cp", "plain-cp:published", "milp:ocean")}
    assert limits == {
        "milp": 5.0, "smt": 5.0, "cp": 1.0, "plain-cp:published": 1.0, "milp:ocean": 1.0,
    }  # fmt: skip
    assert QUICK.limit_s("smt") == QUICK.limit_s("plain-smt") == QUICK.smt_limit_s
