"""A service without a port answers as one with a port does, and ends when it is closed."""

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from portfolio import Explainer
from portfolio.notebook.local_service import CLOSED, LocalRequest
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.support.local import Asked, local_service
from tests.support.processes import command
from tests.support.served import until

pytestmark = pytest.mark.usefixtures("forked_children")
EXPLAIN = "/v1/models/credit/explain"


@pytest.fixture(scope="module")
def local(explainer):
    with local_service(Settings(lambda: [AtHand("credit", explainer, {})], workers=1)) as service:
        yield service


def test_a_query_is_answered_and_streamed(local, explainer, refused):
    x = {name: float(value) for name, value in refused.items()}
    expected = explainer.explain(refused, threads=1)
    plain = Asked(local, "POST", EXPLAIN, {"x": x}).json()
    assert plain["answer"]["distance"] == expected.distance
    streamed = Asked(local, "POST", EXPLAIN, {"x": x}, accept="text/event-stream").text()
    assert streamed.count("event: answer") == 1 and "event: bounds" in streamed


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (EXPLAIN, {"x": {"age": 1}}, 422, "lacks"),
        ("/v1/models/none/explain", {"x": {}}, 404, "unknown model"),
        ("/v1/models/credit/batch", {"rows": []}, 404, "does not accept jobs"),
        ("/%00/ä?a=%ff".encode().decode("latin-1"), None, 404, "unknown path"),
    ],
)
def test_a_wrong_request_is_refused_in_a_sentence(local, path, body, status, words):
    asked = Asked(local, "GET" if body is None else "POST", path, body)
    assert words in asked.json()["detail"] and asked.status == status


def test_a_cancelled_query_stops():
    """The worker is free for the next query long before the time limit."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 25)))
    y = np.sin(5 * X).sum(axis=1) > 0
    forest = RandomForestClassifier(300, random_state=0).fit(X, y)
    rows = X.rename(columns="x{}".format).iloc[:2].to_dict("records")
    explainer = Explainer(forest, X.to_numpy())
    with local_service(Settings(lambda: [AtHand("credit", explainer, {})], workers=1)) as local:
        pool = local.app.state.service.pool
        hard = [Asked(local, "POST", EXPLAIN, {"x": x, "time_limit_s": 60}) for x in rows]
        until(lambda: pool.busy)
        began = time.monotonic()
        for asked in hard:
            asked.cancel()
        until(lambda: not pool.busy and not pool.waiting)
        assert time.monotonic() - began < 30
        assert not any(asked.parts for asked in hard)
        limited = Asked(local, "POST", EXPLAIN, {"x": rows[0], "time_limit_s": 1}).json()
        assert limited["answer"]["status"] in ("feasible", "unknown", "optimal")


def test_a_closed_service_refuses_in_a_sentence_and_leaves_no_worker(explainer):
    settings = Settings(lambda: [AtHand("credit", explainer, {})], workers=1)
    with local_service(settings) as local:
        assert Asked(local, "GET", "/v1/models").json()["models"]
        pids = list(local.app.state.service.pool.pids)
        local.close()
        assert pids and local.join(60)
        assert Asked(local, "GET", "/v1/models").json()["detail"] == CLOSED
        local.close()
    until(lambda: not any(map(command, pids)))


def test_a_model_that_workers_cannot_get_is_refused_in_a_sentence(credit):
    model, X = credit

    def local_function(frame):
        return frame

    pipeline = make_pipeline(FunctionTransformer(local_function), model)
    steps = {"functiontransformer": "by value"}
    explainer = Explainer(pipeline, X, steps=steps)
    with local_service(
        Settings(lambda: [AtHand("credit", explainer, {})], workers=1), False
    ) as local:
        asked = Asked(local, "GET", "/v1/models")
        assert "cannot be sent to workers" in asked.json()["detail"] and asked.status == 503


def test_a_call_describes_itself_as_asgi_does():
    scope = LocalRequest("GET", "/a%20b?c=%C3%A4", {"Accept": "text/plain"}).scope()
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == (
        "/a b", b"/a%20b", b"c=%C3%A4"
    )  # fmt: skip
    assert scope["headers"] == [(b"host", b"localhost"), (b"accept", b"text/plain")]
