"""Answers over HTTP equal those in process."""

import inspect
import json

import jsonschema
import pytest

from portfolio import Beat, Explainer, Fixed, MaxChanges, Probability, Range, Retraining
from portfolio.service.questions import PARAMETERS, QUESTIONS, plain_parameters
from tests.support.served import lasting

LEFT_OUT = {"self", "on_progress", "executor", "log", "explore"}  # what only a program can give
MORE = {
    "alternatives-of": {"feature": "income"},
    "contrast": {"y": {"age": 30.0, "income": 90.0, "employed": 1.0, "home_free": 0.0,
                       "home_own": 1.0, "home_rent": 0.0}},
    "robust": {"against": {"Retraining": {"confidence": 0.6}}},
    "verify": {"radius": 0.5},
    "diverse": {"k": 2},
    "several": {"k": 2},
}  # fmt: skip


def in_process(explainer, question, row, **arguments):
    found = getattr(explainer, QUESTIONS[question].method)(row, threads=1, **arguments)
    return json.loads(json.dumps(lasting(found.to_dict())))


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_answered_as_in_process(client, explainer, row, question):
    more = MORE.get(question, {})
    told = client.post(f"/v1/models/credit/{question}", json={"x": row, **more})
    assert told.status_code == 200, told.text
    own = more | ({"against": Retraining(confidence=0.6)} if question == "robust" else {})
    assert lasting(told.json()["answer"]) == in_process(explainer, question, row, **own)


OTHER = {"age": 40, "income": 30, "employed": 1, "home_free": 0, "home_own": 1, "home_rent": 0}


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ({"target": "granted", "norm": 2}, {"target": "granted", "norm": 2}),
        ({"constraints": [{"Fixed": "age"}, {"MaxChanges": 1}]},
         {"constraints": [Fixed("age"), MaxChanges(1)]}),
        ({"constraints": [{"Range": {"feature": "income", "upper": 20}}, {"Fixed": "employed"},
                          {"Fixed": "home"}]},
         {"constraints": [Range("income", upper=20), Fixed("employed"), Fixed("home")]}),
        ({"target": {"Probability": ["granted", 0.6]}},
         {"target": Probability("granted", at_least=0.6)}),
        ({"target": {"Beat": OTHER}}, {"target": Beat(OTHER)}),
        ({"target": {"Beat": {"row": list(OTHER.values())}}},
         {"target": Beat(list(OTHER.values()))}),
        ({"norm": {"employed": [[0, 0.0], [1, 0.25]]}}, {"norm": {"employed": {0: 0.0, 1: 0.25}}}),
        ({"weights": {"age": 3}, "scale": "std"}, {"weights": {"age": 3}, "scale": "std"}),
        ({"strategy": "cp", "second": "search"}, {"strategy": "cp", "second": "search"}),
    ],
)  # fmt: skip
def test_a_question_means_what_it_means_in_process(client, explainer, row, asked, meant):
    told = client.post("/v1/models/credit/explain", json={"x": row, **asked})
    assert told.status_code == 200, told.text
    assert lasting(told.json()["answer"]) == in_process(explainer, "explain", row, **meant)


def test_a_row_may_come_without_names(client, explainer, row):
    told = client.post("/v1/models/credit/explain", json={"x": list(row.values())}).json()
    assert lasting(told["answer"]) == in_process(explainer, "explain", list(row.values()))


def test_every_parameter_is_served_or_left_out_on_purpose():
    taken = {
        name
        for question in QUESTIONS.values()
        for name in inspect.signature(getattr(Explainer, question.method)).parameters
    }
    plain = {name for each in QUESTIONS.values() for name in plain_parameters(each.method)}
    assert taken == PARAMETERS.keys() | plain | LEFT_OUT


def test_an_answer_names_model_request_and_limits(client, explainer, row):
    asked = {"x": row, "time_limit_s": 1000, "threads": 64}
    sent = client.post("/v1/models/credit/explain", json=asked, headers={"x-request-id": "mine-1"})
    told = sent.json()
    names = {"name": "credit", "digest": explainer.digest, "diagram": explainer.diagram.digest}
    assert told["model"] == names
    assert told["request"] == sent.headers["x-request-id"] == "mine-1"
    assert told["limits"] == {
        "time_limit_s": 20.0, "threads": 1, "clipped": ["time_limit_s", "threads"],
    }  # fmt: skip


def test_a_record_comes_with_the_answer_and_holds(client, credit, row):
    from portfolio.checker import check

    told = client.post("/v1/models/credit/explain", json={"x": row, "record": True}).json()
    assert told["record"]["proof"] is not None
    check(told["record"], credit[0])
    with pytest.raises(Exception, match=r"."):
        check(told["record"] | {"distance": "1e-6"}, credit[0])


def test_bounds_come_as_events_and_the_answer_last(client, explainer, row):
    events = []
    asked = {"x": row, "strategy": "cp"}
    with client.stream("POST", "/v1/models/credit/explain/stream", json=asked) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    for name, data in zip(lines[::2], lines[1::2], strict=True):
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    assert [name for name, _ in events[:-1]] == ["bounds"] * (len(events) - 1)
    name, told = events[-1]
    assert (name, told["answer"]["status"]) == ("answer", "optimal")
    assert events[-2][1]["upper"] == told["answer"]["distance"]


def test_models_are_described(client, explainer, credit):
    told = client.get("/v1/models").json()["models"]
    assert told == [client.get("/v1/models/credit").json()]
    assert told[0]["classes"] == ["granted", "refused"]
    assert told[0]["columns"] == list(credit[1].columns)
    home = next(own for own in told[0]["features"] if own["name"] == "home")
    assert home["labels"] == ["free", "own", "rent"]


def test_the_schema_has_a_path_and_an_example_for_every_question(client):
    told = client.get("/openapi.json").json()
    for question in QUESTIONS:
        body = told["paths"][f"/v1/models/{{name}}/{question}"]["post"]["requestBody"]
        assert "credit" in body["content"]["application/json"]["examples"]


@pytest.mark.parametrize("question", ["explain", "reasons", "robust"])
def test_requests_and_answers_fit_the_schema(client, row, question):
    described = client.get("/openapi.json").json()
    post = described["paths"][f"/v1/models/{{name}}/{question}"]["post"]
    media = post["requestBody"]["content"]["application/json"]
    body = media["examples"]["credit"]["value"] | {"constraints": [{"Fixed": "age"}]}
    body = (
        body if question != "reasons" else {"x": row, "target": {"Probability": ["granted", 0.1]}}
    )
    answer = client.post(f"/v1/models/credit/{question}", json=body).json()
    expected = post["responses"]["200"]["content"]["application/json"]["schema"]
    components = {"components": described["components"]}
    jsonschema.Draft202012Validator(media["schema"] | components).validate(body)
    jsonschema.Draft202012Validator(expected | components).validate(answer)
    wrong = answer | {"answer": answer["answer"] | {"status": "perfect"}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(expected | components).validate(wrong)


def test_counts_are_told_to_prometheus(client, row):
    client.post("/v1/models/credit/explain", json={"x": row})
    told = client.get("/metrics").text
    assert 'counterfolio_question_seconds_count{backend="' in told
    assert "counterfolio_workers 1.0" in told
    assert "counterfolio_queued_requests 0.0" in told


def test_around_takes_a_mapping_as_it_does_in_process(client, row):
    asked = {"x": row, "target": "granted"}
    told = [
        client.post("/v1/models/credit/robust", json=asked | {"against": {"Around": around}}).json()
        for around in ({"income": 1}, [{"income": 1}], {"radius": {"income": 1}})
    ]
    found = [each["answer"]["lower_bound"] for each in told]
    assert found[0] == found[1] == found[2]
