"""Targets of several outputs at once, compared with all rows by the model's own predict."""

import itertools
import json
import math
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from typer.testing import CliRunner
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier

from portfolio import (
    AtLeast,
    AtMost,
    Explainer,
    InputError,
    Less,
    Plausibility,
    Probability,
    Retraining,
    UnsupportedModelError,
)
from portfolio.cli.app import app
from portfolio.model.open_file import open_model
from portfolio.questions.codec import decode_settings, encode_settings
from portfolio.service.examples import typical_row
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.support.served import served
from tests.support.whole_grids import compare, costs, every_row, whole_table, with_gaps

pytestmark = pytest.mark.usefixtures("forked_children")

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 16))]
FEW = {"n_estimators": 4, "max_depth": 3}
CLASSIFIERS = {
    "forest": lambda: RandomForestClassifier(**FEW, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(8, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "one forest each": lambda: MultiOutputClassifier(CLASSIFIERS["forest"]()),
    "one boosting each": lambda: MultiOutputClassifier(GradientBoostingClassifier(**FEW)),
    "one xgboost each": lambda: MultiOutputClassifier(XGBClassifier(**FEW, n_jobs=1)),
    "one lightgbm each": lambda: MultiOutputClassifier(
        LGBMClassifier(n_estimators=4, min_child_samples=5, verbose=-1, n_jobs=1)
    ),
}
VECTORS = {"multi_strategy": "multi_output_tree"}
WRITES_NO_FILES = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
LABELLING = {  # each output is 0 or 1
    "xgboost": lambda: XGBClassifier(**FEW, n_jobs=1),
    "xgboost vectors": lambda: XGBClassifier(**FEW, **VECTORS, n_jobs=1),
    "xgboost forests": lambda: XGBRFClassifier(**FEW, n_jobs=1),
    "catboost": lambda: CatBoostClassifier(
        6, depth=3, loss_function="MultiLogloss", **WRITES_NO_FILES
    ),
    "catboost shares": lambda: CatBoostClassifier(
        6, depth=3, loss_function="MultiCrossEntropy", **WRITES_NO_FILES
    ),
}
CLASSIFIERS |= LABELLING
REGRESSORS = {
    "xgboost": lambda: XGBRegressor(**FEW, n_jobs=1),
    "xgboost vectors": lambda: XGBRegressor(**FEW, **VECTORS, n_jobs=1),
    "xgboost dart": lambda: XGBRegressor(**FEW, booster="dart", rate_drop=0.5, n_jobs=1),
    "catboost": lambda: CatBoostRegressor(
        6, depth=3, loss_function="MultiRMSE", grow_policy="Lossguide", **WRITES_NO_FILES
    ),
    "forest": lambda: RandomForestRegressor(**FEW, random_state=0),
    "tree": lambda: DecisionTreeRegressor(max_depth=4, random_state=0),
    "one boosting each": lambda: MultiOutputRegressor(GradientBoostingRegressor(**FEW)),
}
NAMES = ("fraud", "level", "churn")


def labels_of(X, score, seed):
    """Return labels of three outputs, of which one has three classes, (n_rows, 3)."""
    noise = np.random.default_rng(seed).normal(0, 2, len(X))
    other = X["b"].fillna(3) - X["c"] + noise
    return np.c_[score > 3, np.digitize(score + noise, [1, 5]), other > 0].astype(int)


def fitted(name, X, score, seed):
    """Return the classifier of a name, fitted to three outputs."""
    labels = labels_of(X, score, seed)
    return CLASSIFIERS[name]().fit(X, labels.clip(max=1) if name in LABELLING else labels)


def check_labels(model, X, seed, queries=3):
    """Compare answers for one to three outputs with the best of all rows; return their number."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer, rows = Explainer(model, X, outputs=NAMES), every_row(X)
        predicted = np.asarray(model.predict(rows))
        for place in rng.choice(len(X), queries, replace=False):
            cost = costs(rows, X.iloc[place])
            for count in (1, 2, 3):
                chosen = rng.permutation(3)[:count].tolist()
                target = {at: int(rng.choice(np.unique(predicted[:, at]))) for at in chosen}
                holds = [predicted[:, at] == label for at, label in target.items()]
                named = {NAMES[at]: label for at, label in target.items()}
                result = explainer.explain(X.iloc[[place]], target=named)
                compare(result, cost[np.all(holds, axis=0)].min(initial=math.inf))
                assert result.target == named
                if result.status == "optimal":
                    answer = np.asarray(model.predict(result.counterfactual))[0]
                    assert all(answer[at] == label for at, label in target.items())
    return 3 * queries


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_answers_reach_the_targets_of_all_outputs(name, seed):
    X, score = whole_table(seed)
    assert check_labels(fitted(name, X, score, seed), X, seed) == 9


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["forest", "one xgboost each", "xgboost vectors", "catboost"])
def test_models_of_several_outputs_may_end_pipelines(name, seed):
    X, score = whole_table(seed, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    labels = labels_of(X, score, seed)
    labels = labels.clip(max=1) if name in LABELLING else labels
    model = make_pipeline(columns, CLASSIFIERS[name]()).fit(X, labels)
    assert check_labels(model, X, seed) == 9


@pytest.mark.slow
def test_members_may_have_steps_and_categories():
    X, score = whole_table(3, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    inner = MultiOutputClassifier(make_pipeline(columns, CLASSIFIERS["forest"]()))
    assert check_labels(inner.fit(X, labels_of(X, score, 3)), X, 3) == 9
    X["kind"] = X["kind"].astype("category")
    own = MultiOutputClassifier(XGBClassifier(**FEW, n_jobs=1, enable_categorical=True))
    assert check_labels(own.fit(X, labels_of(X, score, 3)), X, 3) == 9


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["xgboost", "catboost"])
def test_a_library_may_read_categories_itself(name, seed):
    X, score = whole_table(seed, categories=True)
    labels = labels_of(X, score, seed).clip(max=1)
    model = LABELLING[name]()
    if name == "xgboost":
        X["kind"] = X["kind"].astype("category")
        model.set_params(enable_categorical=True)
    else:
        model.set_params(cat_features=["kind"], one_hot_max_size=9)
    assert check_labels(model.fit(X, labels), X, seed) == 9


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_a_probability_threshold_of_catboost_is_that_of_each_output(share):
    X, score = whole_table(4)
    model = fitted("catboost", X, score, 4)
    model.set_probability_threshold(share)
    assert check_labels(model, X, 4) == 9


@pytest.mark.parametrize("library", ["xgboost", "catboost"])
def test_quantiles_that_one_model_predicts_are_outputs(library):
    X, score = whole_table(6)
    shares = (0.1, 0.5, 0.9)
    model = (
        XGBRegressor(**FEW, objective="reg:quantileerror", quantile_alpha=shares, n_jobs=1)
        if library == "xgboost"
        else CatBoostRegressor(
            6, depth=3, loss_function="MultiQuantile:alpha=0.1,0.5,0.9", **WRITES_NO_FILES
        )
    ).fit(X, score)
    explainer, rows = Explainer(model, X, outputs=shares), every_row(X)
    low, _, high = model.predict(rows).T
    for place in range(3):
        for least, most in itertools.product(
            np.quantile(low, [0.5, 0.8]), np.quantile(high, [0.7])
        ):
            target = {0.1: AtLeast(float(least)), 0.9: AtMost(float(most))}
            reaching = costs(rows, X.iloc[place])[(low >= least) & (high <= most)]
            compare(
                explainer.explain(X.iloc[[place]], target=target), reaching.min(initial=math.inf)
            )


@pytest.mark.parametrize("name", ["xgboost", "xgboost vectors", "catboost"])
def test_models_that_are_loaded_from_files_keep_their_outputs(name, tmp_path):
    X, score = whole_table(7)
    model = fitted(name, X, score, 7)
    path = tmp_path / ("model.cbm" if name == "catboost" else "model.json")
    model.save_model(path)
    assert check_labels(open_model(path), X, 7) == 9


def test_other_models_of_two_sums_are_not_of_several_outputs():
    X, score = whole_table(1)
    uncertain = CatBoostRegressor(4, loss_function="RMSEWithUncertainty", **WRITES_NO_FILES)
    with pytest.raises(UnsupportedModelError, match="several outputs"):
        Explainer(uncertain.fit(X, score), X)
    booster = fitted("xgboost", X, score, 1).get_booster()
    with pytest.raises(UnsupportedModelError, match="several outputs"):
        Explainer(booster, X)


@pytest.mark.parametrize("name", ["forest", "one xgboost each"])
def test_missing_values_stay(name):
    X, score = whole_table(5)
    gaps = with_gaps(X, 5)
    model = CLASSIFIERS[name]().fit(gaps, labels_of(X, score, 5))
    whole = {name: {"kind": "ordinal", "bounds": [0, 6]} for name in X}
    explainer = Explainer(model, gaps, features=whole, outputs=NAMES)
    place = int(np.flatnonzero(gaps["a"].isna())[0])
    values = [float(value) for value in range(7)]
    rows = pd.DataFrame(itertools.product([np.nan], values, values), columns=X.columns)
    predicted = model.predict(rows)
    for labels in itertools.product((0, 1), (0, 1)):
        result = explainer.explain(
            gaps.iloc[[place]],
            target={"fraud": labels[0], "churn": labels[1]},
            weights={"a": 1000.0},
        )
        reached = (predicted[:, 0] == labels[0]) & (predicted[:, 2] == labels[1])
        best = costs(rows.fillna(-1), gaps.iloc[place].fillna(-1))[reached].min(initial=math.inf)
        if math.isfinite(best):
            compare(result, best)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_of_all_outputs_are_within_limits(name, seed):
    X, score = whole_table(seed)
    model = REGRESSORS[name]().fit(X, np.c_[score, X["b"] - X["c"]])
    explainer, rows = Explainer(model, X), every_row(X)
    predicted = model.predict(rows)
    least, most = float(np.quantile(predicted[:, 0], 0.6)), float(predicted[seed, 1])
    for place in range(3):
        cost = costs(rows, X.iloc[place])
        high, low = predicted[:, 0] >= least, predicted[:, 1] <= most
        for target, reached in (
            ({0: AtLeast(least)}, high),
            ({1: AtMost(most)}, low),
            ({0: AtLeast(least), 1: AtMost(most)}, high & low),
            ({"1": (None, most), "0": AtLeast(least)}, high & low),
        ):
            result = explainer.explain(X.iloc[[place]], target=target)
            compare(result, cost[reached].min(initial=math.inf))


def test_probabilities_of_several_outputs_are_targets():
    X, score = whole_table(2)
    model = CLASSIFIERS["forest"]().fit(X, labels_of(X, score, 2))
    explainer, rows = Explainer(model, X, outputs=NAMES), every_row(X)
    first, _, last = (each[:, 1] for each in model.predict_proba(rows))
    target = {"fraud": Probability(1, at_least=0.6), "churn": Probability(1, at_most=0.4)}
    cost = costs(rows, X.iloc[5])
    best = cost[(first >= 0.6) & (last <= 0.4)].min(initial=math.inf)
    compare(explainer.explain(X.iloc[[5]], target=target), best)


@pytest.fixture(scope="module")
def both():
    X, score = whole_table(1)
    model = RandomForestClassifier(**FEW, random_state=0)
    return model.fit(X, labels_of(X, score, 1)), X


TARGET = {"fraud": 1, "churn": 0}


def reached(model, rows):
    predicted = model.predict(rows)
    return (predicted[:, 0] == 1) & (predicted[:, 2] == 0)


def test_reasons_and_regions_are_about_all_outputs(both):
    model, X = both
    explainer, rows = Explainer(model, X, outputs=NAMES), every_row(X)
    decided = reached(model, rows)
    yes = explainer.explain(X.iloc[[0]], target=TARGET).counterfactual
    reasons = explainer.reasons(yes, target=TARGET)
    equal = {name: (rows[name] == yes[name].iloc[0]).to_numpy() for name in X}
    assert decided[np.all([equal[name] for name in reasons.features], axis=0)].all()
    for name in reasons.features:
        others = [equal[each] for each in reasons.features if each != name]
        assert not decided[np.all(others, axis=0)].all()
    assert "{'fraud': 1, 'churn': 0}" in str(reasons)
    front = explainer.front(X.iloc[[0]], target=TARGET)
    assert (
        front.points[-1].result.distance == explainer.explain(X.iloc[[0]], target=TARGET).distance
    )


@pytest.mark.parametrize("named", [(0, 1), (1, 0)])
def test_questions_about_limits_are_about_all_outputs(named):
    X, score = whole_table(3)
    model = REGRESSORS["forest"]().fit(X, np.c_[score, X["b"] - X["c"]])
    explainer, predicted = Explainer(model, X), model.predict(X)
    limits = np.median(predicted, axis=0)
    target = {at: AtLeast(float(limits[at])) for at in named}
    reaches = predicted >= limits
    first_only = int(np.flatnonzero(reaches[:, named[0]] & ~reaches[:, named[1]])[0])
    reasons = explainer.reasons(X.iloc[[first_only]], target=target)
    assert f"not {{{named[0]}: AtLeast" in " ".join(str(reasons).split())
    rows, reason = every_row(X), list(reasons.features)
    same = (rows[reason] == X.iloc[first_only][reason]).all(axis=1)
    assert not (model.predict(rows[same]) >= limits).all(axis=1).any()
    with pytest.raises(InputError, match="support a target of one output only"):
        explainer.reasons(X.iloc[[int(np.flatnonzero(reaches.all(axis=1))[0])]], target=target)


def test_answers_name_the_output_whose_probability_they_state(both):
    model, X = both
    result = Explainer(model, X, outputs=NAMES).explain(X.iloc[[0]], target=TARGET)
    assert "Probability of 1 of output 'fraud': " in str(result)


def test_batches_sessions_and_maps_answer_as_explain_does(both, tmp_path):
    model, X = both
    explainer, rows = Explainer(model, X, outputs=NAMES), X.iloc[:5]
    alone = [explainer.explain(rows.iloc[[at]], target=TARGET).distance for at in range(5)]
    answers = explainer.explain_batch(rows, target=TARGET, out=tmp_path / "out")
    assert answers["distance"].tolist() == pytest.approx(alone)
    assert answers["target"].tolist() == [TARGET] * 5
    again = explainer.explain_batch(rows, target=TARGET, out=tmp_path / "out", resume=True)
    assert again["distance"].tolist() == answers["distance"].tolist()
    for other in (
        explainer.session(target=TARGET),
        explainer.with_map(target=TARGET, seconds=20.0),
    ):
        more = {} if other.__class__ is not Explainer else {"target": TARGET}
        answered = [other.explain(rows.iloc[[at]], **more).distance for at in range(5)]
        assert answered == pytest.approx(alone)


def test_targets_are_read_from_json_and_the_command_line(both, tmp_path):
    model, X = both
    settings = encode_settings({"target": {"fraud": 1, "churn": AtLeast(2)}})
    plain = json.loads(json.dumps(settings))
    assert decode_settings(plain)["target"] == {"fraud": 1, "churn": AtLeast(2)}
    joblib.dump(model, tmp_path / "model.joblib")
    X.to_csv(tmp_path / "rows.csv", index=False)
    words = ["explain", "--data", str(tmp_path / "rows.csv"), "--trust-pickle", "--json"]
    words += ["--model", str(tmp_path / "model.joblib"), "--row", "0"]
    run = CliRunner().invoke(app, [*words, "--target", "0=1,2=0"])
    assert run.exit_code == 0, run.output
    expected = Explainer(model, X).explain(X.iloc[[0]], target={0: 1, 2: 0})
    assert json.loads(run.output)["distance"] == pytest.approx(expected.distance)
    wrong = CliRunner().invoke(app, [*words, "--target", "1"])
    assert wrong.exit_code != 0 and "Write --target 0=0" in str(wrong.exception)


def test_predict_and_outputs_are_by_name(both):
    model, X = both
    explainer = Explainer(model, X, outputs=NAMES)
    assert explainer.outputs == {"fraud": (0, 1), "level": (0, 1, 2), "churn": (0, 1)}
    assert list(explainer.predict(X.iloc[[3]]).values()) == model.predict(X.iloc[[3]])[0].tolist()
    assert Explainer(model, X).outputs.keys() == {0, 1, 2}


def test_what_does_not_fit_is_said_in_a_sentence(both):
    model, X = both
    explainer, row = Explainer(model, X, outputs=NAMES), X.iloc[[0]]
    for target, words in (
        (None, "has 3 outputs, got target=None"),
        (1, "such as {'fraud': 0}"),
        ({}, "has 3 outputs"),
        ({"frod": 1}, "unknown output 'frod'"),
        ({"fraud": 7}, "output 'fraud': unknown target 7"),
        ({"churn": 0, "fraud": 7}, "output 'fraud': unknown target 7"),
        ({"fraud": AtLeast(1)}, "supports regressors"),
    ):
        with pytest.raises(InputError, match=words):
            explainer.explain(row, target=target)
    plausibility = Plausibility(IsolationForest(n_estimators=5).fit(X))
    for setting, words in (
        ({"also": [model]}, "also does not support models of several outputs"),
        ({"plausibility": plausibility}, "plausibility does not"),
        ({"voting": "hard"}, "voting does not"),
        ({"outputs": ["a", "a", "b"]}, "3 different names"),
        ({"outputs": ["a", "b"]}, "3 different names"),
    ):
        with pytest.raises(InputError, match=words):
            Explainer(model, X, **setting)
    limits = {0: AtLeast(1), 1: Less(by=1)}
    numbers = REGRESSORS["forest"]().fit(X, X[["a", "b"]])
    with pytest.raises(InputError, match=r"output 1: .* target of one output only"):
        Explainer(numbers, X).explain(row, target=limits)
    one = Explainer(CLASSIFIERS["tree"]().fit(X, X["a"] > 3), X)
    with pytest.raises(InputError, match="the model has one output"):
        one.explain(row, target={"fraud": 1})
    chain = ClassifierChain(CLASSIFIERS["tree"]()).fit(X, X[["a", "b"]] > 3)
    with pytest.raises(UnsupportedModelError, match="ClassifierChain"):
        Explainer(chain, X)


def test_questions_about_one_output_say_so(both):
    model, X = both
    explainer, row = Explainer(model, X, outputs=NAMES), X.iloc[0]
    for ask in (
        lambda target: explainer.robustness(row, target),
        lambda target: explainer.reason_codes(row, target),
        lambda target: explainer.explain_robust(row, Retraining(0.9), target),
    ):
        with pytest.raises(InputError, match=r"of one output only, got \{.*\}\. Name one output\."):
            ask(TARGET)
    name = next(iter(TARGET))
    assert explainer.robustness(row, {name: TARGET[name]}).status == "optimal"
    with pytest.raises(InputError, match=r"contrast\(\) supports models of one output only"):
        explainer.contrast(row, X.iloc[1])
    with pytest.raises(UnsupportedModelError, match="of several outputs"):
        explainer.explain_robust(row, Retraining(0.9), {name: TARGET[name]})


@pytest.mark.slow
def test_a_service_answers_for_several_outputs(both):
    model, X = both
    explainer = Explainer(model, X, outputs=NAMES)
    source = AtHand("loans", explainer, typical_row(explainer.features, X))
    body = {"x": X.iloc[0].to_dict(), "target": TARGET}
    with served(Settings(lambda: [source], workers=1, reload_s=0)) as (_, client):
        [described] = client.get("/v1/models").json()["models"]
        assert described["outputs"] == {"fraud": [0, 1], "level": [0, 1, 2], "churn": [0, 1]}
        answer = client.post("/v1/models/loans/explain", json=body).json()["answer"]
        wrong = client.post("/v1/models/loans/explain", json=body | {"target": {"frod": 1}})
        paths = client.get("/openapi.json").json()["paths"]
        request = paths["/v1/models/{name}/reasons"]["post"]["requestBody"]
        example = request["content"]["application/json"]["examples"]["loans"]["value"]
        reasons = client.post("/v1/models/loans/reasons", json=example).json()["answer"]
    expected = explainer.explain(X.iloc[[0]], target=TARGET)
    assert answer["distance"] == pytest.approx(expected.distance)
    assert answer["target"] == TARGET
    assert wrong.status_code == 422 and "unknown output 'frod'" in wrong.text
    assert reasons["status"] == "optimal"


def test_records_about_numbers_contain_no_proof():
    X, score = whole_table(0)
    numbers = REGRESSORS["forest"]().fit(X, np.column_stack([score, X["a"]]))
    explainer = Explainer(numbers, X, outputs=["score", "a"])
    answer = explainer.explain(X.iloc[[0]], target={"a": AtLeast(3), "score": AtMost(4)})
    record = answer.record()
    assert not record.proved and "only classes" in record.why_not
    assert list(record.content["question"]["target"]) == ["a", "score"]


def test_digests_depend_on_the_targets_of_all_outputs(both, tmp_path):
    model, X = both
    explainer, rows = Explainer(model, X, outputs=NAMES), X.iloc[:4]
    for churn in (0, 1):
        target = {"fraud": 1, "churn": churn}
        answers = explainer.explain_batch(rows, target=target, out=tmp_path, resume=churn == 1)
        alone = [explainer.explain(rows.iloc[[at]], target=target).distance for at in range(4)]
        assert answers["distance"].tolist() == pytest.approx(alone)
