"""Each example of the description is answered as it stands."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from portfolio import Explainer
from portfolio.service.catalogue import Model
from portfolio.service.example_bodies import reached
from portfolio.service.examples import typical_row
from portfolio.service.questions import QUESTIONS
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.support.served import served, until

pytestmark = pytest.mark.usefixtures("forked_children")

JOBS = ("batch", "explain_group", "audit")
# Jobs take seconds and streams repeat questions, so by default each is tried with one model.
ONLY = {"batch": "credit", "explain_group": "prices", "audit": "credit", "stream": "credit"}


@pytest.fixture(scope="module")
def prices():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "area": rng.normal(size=200),
            "rooms": rng.integers(0, 5, 200),
            "new": rng.integers(0, 2, 200),
        }
    )
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, X["area"] + X["rooms"])
    return AtHand("prices", explainer := Explainer(model, X), typical_row(explainer.features, X))


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.large)])
def test_each_example_is_answered(source, prices, tmp_path, whole):
    settings = Settings(lambda: [source, prices], workers=1, reload_s=0, jobs=tmp_path)
    with served(settings) as (_, client):
        described = client.get("/openapi.json").json()
        paths, schemas = described["paths"], described["components"]["schemas"]
        asked = {}
        for path, methods in paths.items():
            if "post" in methods and "{name}" in path:
                media = methods["post"]["requestBody"]["content"]["application/json"]
                schema = media["schema"]
                named = schema.get("$ref", "").rpartition("/")[2]
                assert schemas.get(named, schema)["properties"]
                asked[path.rpartition("{name}/")[2]] = set(media["examples"])
                for name, example in media["examples"].items():
                    only = ONLY.get(path.rpartition("/")[2], name)
                    if whole or name == only:
                        check(client, path.replace("{name}", name), example["value"])
    every = {question + ending for question in QUESTIONS for ending in ("", "/stream")}
    assert asked.keys() == every | {
        *JOBS,
        "report",
        "predict",
        "infer",
        "/v1/models/{name}:explain",
    }
    without = {"contrast", "contrast/stream"}  # a regressor decides nothing
    assert all(own == {"credit"} for name, own in asked.items() if name in without)
    assert all(own == {"credit", "prices"} for name, own in asked.items() if name not in without)


def check(client, path, body):
    told = client.post(path, json=body)
    if path.endswith(JOBS):
        assert told.status_code == 202, (path, told.text)
        where = told.headers["location"]
        until(lambda: client.get(where).json()["state"] not in ("queued", "running"))
        assert client.get(where).json()["state"] == "done", (path, client.get(where).json())
    else:
        assert told.status_code == 200, (path, told.text)
        assert "event: problem" not in told.text


def test_limits_of_a_regressor_are_kept_by_another_row(prices):
    model = Model("prices", prices.explainer, b"", prices.example, None)
    own, other = (model.explainer.predict(each) for each in (model.example, model.another))
    low, high = reached(model)
    assert (low is None) != (high is None)
    assert other >= low > own if high is None else other <= high < own
    assert reached(model, already=True) == [high, low]
