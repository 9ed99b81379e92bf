"""Invalid requests are rejected in one sentence, never as an internal error."""

import json
import random

import pytest

from encoders.core.errors import InputError
from portfolio.service.app import create_app
from portfolio.service.job_routes import NO_JOBS
from portfolio.service.messages import QuestionTicket
from portfolio.service.questions import QUESTIONS
from portfolio.service.settings import Settings, check_address, read_keys
from tests.support.served import Unserved, until

pytestmark = pytest.mark.usefixtures("forked_children")

JSON = {"content-type": "application/json"}
PATH = "/v1/models/credit/explain"
KEY = "a-key-of-twenty-signs"


def check_problem(told, status):
    assert told.status_code == status, told.text
    assert told.headers["content-type"] == "application/problem+json"
    document = told.json()
    assert document["status"] == status
    assert document["detail"].endswith(".")
    assert "Traceback" not in told.text


@pytest.mark.parametrize(
    "body",
    ["", "{", "{'x': 1}", '{"x": NaN}', '{"x": [1e999]}', '{"x": [-Infinity]}', "[" * 100_000,
     '{"x": [' + "9" * 5000 + "]}", '{"target": {"AtLeast": 1' + "0" * 400 + "}}", b"\xff\xfe"],
)  # fmt: skip
def test_what_is_no_json_is_400(client, body):
    check_problem(client.post(PATH, content=body, headers=JSON), 400)


@pytest.mark.parametrize(
    ("members", "code", "arguments"),
    [
        (
            {"constraints": [{"Range": {"feature": "income", "lower": 5, "upper": 2}}]},
            "reversed-range", {"name": "income", "low": 5, "high": 2},
        ),
        ({"constraints": [{"Allowed": ["home", []]}]}, "nothing-allowed", {"name": "home"}),
        (
            {"constraints": [{"Range": {"feature": "income", "lower": 1e7}}]},
            "contradiction", {"name": "income"},
        ),
        (
            {"constraints": [{"Increase": ["age"]}, {"Decrease": ["age"]}]},
            "contradiction", {"name": "age"},
        ),
        (
            {"target": "nobody"},
            "unknown-target", {"target": "nobody", "labels": "'granted', 'refused'"},
        ),
        ({"target": {"Probability": ["granted", 0.6]}, "margin": 0.1}, "margin-of-goal", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("streamed", [False, True])
def test_frequent_problems_have_a_code_and_arguments(
    client, row, members, code, arguments, streamed
):
    accepted = {"accept": "text/event-stream"} if streamed else {}
    told = client.post(PATH, json={"x": row} | members, headers=accepted)
    document = json.loads(told.text.partition("data: ")[2]) if streamed else told.json()
    assert document["code"] == code and document.get("arguments", {}) == arguments
    assert document["detail"].endswith(".")


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        ({"age": 30.5}, "no-whole-number", "age"),
        ({"age": None}, "missing-value", "age"),
        ({"age": 1e300}, "too-large", "age"),
        ({"age": "old"}, "no-number", "age"),
        ({"height": 3}, "other-columns", None),
    ],
)
@pytest.mark.parametrize("question", ["explain", "predict"])
def test_values_that_no_row_can_have_are_named(client, row, change, code, named, question):
    told = client.post(f"/v1/models/credit/{question}", json={"x": row | change}).json()
    assert told["code"] == code and told.get("arguments", {}).get("name") == named


def test_a_problem_without_a_code_has_no_further_members(client):
    told = client.post(PATH, json={}).json()
    assert told.keys() == {"type", "title", "status", "detail"}
    assert client.get("/v1/models/none").json()["arguments"] == {"name": "none"}


def nested(depth):
    nest = "age"
    for _ in range(depth):
        nest = [nest]
    return nest


@pytest.mark.parametrize("member", ["x", "target", "norm", "constraints", "weights", "nothing"])
@pytest.mark.parametrize("depth", [62, 63, 64, 500])
def test_what_is_too_deep_is_refused_and_takes_no_worker_along(client, row, pool, member, depth):
    """Deeper ones can't be pickled: the only worker would never be given anything again."""
    given, restarts = {"x": row} | {member: nested(depth)}, pool.restarts
    check_problem(client.post(PATH, json=given), 422 if depth < 64 else 400)
    assert client.post(PATH, json={"x": row}).status_code == 200
    until(lambda: not pool.busy)
    assert pool.restarts == restarts


@pytest.mark.slow
def test_what_can_not_be_sent_to_a_worker_takes_none_along(client, row, pool):
    ticket = QuestionTicket(pool.works[0], "explain", {"x": nested(5000)}, 5.0)
    pool.submit(ticket)
    assert ticket.future.result(60).why == "bug"
    assert client.post(PATH, json={"x": row}).status_code == 200


def test_long_input_is_not_told_at_length(client, row):
    told = client.post(PATH, json={"x": row, "target": "nobody" * 100_000})
    check_problem(told, 422)
    assert len(told.text) < 3000


def test_a_bug_behind_the_routes_is_a_problem_too(service, client, monkeypatch, caplog):
    monkeypatch.setattr(service[0].state.service.metrics, "text", lambda: 1 / 0)
    told = client.get("/metrics", headers={"x-request-id": "mine-2"})
    check_problem(told, 500)
    assert told.json()["detail"] == "internal error (request id mine-2). See the server log."
    errors = [own.getMessage() for own in caplog.records if own.levelname == "ERROR"]
    assert errors == ["request mine-2 failed"]


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ({"Fixed": []}, "missing a required argument: 'feature'"),
        ({"Implies": ["age"]}, "missing a required argument"),
        ({"MaxChanges": [1, 2, 3]}, "too many positional arguments"),
        ({"Fixed": {"name": "age"}}, "missing a required argument: 'feature'"),
    ],
)
def test_arguments_are_named_without_words_of_python(client, row, constraint, words):
    told = client.post(PATH, json={"x": row, "constraints": [constraint]})
    check_problem(told, 422)
    assert words in told.json()["detail"] and "__init__" not in told.text


def test_a_column_that_is_missing_is_named(client, row):
    lacking = {name: value for name, value in row.items() if name != "income"}
    told = client.post(PATH, json={"x": lacking})
    check_problem(told, 422)
    assert "lacks 'income'" in told.json()["detail"]


@pytest.mark.parametrize(
    "change",
    [
        {"x": None}, {"x": []}, {"x": {}}, {"x": {"age": 1}}, {"x": [[1] * 6]}, {"x": "age"},
        {"x": [None] * 6}, {"x": ["a"] * 6}, {"x": [True] * 6},
        {"nothing": 1}, {"log": "/tmp"}, {"executor": "ray"},
        {"target": "nobody"}, {"target": {"Probability": "granted"}}, {"target": {"Less": 1}},
        {"target": {"a": 1}}, {"target": [1, 2]}, {"target": [1, 2, 3]},
        {"norm": -1}, {"norm": "l2"}, {"norm": {"age": 3}}, {"norm": {"age": [[[], 1]]}},
        {"norm": {"nobody": [[1, 2]]}}, {"norm": {"age": {"x": "y"}}},
        {"scale": "iqr"}, {"weights": [1]}, {"weights": {"nobody": 1}}, {"weights": {"age": -1}},
        {"constraints": {}}, {"constraints": [{"Fixed": "nobody"}]}, {"constraints": [{}]},
        {"constraints": [{"Range": ["age", "a", "b"]}]}, {"constraints": [{"MaxChanges": "x"}]},
        {"constraints": [{"Linear": [{"age": "x"}, "<=", 0]}]},
        {"constraints": [{"Linear": [{"age": 1}, "<", []]}]},
        {"constraints": [{"Allowed": ["home", [[]]]}]},
        {"constraints": [{"Precedence": ["home", [{}]]}]},
        {"constraints": [{"Together": [["age"], ["home"]]}]},
        {"constraints": [{"AllowedPairs": ["age", "home", [[[], {}]]]}]},
        {"constraints": [{"Forbidden": [3]}]}, {"constraints": [{"Implies": [1, 2]}]},
        {"constraints": [{"JointCost": ["age", "home", [[[1, 2], "x"]]]}]},
        {"constraints": [{"MaxChanges": {"count": 1, "among": 3}}]},
        {"constraints": [{"Range": {"feature": ["age"], "lower": {}}}]},
        {"margin": -1}, {"margin": "1"}, {"strategy": "gpt"}, {"strategy": []},
        {"strategy": ["cp", 3]}, {"metric": "x"}, {"tie_break": 1}, {"second": "nobody"},
        {"time_limit_s": 0}, {"time_limit_s": True}, {"threads": 0}, {"seed": -1},
        {"seed": 2**31}, {"record": 1},
    ],
    ids=lambda change: json.dumps(change)[:60],
)  # fmt: skip
def test_what_does_not_fit_is_422(client, row, change):
    told = client.post(PATH, json={"x": row} | change)
    check_problem(told, 422)


def test_the_sentence_is_the_one_of_the_explainer(client, explainer, row):
    with pytest.raises(InputError) as error:
        explainer.explain(row, target="nobody")
    told = client.post(PATH, json={"x": row, "target": "nobody"})
    assert told.json()["detail"] == str(error.value)


def test_paths_and_methods_that_are_none(client, row):
    check_problem(client.post("/v1/models/nobody/explain", json={"x": row}), 404)
    check_problem(client.get("/v1/models/nobody"), 404)
    told = client.get("/nothing")
    check_problem(told, 404)
    assert told.json()["detail"] == "unknown path '/nothing'. See GET /openapi.json for all paths."
    assert client.head("/health").status_code == client.head("/ready").status_code == 200
    check_problem(client.get(PATH), 405)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/models/credit/batch"),
        ("POST", "/v1/models/credit/explain_group"),
        ("POST", "/v1/models/credit/audit"),
        ("GET", "/v1/jobs"),
        ("DELETE", "/v1/jobs/1"),
        ("POST", "/v1/jobs/1/resume"),
    ],
)
def test_jobs_without_a_folder_are_rejected_with_the_remedy(client, method, path):
    response = client.request(method, path, json={"rows": []})
    check_problem(response, 404)
    assert response.json()["detail"] == NO_JOBS


def test_other_media_types_are_415(client):
    check_problem(client.post(PATH, content="{}", headers={"content-type": "text/plain"}), 415)


def test_large_bodies_are_413_with_and_without_a_length(client):
    parts = [b" " * 300_000] * 4
    check_problem(client.post(PATH, content=b"".join(parts), headers=JSON), 413)
    check_problem(client.post(PATH, content=iter(parts), headers=JSON), 413)


def test_streams_of_what_can_not_be_asked_are_refused(client, row):
    check_problem(client.post(f"{PATH}/stream", json={"x": row, "nothing": 1}), 422)
    told = client.post(f"{PATH}/stream", json={"x": row, "target": "nobody"})
    assert told.text.startswith("event: problem\n")


def values(random_state, depth=0):
    kinds = [None, True, -1, 0, 3, 2**70, 0.5, 1e300, "", "age", "granted", "cp", "inf", "é\x00"]
    if depth < 3 and random_state.random() < 0.4:
        if random_state.random() < 0.5:
            return [values(random_state, depth + 1) for _ in range(random_state.randrange(4))]
        names = ["Fixed", "Range", "Linear", "Probability", "age", "feature", "Changes", "x"]
        chosen = random_state.sample(names, random_state.randrange(3))
        return {name: values(random_state, depth + 1) for name in chosen}
    return random_state.choice(kinds)


def ask_at_random(client, row, seed):
    chance = random.Random(seed)
    question = chance.choice(list(QUESTIONS.values()))
    body = {"x": row, "time_limit_s": 0.05} | question.example
    for name in chance.sample(list(question.body.model_fields), chance.randrange(1, 3)):
        body[name] = values(chance)
    if chance.random() < 0.1:
        body = values(chance)
    path = f"/v1/models/credit/{question.name}"
    told = client.post(path, content=json.dumps(body), headers=JSON)
    assert told.status_code in (200, 422), (question.name, body, told.text)


def test_random_bodies_are_answered_or_refused(client, row):
    for seed in range(80):
        ask_at_random(client, row, seed)


@pytest.mark.large
def test_many_random_bodies_are_answered_or_refused(client, row):
    for seed in range(80, 5000):
        ask_at_random(client, row, seed)


@pytest.fixture(scope="module")
def guarded(source):
    app = create_app(Settings(lambda: [source], workers=1, keys=frozenset({KEY})))
    return Unserved(app)


@pytest.mark.parametrize(
    "sent", [None, {"authorization": KEY}, {"authorization": f"Bearer {KEY}x"},
             {"authorization": "Bearer é"}, {"authorization": f"Basic {KEY}"}],
)  # fmt: skip
def test_without_a_key_nothing_is_told(guarded, sent):
    raw = {name: value.encode() for name, value in (sent or {}).items()}
    check_problem(guarded.get("/v1/models", raw), 401)
    assert guarded.get("/health").status_code == 200


def test_with_a_key_anybody_may_ask(guarded):
    told = guarded.get("/v1/models", {"authorization": f"Bearer {KEY}"}, host="example.org")
    assert told.status_code == 200


def test_without_keys_only_names_of_this_machine_are_answered(service):
    app = Unserved(service[0])
    check_problem(app.get("/v1/models", host="example.org"), 421)
    for host in ("example.org:8000", "127.0.0.2.example.org", "192.0.2.1", "[2001:db8::1]:80"):
        check_problem(app.get("/v1/models", host=host), 421)
    for host in ("127.0.0.1", "127.0.0.2:8000", "[::1]:8000"):
        assert app.get("/v1/models", host=host).status_code == 200


def test_no_other_origin_is_let_in(client):
    told = client.options(PATH, headers={"origin": "http://example.org"})
    assert not [name for name in told.headers if name.startswith("access-control")]


def test_public_addresses_need_keys(tmp_path, monkeypatch):
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        check_address(host, frozenset())
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        check_address(host, frozenset({KEY}))
        with pytest.raises(InputError, match="API keys"):
            check_address(host, frozenset())
    file = tmp_path / "keys"
    file.write_text(f"# ours\n{KEY}\n\n")
    monkeypatch.setenv("COUNTERFOLIO_API_KEYS", "another-key-of-the-env, ")
    assert read_keys(file) == {KEY, "another-key-of-the-env"}
