"""Predictions, distributions and training rows over HTTP are those of the user's own objects."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from portfolio import Explainer
from portfolio.service.app import create_app
from portfolio.service.settings import Settings
from portfolio.service.shown_rows import MOST, PAGE
from portfolio.service.sources import AtHand
from tests.support.served import Unserved, check_described

ROWS = 120
KEY = "a key of twenty signs"


def table(rows=ROWS):
    random = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "income": np.where(random.random(rows) < 0.1, np.nan, random.normal(40, 9, rows)),
            "city": random.choice(["Oslo", "Rome", "<b>"], rows),
            "owner": random.integers(0, 2, rows),
        }
    )


def classifier(X):
    y = (X["income"].fillna(0) > 40) ^ (X["city"] == "Rome")
    steps = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    forest = RandomForestClassifier(7, max_depth=4, random_state=0)
    return make_pipeline(steps, forest).fit(X, np.where(y, "yes", "no"))


def without_workers(source, **settings):
    return Unserved(create_app(Settings(lambda: [source], reload_s=0, **settings)))


@pytest.fixture(scope="module")
def loans():
    X = table()
    model = classifier(X)
    return X, model, without_workers(AtHand("loans", Explainer(model, X), {}, X))


def plain(row):
    return {name: None if value != value else value for name, value in row.items()}


def rows_of(client, **parameters):
    told = client.request("GET", "/v1/models/loans/rows", params=parameters)
    assert told.status_code == 200, told.text
    return told.json()


def test_a_prediction_is_that_of_the_model(loans):
    X, model, client = loans
    for place in range(0, ROWS, 9):
        told = client.post("/v1/models/loans/predict", json={"x": plain(X.iloc[place].to_dict())})
        one = X.iloc[[place]]
        assert told.json()["prediction"] == model.predict(one)[0]
        expected = list(zip(model.classes_, model.predict_proba(one)[0], strict=True))
        assert list(map(tuple, told.json()["probabilities"])) == expected
    check_described(client, "/v1/models/{name}/predict", told, "post")


def test_each_output_and_each_number_is_predicted():
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 6, (60, 2)), columns=["a", "b"])
    labels = np.column_stack([X["a"] > 2, X["b"] > 2]).astype(int)
    both = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, labels)
    source = AtHand("both", Explainer(both, X, outputs=["fraud", "churn"]), {}, X)
    row = {"a": 5, "b": 0}
    client = without_workers(source)
    told = client.post("/v1/models/both/predict", json={"x": row}).json()
    assert told["prediction"] == {"fraud": 1, "churn": 0}
    of_fraud = both.predict_proba(pd.DataFrame([row]))[0][0]
    assert [share for _, share in told["probabilities"]["fraud"]] == of_fraud.tolist()
    assert client.get("/v1/models/both/rows").json()["rows"][0]["prediction"] is None

    numbers = RandomForestRegressor(5, random_state=0).fit(X, X["a"] * 2.5 + X["b"])
    client = without_workers(AtHand("numbers", Explainer(numbers, X), {}, X))
    told = client.post("/v1/models/numbers/predict", json={"x": row}).json()
    assert told["prediction"] == numbers.predict(pd.DataFrame([row]))[0]
    assert told["probabilities"] is None
    listed = client.get("/v1/models/numbers/rows").json()["rows"]
    assert [each["prediction"] for each in listed] == numbers.predict(X)[:PAGE].tolist()
    for parameters in ("predicted=1", "order=boundary"):
        refused = client.get(f"/v1/models/numbers/rows?{parameters}")
        assert refused.status_code == 422 and refused.json()["detail"].endswith("Omit it.")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "'x' is missing"),
        ({"x": {"income": 1}}, "lacks"),
        ({"x": {"income": "much", "city": "Oslo", "owner": 1}}, "income is 'much'"),
        ({"x": {"income": 1, "city": "Oslo", "owner": 1}, "y": 2}, "unknown member 'y'"),
        ({"x": [[1]]}, "x has an invalid value"),
    ],
)
def test_a_bad_row_is_refused_in_a_sentence(loans, body, words):
    told = loans[2].post("/v1/models/loans/predict", json=body)
    assert told.status_code == 422 and words in told.json()["detail"]


def test_rows_are_found(loans):
    X, model, client = loans
    predictions = model.predict(X)
    first = rows_of(client)
    assert first["total"] == ROWS and len(first["rows"]) == PAGE
    assert [each["row"] for each in first["rows"]] == [
        plain(X.iloc[at].to_dict()) for at in range(PAGE)
    ]
    refused = np.flatnonzero(predictions == "no")
    last = rows_of(client, predicted="no", offset=PAGE)
    assert last["total"] == len(refused)
    assert [each["index"] for each in last["rows"]] == refused[PAGE : 2 * PAGE].tolist()
    assert {each["prediction"] for each in last["rows"]} == {"no"}
    romans = rows_of(client, text="rome")
    assert romans["total"] == (X["city"] == "Rome").sum()
    assert rows_of(client, text="(")["total"] == 0
    shuffled = [rows_of(client, order="random", seed=seed)["rows"] for seed in (1, 1, 2)]
    assert shuffled[0] == shuffled[1] != shuffled[2]
    nearest = rows_of(client, order="boundary")["rows"]
    leads = np.abs(np.diff(model.predict_proba(X))[:, 0])[[each["index"] for each in nearest]]
    assert (np.diff(leads) >= 0).all()
    told = client.get("/v1/models/loans/rows")
    check_described(client, "/v1/models/{name}/rows", told)
    for wrong in ("order=best", "offset=-1", "seed=x", f"text={'a' * 300}"):
        assert client.get(f"/v1/models/loans/rows?{wrong}").status_code == 422
    told = rows_of(client, index=17)
    assert told["total"] == 1 and told["rows"][0]["index"] == 17
    assert told["rows"][0]["row"] == plain(X.iloc[17].to_dict())
    assert rows_of(client, index=ROWS)["rows"] == []


def in_pipeline(X, y, model):
    steps = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    return make_pipeline(steps, model).fit(X, y)


def small_forest():
    return RandomForestClassifier(9, max_depth=3, random_state=0)


def with_catboost(X, y):
    model = CatBoostClassifier(iterations=6, depth=3, verbose=0, allow_writing_files=False)
    model.fit(X[["income", "owner"]], y)
    model.set_probability_threshold(0.7)
    return model


THRESHOLDS = {
    "probability": lambda X, y: in_pipeline(
        X, y, FixedThresholdClassifier(small_forest(), threshold=0.7)
    ),
    "first class": lambda X, y: in_pipeline(
        X, y,
        FixedThresholdClassifier(small_forest(), threshold=0.3, pos_label="no"),
    ),
    "score": lambda X, y: in_pipeline(
        X, y,
        FixedThresholdClassifier(
            HistGradientBoostingClassifier(max_iter=5), threshold=-0.2,
            response_method="decision_function",
        ),
    ),
    "catboost": with_catboost,
}  # fmt: skip
DISTANCES = {
    "probability": lambda model, X: np.abs(model.predict_proba(X)[:, 1] - 0.7),
    "first class": lambda model, X: np.abs(model.predict_proba(X)[:, 0] - 0.3),
    "score": lambda model, X: np.abs(
        model[-1].estimator_.decision_function(model[0].transform(X)) + 0.2
    ),
    "catboost": lambda model, X: np.abs(model.predict_proba(X)[:, 1] - 0.7),
}


@pytest.mark.parametrize("kind", THRESHOLDS)
def test_the_least_sure_rows_are_those_nearest_to_the_threshold_of_the_model(kind):
    X = table()
    noise = np.random.default_rng(1).random(ROWS) < 0.3
    y = np.where((X["income"].fillna(0) > 40) ^ (X["city"] == "Rome") ^ noise, "yes", "no")
    model = THRESHOLDS[kind](X, y)
    read = X[["income", "owner"]] if kind == "catboost" else X
    client = without_workers(AtHand("loans", Explainer(model, read), {}, read))
    places = [each["index"] for each in rows_of(client, order="boundary")["rows"]]
    distances = DISTANCES[kind](model, read)
    assert distances[places] == pytest.approx(np.sort(distances)[:PAGE])
    leads = np.abs(np.diff(model.predict_proba(read))[:, 0])  # from equal probabilities
    assert (np.diff(leads[places]) < 0).any()


@pytest.mark.parametrize(
    ("classes", "texts"),
    [
        ([False, True], {"True": True, "true": True, "false": False}),
        ([0.0, 1.0], {"1.0": 1, "1": 1, "0": 0}),
        (["", "yes"], {"": "", "yes": "yes"}),
    ],
)
def test_rows_are_found_by_classes_as_python_and_browsers_write_them(classes, texts):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    forest = RandomForestClassifier(5, random_state=0).fit(X, np.where(X["a"] > 0.3, *classes))
    client = without_workers(AtHand("loans", Explainer(forest, X), {}, X))
    for text, label in texts.items():
        found = rows_of(client, predicted=text)
        assert found["total"] == (forest.predict(X) == label).sum() > 0
    assert rows_of(client, predicted="maybe")["total"] == 0


@pytest.mark.parametrize("parameters", [{}, {"predicted": "yes"}, {"order": "boundary"}])
def test_a_table_without_readable_rows_has_none_to_show(loans, parameters):
    X, model, _ = loans
    unreadable = X.assign(income="much")
    client = without_workers(AtHand("loans", Explainer(model, X), {}, unreadable))
    assert rows_of(client, **parameters) == {
        "model": client.get("/v1/models/loans/rows").json()["model"], "total": 0, "rows": []
    }  # fmt: skip


def test_features_are_described_with_their_distributions(loans):
    X, _, client = loans
    told = client.get("/v1/models/loans")
    check_described(client, "/v1/models/{name}", told)
    by_name = {each["name"]: each["distribution"] for each in told.json()["features"]}
    income = by_name["income"]
    assert income["missing"] == pytest.approx(X["income"].isna().mean())
    assert income["quartiles"] == pytest.approx(
        X["income"].quantile([0, 0.25, 0.5, 0.75, 1]).tolist()
    )
    assert sum(income["shares"]) == pytest.approx(1)
    labels = next(each["labels"] for each in told.json()["features"] if each["name"] == "city")
    shares = X["city"].value_counts(normalize=True)
    assert by_name["city"]["shares"] == pytest.approx([shares[label] for label in labels])
    assert by_name["owner"]["shares"] == pytest.approx([1 - X["owner"].mean(), X["owner"].mean()])


def test_a_feature_is_described_with_its_unit(loans):
    X, model, _ = loans
    explainer = Explainer(model, X, features={"income": {"unit": "thousand euros"}})
    told = without_workers(AtHand("loans", explainer, {})).get("/v1/models/loans")
    units = {each["name"]: each["unit"] for each in told.json()["features"]}
    assert units == {"income": "thousand euros", "city": None, "owner": None}


def test_rows_are_hidden_from_clients_with_keys_unless_allowed(loans):
    X, model, _ = loans
    source = AtHand("loans", Explainer(model, X), {}, X)
    keys = frozenset([KEY])
    sent = {"headers": {"authorization": f"Bearer {KEY}"}}
    for settings, shown in (
        ({"keys": keys}, False),
        ({"keys": keys, "show_rows": True}, True),
        ({"show_rows": False}, False),
        ({"behind_gateway": True}, False),
    ):
        client = without_workers(source, **settings)
        headers = sent if "keys" in settings else {}
        told = client.request("GET", "/v1/models/loans/rows", **headers)
        assert told.status_code == (200 if shown else 404)
        if not shown:
            assert "--show-rows" in told.json()["detail"]
        described = client.request("GET", "/v1/models/loans", **headers).json()
        assert described["rows"] is shown
    assert without_workers(source, keys=keys).get("/v1/models/loans/rows").status_code == 401


def test_a_model_without_rows_says_so(loans):
    X, model, _ = loans
    client = without_workers(AtHand("loans", Explainer(model, X), {}))
    described = client.get("/v1/models/loans").json()
    assert described["rows"] is False
    assert {each["distribution"] for each in described["features"]} == {None}
    assert client.get("/v1/models/loans/rows").status_code == 404


def test_no_more_than_so_many_rows_are_shown():
    X = table(MOST + 500)
    model = classifier(X)
    found = rows_of(without_workers(AtHand("loans", Explainer(model, X), {}, X)))
    assert found["total"] == MOST
