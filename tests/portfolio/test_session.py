"""Sessions: one model for many rows, and honest times."""

import json
import os
import signal
from dataclasses import replace

import pytest

from encoders.core.errors import InputError
from portfolio import Increase
from portfolio.engine import online
from portfolio.engine.strategies import in_session
from selector import logs
from selector.diagram import Diagram, Leaf
from selector.learning.examples import examples
from selector.logs.check import check
from selector.online import FEWEST
from selector.online_costs import OnlineCosts
from selector.schedule import alone
from tests.support.processes import children

pytestmark = pytest.mark.usefixtures("forked_children")

NAMES = ["cp", "cp:plain", "milp", "milp/highs:ocean", "maxsat", "maxsat:linear"]


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [3, pytest.param(6, marks=pytest.mark.large)])
@pytest.mark.parametrize("name", NAMES)
def test_a_session_answers_like_explain(explainer, credit, name, n_rows):
    _, frame = credit
    rows = [row for _, row in frame.iterrows() if explainer.predict(row) == "refused"][:n_rows]
    with explainer.session("granted", strategy=name) as session:
        for row in rows:
            expected = explainer.explain(row, target="granted")
            result = session.explain(row)
            assert (result.status, result.verified) == ("optimal", True)
            assert result.distance == pytest.approx(expected.distance, rel=1e-6)
            assert result.backend == name.partition(":")[0].partition("/")[0]
            assert result.timings.build > 0 and result.timings.reduce == 0


@pytest.mark.slow
def test_constraints_may_depend_on_the_row(explainer, credit):
    _, frame = credit
    rows = [row for _, row in frame.iterrows() if explainer.predict(row) == "refused"][:6]
    only_older = [Increase("age")]
    with explainer.session("granted", strategy="cp", constraints=only_older) as session:
        for row in rows:
            expected = explainer.explain(row, target="granted", constraints=only_older)
            result = session.explain(row)
            assert result.status == expected.status
            assert result.distance == pytest.approx(expected.distance)


def test_without_a_target_every_class_has_its_own_model(explainer, credit):
    _, frame = credit
    with explainer.session(strategy="maxsat") as session:
        for _, row in frame.head(6).iterrows():
            expected = explainer.explain(row)
            assert session.explain(row).distance == pytest.approx(expected.distance)


@pytest.mark.slow
def test_who_needs_no_model_reduces_and_tells_it_as_solving(explainer, some_refused):
    with explainer.session("granted", strategy="search") as session:
        for row in some_refused:
            result = session.explain(row)
            assert (result.status, result.verified, result.backend) == ("optimal", True, "search")
            assert result.distance == explainer.explain(row, "granted").distance
            assert result.timings.build == result.timings.reduce == 0 < result.timings.solve


def test_backends_without_models_to_keep_are_refused(explainer):
    with pytest.raises(
        InputError, match=r"backend smt does not support sessions\. Use search, .*cp"
    ):
        explainer.session("granted", strategy="smt")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "maybe"}, "maybe"),
        ({"norm": "z"}, "unknown norm 'z'"),
        ({"weights": [1]}, "weights has 1 numbers"),
    ],
)
def test_a_session_checks_its_question_at_once(explainer, options, words):
    with pytest.raises(InputError, match=words):
        explainer.session(**options)


@pytest.mark.slow
def test_a_closed_session_starts_again(explainer, refused):
    session = explainer.session("granted", strategy="milp")
    first = session.explain(refused)
    session.close()
    assert session.explain(refused).distance == pytest.approx(first.distance)
    session.close()


ALWAYS_CP = Diagram((Leaf(alone("cp")),))


def taught(seconds):
    """Costs of a diagram that always says CP, which took so long; there is much to spend."""
    leaf = {"allowance_s": 1e6, "reverted": 0, "newest": [["cp", seconds, True]] * FEWEST}
    whole = json.loads(OnlineCosts(ALWAYS_CP).to_json()) | {"leaves": {"0": leaf}}
    return OnlineCosts.from_json(json.dumps(whole), ALWAYS_CP, "it")


@pytest.fixture(scope="module")
def by_cp(explainer):
    return explainer.following(ALWAYS_CP)


@pytest.fixture(scope="module")
def some_refused(explainer, credit):
    _, frame = credit
    return [row for _, row in frame.iterrows() if explainer.predict(row) == "refused"][:8]


def test_a_session_that_learns_begins_by_the_diagram(by_cp, some_refused):
    costs = OnlineCosts(by_cp.diagram)
    with by_cp.session("granted", strategy="auto", online=costs) as session:
        results = [session.explain(row) for row in some_refused[:FEWEST]]
    assert {(result.backend, result.decision) for result in results} == {("cp", "CP")}
    assert len(costs.leaves[0].of("cp")) >= FEWEST and costs.leaves[0].allowance_s > 0


def test_who_was_slow_is_asked_no_more(by_cp, some_refused):
    costs = taught(50.0)
    with by_cp.session("granted", strategy="auto", online=costs) as session:
        results = [session.explain(row) for row in some_refused]
    assert {result.backend for result in results} <= {"milp", "maxsat", "search"}
    assert all("is tried first" in result.decision for result in results)
    for row, result in zip(some_refused, results, strict=True):
        assert result.status == "optimal"
        assert result.distance == pytest.approx(by_cp.explain(row, "granted").distance, rel=1e-6)
    seen = costs.leaves[0]
    assert sum(len(seen.of(name)) for name in ("milp", "maxsat", "search")) >= len(some_refused)
    assert len(seen.of("cp")) == FEWEST


def test_who_does_not_prove_in_a_moment_is_followed_by_the_diagram_s_own(
    by_cp, some_refused, monkeypatch
):
    def hurried(turn, *query):
        solve = in_session(turn, *query)
        if turn.backend.name == "cp":
            return solve
        return lambda problem, request: solve(problem, replace(request, time_limit_s=1e-9))

    monkeypatch.setattr(online, "in_session", hurried)
    costs = taught(50.0)
    with by_cp.session("granted", strategy="auto", online=costs) as session:
        for row in some_refused:
            result = session.explain(row)
            expected = by_cp.explain(row, "granted")
            assert (result.status, result.verified) == ("optimal", True)
            assert result.distance == pytest.approx(expected.distance, rel=1e-6)
    tried = [took for took in costs.leaves[0].newest if took.backend != "cp"]
    assert tried and not any(took.proved for took in tried)


def test_a_session_that_learns_may_be_closed_and_go_on(by_cp, some_refused):
    session = by_cp.session("granted", strategy="auto", online=taught(50.0))
    first = session.explain(some_refused[0])
    session.close()
    assert session.explain(some_refused[0]).distance == pytest.approx(first.distance)
    session.close()


def test_costs_that_do_not_fit_are_refused(by_cp, explainer):
    costs = OnlineCosts(ALWAYS_CP)
    with pytest.raises(InputError, match="online needs strategy='auto', got 'cp'"):
        by_cp.session("granted", strategy="cp", online=costs)
    with pytest.raises(InputError, match="another diagram"):
        explainer.session("granted", strategy="auto", online=costs)
    with pytest.raises(InputError, match="must be OnlineCosts, got bool"):
        by_cp.session("granted", strategy="auto", online=True)


def test_what_a_session_that_learns_logs_teaches_like_other_logs(by_cp, some_refused, tmp_path):
    with by_cp.session("granted", strategy="auto", online=taught(1e-5)) as session:
        results = [session.explain(row, log=tmp_path) for row in some_refused]
    records = logs.read(tmp_path)
    assert not check(records)
    assert len(records) == sum(len(result.attempts) for result in results)
    assert set(records["mode"]) == {"session"}
    learned = examples(records)
    assert learned.solver.all() and "cp" in learned.backends
    tried = [name for name in learned.backends if name != "cp"]
    stopped = learned.imputed & (learned.least > 0)  # not those of backends that did not run
    cut = stopped[:, [learned.backends.index(name) for name in tried]]
    brief = records[(records["limit_s"] < 30.0) & ~records["status"].isin(["optimal"])]
    assert cut.any() == brief["backend"].isin(tried).any()


@pytest.mark.slow
def test_a_session_races_backends_that_keep_models(explainer, some_refused, tmp_path):
    with explainer.session("granted", portfolio=["cp", "milp"], threads=2) as session:
        for row in some_refused:
            result = session.explain(row, log=tmp_path)
            assert (result.status, result.verified) == ("optimal", True)
            assert result.distance == pytest.approx(explainer.explain(row, "granted").distance)
            assert result.certified_by and result.decision == "MILP and CP race"
    frame = logs.read(tmp_path)
    assert set(frame["mode"]) == {"session"} and not check(frame)
    assert frame["competitors"].isin(["cp", "milp"]).all() and (frame["race"] != "").all()


def test_with_one_thread_a_session_runs_one_backend(explainer, some_refused):
    with explainer.session("granted", portfolio=["cp", "maxsat"], threads=1) as session:
        result = session.explain(some_refused[0])
    assert [each.backend for each in result.attempts] == ["cp"] and not result.certified_by


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"portfolio": ["smt"]}, "no backend of the portfolio smt supports sessions"),
        ({"portfolio": ["cp"], "strategy": "milp"}, "portfolio needs strategy 'auto' or 'race'"),
        ({"portfolio": ["cp"], "strategy": "map"}, "portfolio needs strategy 'auto', got 'map'"),
    ],
)
def test_a_session_refuses_a_portfolio_that_it_cannot_use(explainer, arguments, message):
    with pytest.raises(InputError, match=message):
        explainer.session("granted", **arguments)


def test_online_costs_and_portfolios_exclude_each_other(explainer):
    with pytest.raises(InputError, match="online does not support portfolio"):
        explainer.session(online=OnlineCosts(explainer.diagram), portfolio="paper")


@pytest.mark.slow
def test_a_worker_that_died_between_two_queries_is_replaced(explainer, some_refused):
    before = set(children())
    with explainer.session("granted", strategy="maxsat") as session:
        expected = session.explain(some_refused[0]).distance
        for _ in range(3):
            for pid in set(children()) - before:
                os.kill(pid, signal.SIGKILL)
            result = session.explain(some_refused[0])
            assert (result.status, result.distance) == ("optimal", expected)
