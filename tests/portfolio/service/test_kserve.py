"""KServe's protocols: the answers of the explainer, errors in a sentence, and its own client."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from portfolio.cli.app import app as cli
from portfolio.cli.questions import command_name
from portfolio.questions.records import QUESTIONS
from portfolio.service.app import create_app
from portfolio.service.settings import Settings
from tests.portfolio.service.test_one_answer_everywhere import ROWS, plain, settings_of
from tests.support.served import Unserved, lasting

pytestmark = pytest.mark.usefixtures("forked_children")

MANIFESTS = Path(__file__).parents[3] / "deploy" / "kserve"
EXPLAIN, INFER = "/v1/models/credit:explain", "/v2/models/credit/infer"
KEY = "a-key-of-twenty-signs"


def columns(rows):
    """Rows as a tensor for each column."""
    return [
        {"name": name, "shape": [len(rows)], "datatype": "FP64", "data": [r[name] for r in rows]}
        for name in rows[0]
    ]


def explained(told):
    assert told.status_code == 200, told.text
    return lasting(told.json()["explanations"])


def inferred(told):
    assert told.status_code == 200, told.text
    (output,) = told.json()["outputs"]
    assert (output["datatype"], output["shape"]) == ("BYTES", [len(output["data"])])
    return [lasting(json.loads(text)) for text in output["data"]]


def test_both_protocols_give_the_answers_of_the_explainer(client, explainer, credit):
    X = credit[1].head(12)
    rows = X.to_dict("records")
    parameters = {"norm": 2}
    for instances in (rows, X.to_numpy().tolist()):
        body = {"instances": instances, "parameters": parameters}
        answers = [plain(explainer.explain(each, norm=2, threads=1)) for each in instances]
        assert explained(client.post(EXPLAIN, json=body)) == answers
    whole = {"name": "x", "shape": list(X.shape), "datatype": "FP64"}
    for inputs, given in (
        (columns(rows), rows),
        ([whole | {"data": X.to_numpy().ravel().tolist()}], X.to_numpy().tolist()),
        ([whole | {"data": X.to_numpy().tolist()}], X.to_numpy().tolist()),
    ):
        told = client.post(INFER, json={"id": "7", "inputs": inputs, "parameters": parameters})
        answers = [plain(explainer.explain(each, norm=2, threads=1)) for each in given]
        assert inferred(told) == answers
        assert (told.json()["id"], told.json()["model_name"]) == ("7", "credit")


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_each_question_has_the_answer_of_its_method(name, client, explainer, credit, row, refused):
    python, body, _ = settings_of(name, credit, credit[1].index.get_loc(refused.name))
    expected = plain(getattr(explainer, name)(refused, threads=1, **python))
    parameters = {"question": command_name(name), **body}
    assert explained(client.post(EXPLAIN, json={"instances": [row], "parameters": parameters})) == [
        expected
    ]
    told = client.post(INFER, json={"inputs": columns([row]), "parameters": parameters})
    assert inferred(told) == [expected]
    assert name in QUESTIONS


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (EXPLAIN, {}, 400, "the member 'instances' is missing"),
        (EXPLAIN, {"instances": []}, 400, "instances"),
        (EXPLAIN, {"instances": [{"age": 40}]}, 400, "income"),
        (EXPLAIN, {"instances": [[1]], "parameters": {"question": "explains"}}, 400, "'explains'"),
        (EXPLAIN, {"instances": [[1]], "parameters": {"question": ["x"]}}, 400, "question"),
        (
            EXPLAIN,
            {"instances": [[1]], "parameters": {"target_": 1}},
            400,
            "unknown member 'target_'",
        ),
        (EXPLAIN, {"instances": [[1]], "rows": 1}, 400, "unknown member 'rows'"),
        ("/v1/models/nothing:explain", {"instances": [[1]]}, 404, "unknown model 'nothing'"),
        ("/v2/models/nothing/infer", {"inputs": columns([{"age": 1}])}, 404, "'nothing'"),
        (INFER, {"inputs": []}, 400, "inputs"),
        (INFER, {"inputs": columns([{"age": 1}])}, 400, "income"),
        (INFER, {"inputs": [columns([{"a": 1}])[0] | {"shape": [2]}]}, 400, "Send 2"),
        (INFER, {"inputs": [columns([{"a": 1}])[0] | {"shape": [-1]}]}, 400, "shape"),
        (INFER, {"inputs": [columns([{"a": 1}])[0] | {"datatype": "FP65"}]}, 400, "inputs"),
        (INFER, {"inputs": columns([{"a": 1}, {"a": 2}]) + columns([{"b": 1}])}, 400, "shape"),
        # A shape without values must not make a billion rows.
        (INFER, {"inputs": [columns([{"a": 1}])[0] | {"shape": [10**9, 0], "data": []}]}, 400, "1"),
        (INFER, {"inputs": columns([{"a": 1}]) * 2}, 400, "the same name"),
        (INFER, {"inputs": columns([{"a": 1}]), "outputs": [{"name": "b"}]}, 400, "outputs 0 name"),
        (EXPLAIN, {"instances": [[1]] * 1001}, 400, "1001 rows. Send at most 1000"),
        (INFER, {"inputs": columns([{"a": 1}] * 1001)}, 400, "Send at most 1000"),
        (EXPLAIN, {"instances": [5]}, 400, "instances 0"),
        (EXPLAIN, {"instances": [[1]], "parameters": {"x": [2]}}, 400, "contain the row 'x'"),
        ("/v1/models/credit:predict", {"instances": [[1]]}, 405, "does not support POST"),
        ("/v2/models/credit/versions/1/infer", {}, 404, "unknown path"),
    ],
)
def test_errors_are_those_of_the_protocols(client, path, body, status, words):
    told = client.post(path, json=body)
    assert told.status_code == status, told.text
    assert list(told.json()) == ["error"]
    assert words in told.json()["error"] and told.json()["error"].endswith(".")


def test_a_large_body_is_checked_in_the_process_for_large_bodies(client, row):
    bad = client.post(EXPLAIN, json={"instances": [row] * 1000 + [{"age": []}]})
    assert (bad.status_code, list(bad.json())) == (400, ["error"])


def test_a_row_that_fails_fails_the_request(client, row):
    told = client.post(EXPLAIN, json={"instances": [row, row | {"income": "much"}]})
    assert told.status_code == 400 and "'much'" in told.json()["error"]


def test_health_and_descriptions(client):
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True}
    assert client.get("/v2").json()["name"] == "counterfolio"
    assert client.get("/v1/models/credit").json()["ready"] is True
    assert client.get("/v2/models/credit/ready").json() == {"name": "credit", "ready": True}
    described = client.get("/v2/models/credit").json()
    assert [each["name"] for each in described["inputs"]][:2] == ["age", "income"]
    for path in ("/v2/models/nothing", "/v2/models/nothing/ready"):
        unknown = client.get(path)
        assert (unknown.status_code, list(unknown.json())) == (404, ["error"])
    assert b"counterfolio_workers_warm 1.0" in client.get("/metrics").content


def test_probes_need_no_key_and_a_gateway_needs_none(sources):
    def told(path, **settings):
        unserved = Unserved(create_app(Settings(lambda: sources, **settings)))
        response = unserved.get(path, host="credit.models.example")
        assert response.status_code == 200 or list(response.json()) == ["error"]
        return response.status_code

    assert told("/v2/health/live", keys=frozenset([KEY])) == 200
    assert told("/v2/models/credit", keys=frozenset([KEY])) == 401
    assert told("/v2/health/ready", keys=frozenset([KEY])) == 503  # no worker runs
    assert told("/v2/models/credit") == 421
    assert told("/v2/models/credit", behind_gateway=True) == 200


@pytest.mark.slow
def test_the_client_of_kserve(client, explainer, refused, row):
    kserve = pytest.importorskip("kserve")
    url = str(client.base_url)
    expected = plain(explainer.explain(refused, threads=1))

    async def ask():
        v1 = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v1"))
        answer = await v1.explain(url, "credit", {"instances": [row]})
        assert lasting(answer["explanations"]) == [expected]
        assert await v1.is_model_ready(url, "credit")
        v2 = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2"))
        assert await v2.is_server_live(url) and await v2.is_server_ready(url)
        assert await v2.is_model_ready(url, "credit")
        inputs = [kserve.InferInput(name, [1], "FP64", [value]) for name, value in row.items()]
        answer = await v2.infer(url, kserve.InferRequest("credit", inputs), model_name="credit")
        (text,) = answer.outputs[0].data
        assert lasting(json.loads(text)) == expected

    asyncio.run(ask())


@pytest.mark.parametrize("path", sorted(MANIFESTS.glob("*.yaml")), ids=lambda path: path.name)
def test_manifests_name_options_and_probes_that_exist(path, sources):
    manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert (manifest["apiVersion"], manifest["kind"]) == (
        "serving.kserve.io/v1beta1",
        "InferenceService",
    )
    spec = manifest["spec"]
    (container,) = spec.get("explainer", spec["predictor"])["containers"]
    program, command = container["command"]
    registered = {each.callback.__name__: each for each in cli.registered_commands}
    assert program == "counterfolio" and command in registered
    parameters = registered[command].callback.__annotations__
    for argument in container.get("args", ()):
        assert argument.partition("=")[0].removeprefix("--") in parameters
    routes = create_app(Settings(lambda: sources)).openapi()["paths"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in routes
    assert {each["name"] for each in container["env"]} == {"STORAGE_URI"}
