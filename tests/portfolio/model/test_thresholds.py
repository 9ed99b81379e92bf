"""Answers under thresholds that are set or tuned, compared with all rows by the model's predict."""

import math

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from encoders.core.errors import UnsupportedModelError
from portfolio import Explainer, HardVotingClassifier, Probability, Score
from tests.support.whole_grids import (
    check_classes,
    check_gaps,
    compare,
    costs,
    every_row,
    whole_table,
    with_gaps,
)

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 12))]
FEW = {"n_estimators": 5, "max_depth": 3}
PLAIN = {
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: RandomForestClassifier(**FEW, random_state=0),
    "grown forest": lambda: ExtraTreesClassifier(10, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=5, max_depth=2),
    "steep boosting": lambda: GradientBoostingClassifier(
        n_estimators=5, max_depth=2, loss="exponential"
    ),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=3),
    "xgboost": lambda: XGBClassifier(**FEW, n_jobs=1),
    "two sums": lambda: XGBClassifier(**FEW, n_jobs=1, objective="multi:softprob", num_class=2),
    "lightgbm": lambda: LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1),
    "catboost": lambda: CatBoostClassifier(
        iterations=5, depth=3, verbose=0, allow_writing_files=False
    ),
    "adaboost": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4),
}
OWNERS = {
    "bagging": lambda: BaggingClassifier(DecisionTreeClassifier(max_depth=3), 5, random_state=0),
    "bagged boosting": lambda: BaggingClassifier(XGBClassifier(**FEW), 3, random_state=0),
    "voting": lambda: VotingClassifier(
        [("forest", PLAIN["forest"]()), ("boosting", PLAIN["boosting"]())], voting="soft"
    ),
    "votes": lambda: HardVotingClassifier(PLAIN["forest"]()),
    "calibrated": lambda: CalibratedClassifierCV(PLAIN["forest"](), cv=2),
    "calibrated once": lambda: CalibratedClassifierCV(PLAIN["boosting"](), cv=2, ensemble=False),
    "search": lambda: GridSearchCV(PLAIN["forest"](), {"max_depth": [2, 4]}, cv=2),
}
MODELS = PLAIN | OWNERS
ONE_SCORE = [name for name in PLAIN if name != "two sums"]  # its own Score is that of class 1


def data(seed, text, **options):
    X, score = whole_table(seed, **options)
    y = score > 3
    return X, np.where(y, "yes", "no") if text else y.astype(int)


def fitted(name, X, y, threshold="auto", **options):
    """Return the model with a threshold, without training it for the threshold."""
    inner = MODELS[name]().fit(X, y)
    options = {"threshold": threshold} | options
    return FixedThresholdClassifier(FrozenEstimator(inner), **options).fit(X, y)


def reached(model, X, positive, method="predict_proba"):
    """Return a response that some of all rows have, to the last bit."""
    own = getattr(model, method)(every_row(X))
    own = own[:, positive] if own.ndim == 2 else own if positive == 1 else -own
    own = np.unique(own.astype(np.float64))
    return float(own[len(own) * 2 // 3])


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MODELS)
def test_classes_are_those_beyond_the_threshold(name, seed):
    X, y = data(seed, text=name not in ("xgboost", "two sums", "bagged boosting"))
    labels, inner = np.unique(y).tolist(), MODELS[name]().fit(X, y)
    tried = check_classes(fitted(name, X, y, 0.35), X, seed, 2)
    for positive, label in enumerate(labels):
        exact = reached(inner, X, positive)
        model = fitted(name, X, y, exact, pos_label=label)
        tried += check_classes(model, X, seed, 2)
    assert tried == 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["boosting", "steep boosting", "histograms", "adaboost"])
def test_classes_are_those_beyond_a_score(name, seed):
    X, y = data(seed, text=True)
    own = {"response_method": "decision_function"}
    for positive, label in enumerate(("no", "yes")):
        exact = reached(MODELS[name]().fit(X, y), X, positive, "decision_function")
        for threshold in ("auto", exact):
            model = fitted(name, X, y, threshold, pos_label=label, **own)
            assert check_classes(model, X, seed, 2) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["forest", "boosting", "xgboost", "calibrated", "voting"])
def test_probabilities_are_those_of_the_estimator(name, seed):
    X, y = data(seed, text=name != "xgboost")
    model = fitted(name, X, y, 0.4, pos_label=np.unique(y).tolist()[seed % 2])
    explainer, rows = Explainer(model, X), every_row(X)
    numbers, cost = model.predict_proba(rows).astype(np.float64), costs(rows, X.iloc[3])
    for output, label in enumerate(model.classes_.tolist()):
        own = numbers[:, output]
        low, high = np.quantile(own, [0.3, 0.8])
        for goal, good in (
            (Probability(label, at_least=high), own >= high),
            (Probability(label, at_most=low), own <= low),
        ):
            best = cost[good].min(initial=math.inf)
            compare(explainer.explain(X.iloc[[3]], target=goal), best)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [*ONE_SCORE, "bagging", "votes", "search"])
def test_scores_are_those_of_the_estimator(name, seed):
    X, y = data(seed, text=name not in ("xgboost", "two sums"))
    inner = MODELS[name]().fit(X, y)
    limit = reached(inner, X, seed % 2)
    model = fitted(name, X, y, limit, pos_label=np.unique(y).tolist()[seed % 2])
    bare, explainer = Explainer(inner, X), Explainer(model, X)
    for place in (3, 8):
        now = float(bare.explain(X.iloc[[place]], target=Score(low=-1e9)).score)
        for step in (0.01, 0.1, 0.4):
            for goal in (Score(low=now + step), Score(high=now - step)):
                one, two = (
                    each.explain(X.iloc[[place]], target=goal) for each in (bare, explainer)
                )
                assert one.status == two.status in ("optimal", "infeasible")
                assert one.distance == two.distance


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["forest", "boosting", "xgboost"])
def test_tuned_thresholds_are_found_through_pipelines(name, seed):
    X, y = data(seed, text=False, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    for model in (
        TunedThresholdClassifierCV(make_pipeline(columns, MODELS[name]()), scoring="f1", cv=2),
        make_pipeline(columns, TunedThresholdClassifierCV(MODELS[name](), scoring="f1", cv=2)),
        TunedThresholdClassifierCV(
            make_pipeline(columns, MODELS[name]()),
            scoring=make_scorer(f1_score, pos_label=0), cv=2, random_state=seed,
        ),
    ):  # fmt: skip
        assert check_classes(model.fit(X, y), X, seed, 2) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["histograms", "xgboost", "lightgbm"])
def test_rows_with_gaps_are_answered(name):
    X, y = data(5, text=False)
    X = with_gaps(X, 5)
    assert check_gaps(fitted(name, X, y, 0.3), X) == 2


def test_thresholds_within_thresholds_and_within_votes_are_read():
    X, y = data(7, text=True)
    twice = FixedThresholdClassifier(fitted("forest", X, y, 0.3), threshold=0.6).fit(X, y)
    assert check_classes(twice, X, 7, 2) == 2
    one = FixedThresholdClassifier(MODELS["forest"](), threshold=0.3)
    members = [("one", one), ("two", MODELS["boosting"]())]
    for voting in ("soft", "hard"):
        assert check_classes(VotingClassifier(members, voting=voting).fit(X, y), X, 7, 2) == 2


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("forest", {"threshold": 1.5}, "predicts the same class for every row"),
        ("forest", {"threshold": 1e30}, "threshold 1e+30"),
        ("voting", {"threshold": 1.5}, "predicts the same class for every row"),
        ("boosting", {"threshold": math.inf}, "threshold inf"),
        ("boosting", {"threshold": -0.1}, "predicts the same class for every row"),
        ("voting", {"threshold": 0.0}, "Set one above 0 and up to 1"),
        ("forest", {"response_method": "decision_function"}, "Set response_method to 'auto'"),
        ("forest", {"pos_label": "maybe"}, "Set pos_label to one of them"),
    ],
)
def test_thresholds_that_decide_nothing_are_refused(name, options, words):
    X, y = data(0, text=True)
    with pytest.raises(UnsupportedModelError) as caught:
        model = FixedThresholdClassifier(MODELS[name]()).fit(X, y)
        Explainer(model.set_params(**options), X)
    assert words in str(caught.value)


@pytest.mark.parametrize("options", [{}, {"response_method": "decision_function"}])
def test_a_class_that_no_row_reaches_is_proved_infeasible(options):
    X, y = data(0, text=True)
    model = fitted("boosting", X, y, 0.999, **options)
    assert set(model.predict(every_row(X))) == {"no"}
    assert Explainer(model, X).explain(X.iloc[[3]], target="yes").status == "infeasible"


def test_answers_under_other_thresholds_have_other_keys():
    X, y = data(0, text=True)
    made = [fitted(name, X, y, at) for name in ("forest", "voting") for at in (0.3, 0.6)]
    assert len({Explainer(model, X).digest for model in made}) == 4
