"""Stacking with a linear final estimator, compared with all rows by the model's own predict."""

import math

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import Explainer, Probability, Score
from tests.portfolio.model.test_thresholds import MODELS, SEEDS
from tests.support.whole_grids import (
    check_classes,
    check_gaps,
    check_predictions,
    compare,
    costs,
    every_row,
    probabilities,
    whole_table,
    with_gaps,
)
from tests.support.wrapped_models import REGRESSORS

LIMITS = {2: [3], 3: [1, 5]}
FINAL = (LogisticRegression, RidgeClassifier, LinearSVC)
TWO_CLASSES = ("calibrated", "calibrated once", "steep boosting")
NAMES = [name for name in MODELS if name not in ("two sums", "votes")]
CASES = [(name, n) for name in NAMES for n in LIMITS if n == 2 or name not in TWO_CLASSES]


def stacked(members, final, **options):
    named = [(str(at), MODELS[name]()) for at, name in enumerate(members)]
    return StackingClassifier(named, final, cv=2, **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_classes_are_those_of_the_final_estimator(name, n_classes, seed):
    X, score = whole_table(seed)
    at = NAMES.index(name)
    other = NAMES[(at + 1 + seed) % 4]
    final = FINAL[(at + seed) % 3]()
    model = stacked((name, other), final).fit(X, np.digitize(score, LIMITS[n_classes]))
    assert check_classes(model, X, seed, 2) == 2 * (n_classes - 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_are_those_of_the_final_estimator(name, seed):
    X, score = whole_table(seed)
    other = REGRESSORS[list(REGRESSORS)[seed % len(REGRESSORS)]]()
    final = [None, LinearRegression(), Lasso(alpha=0.01)][seed % 3]
    members = [("one", REGRESSORS[name]()), ("two", other), ("three", "drop")]
    assert (
        check_predictions(StackingRegressor(members, final, cv=2).fit(X, score), X, seed, 2, 1e-9)
        == 8
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("members", [("forest", "tree"), ("forest", "boosting")])
def test_numbers_are_those_of_the_final_estimator(members, seed):
    """Limit a sigmoid of one sum, or a score of several sums."""
    X, score = whole_table(seed)
    model = stacked(members, LogisticRegression()).fit(X, (score > 3).astype(int))
    explainer, rows = Explainer(model, X), every_row(X)
    cost, scores = costs(rows, X.iloc[3]), model.decision_function(rows)
    shares = model.predict_proba(rows)[:, 1]
    low, high = np.quantile(scores, [0.3, 0.8])
    goals = [(Score(low=high), scores >= high), (Score(high=low), scores <= low)]
    low, high = np.quantile(shares, [0.3, 0.8])
    goals += [
        (Probability(1, at_least=high), shares >= high),
        (Probability(1, at_most=low), shares <= low),
        (Probability(0, at_least=1 - high, at_most=1 - low), (shares >= low) & (shares <= high)),
        (Probability(1, at_least=0.0), shares >= 0.0),
        (Probability(1, at_least=1.0), shares >= 1.0),
    ]
    for goal, good in goals:
        best = cost[good].min(initial=math.inf)
        compare(explainer.explain(X.iloc[[3]], target=goal), best)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_probability_of_boosted_members_is_reached_to_the_last_bit(seed):
    X, score = whole_table(seed, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    inner = stacked(("xgboost", "histograms"), LogisticRegression(C=10.0))
    model = make_pipeline(columns, inner).fit(X, (score > 3).astype(int))
    rows, explainer = every_row(X), Explainer(model, X)
    cost, shares = costs(rows, X.iloc[5]), model.predict_proba(rows)[:, 1]
    for share in (0.4, 0.9):
        limit = float(np.quantile(shares, share, method="nearest"))
        own = probabilities(model, rows, 1, limit, cost)
        for target, good in (
            (Probability(1, at_least=limit), own >= limit),
            (Probability(1, at_most=limit), own <= limit),
        ):
            best = cost[good].min(initial=math.inf)
            compare(explainer.explain(X.iloc[[5]], target=target), best)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
@pytest.mark.parametrize("positive", [0, 1])
def test_thresholds_around_boosted_members(positive, method, seed):
    X, score = whole_table(seed)
    y = (score > 3).astype(int)
    inner = stacked(("forest", "boosting"), LogisticRegression()).fit(X, y)
    limit = 0.4 if method == "predict_proba" else 0.3
    model = FixedThresholdClassifier(
        FrozenEstimator(inner), threshold=limit, pos_label=positive, response_method=method
    )
    assert check_classes(model.fit(X, y), X, seed, 2) == 2
    rows, cost = every_row(X), costs(every_row(X), X.iloc[2])
    best = cost[inner.predict_proba(rows)[:, 1] >= 0.7].min(initial=math.inf)
    compare(Explainer(model, X).explain(X.iloc[[2]], target=Probability(1, at_least=0.7)), best)


SEVERAL = {
    "softmax": LogisticRegression,
    "scaled": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.5)),
    "ratio": lambda: SGDClassifier(loss="log_loss", random_state=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SEVERAL)
def test_probabilities_of_several_classes_are_softmaxes_or_ratios_of_curves(name, seed):
    X, score = whole_table(seed, columns="ab", categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    members = ("boosting", ("forest", "xgboost", "histograms")[seed % 3])
    model = make_pipeline(columns, stacked(members, SEVERAL[name]()))
    model.fit(X, np.digitize(score, [4, 7]))
    assert check_classes(model, X, seed, 1) == 2
    rows, explainer = every_row(X), Explainer(model, X)
    cost, shares = costs(rows, X.iloc[5]), model.predict_proba(rows)
    for label, share in ((0, 0.2), (0, 1.0), (1, 0.2), (2, 1.0)):
        own = shares[:, label]
        above = limit = float(np.quantile(own, share, method="nearest"))
        if share == 1.0:
            near = np.flatnonzero(np.abs(own - limit) < 1e-12)
            own[near] = [model.predict_proba(rows.iloc[[at]])[0, label] for at in near]
            above = float(np.nextafter(own.max(), 1.0))
        else:
            own = probabilities(model, rows, label, limit, cost)
        for target, good in (
            (Probability(label, at_least=above), own >= above),
            (Probability(label, at_most=limit), own <= limit),
            (
                Probability(label, at_least=0.9 * limit, at_most=limit),
                (own >= 0.9 * limit) & (own <= limit),
            ),
        ):
            best = cost[good].min(initial=math.inf)
            compare(explainer.explain(X.iloc[[5]], target=target), best)


def test_probabilities_that_are_not_supported_are_refused():
    X, score = whole_table(5)
    three = np.digitize(score, [1, 5])
    clipped = SGDClassifier(loss="modified_huber", random_state=0)
    for model, words in (
        (stacked(("boosting",), clipped).fit(X, three), "no probabilities that follow.*Use"),
        (stacked(("boosting",), RidgeClassifier()).fit(X, three), "has no probabilities. Use"),
    ):
        with pytest.raises(InputError, match=words):
            Explainer(model, X).explain(X.iloc[[3]], target=Probability(1, at_least=0.6))


SCALERS = {
    "standard": [StandardScaler()],
    "centred": [StandardScaler(with_std=False), MinMaxScaler((-1, 2))],
    "robust": [RobustScaler(), MaxAbsScaler()],
    "nested": [make_pipeline(MinMaxScaler(), make_pipeline(None, StandardScaler()))],
    "unscaled": ["passthrough", RobustScaler(with_centering=False, with_scaling=False)],
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("members", [("forest", "tree"), ("xgboost", "two sums"), ("boosting",)])
@pytest.mark.parametrize("name", SCALERS)
def test_final_estimators_may_be_behind_scalers(name, members, seed):
    X, score = whole_table(seed)
    at = seed + list(SCALERS).index(name)
    final = (LogisticRegression(), RidgeClassifier(), SGDClassifier(loss="log_loss"), Perceptron())
    several = members == ("forest", "tree") and at % 2
    model = stacked(members, make_pipeline(*SCALERS[name], final[at % 4]))
    model.fit(X, np.digitize(score, LIMITS[3 if several else 2]))
    assert check_classes(model, X, seed, 2) == (4 if several else 2)
    regression = [("one", RandomForestRegressor(4)), ("two", GradientBoostingRegressor())]
    final = make_pipeline(*SCALERS[name], Lasso(alpha=0.01))
    model = StackingRegressor(regression, final, cv=2).fit(X, score)
    assert check_predictions(model, X, seed, 1, 1e-9) == 4


OWNERS = {
    "voting": lambda stack: VotingClassifier(
        [("stack", stack), ("xgboost", MODELS["xgboost"]())], voting="soft", weights=[2, 1]
    ),
    "bagging": lambda stack: BaggingClassifier(stack, 2, random_state=0),
    "stacking": lambda stack: StackingClassifier(
        [("stack", stack), ("boosting", MODELS["boosting"]())], LogisticRegression(C=10), cv=2
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OWNERS)
def test_stacked_boosting_is_a_member(name, seed):
    X, score = whole_table(seed, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    stack = stacked(("boosting", "lightgbm"), LogisticRegression(C=5))
    model = make_pipeline(columns, OWNERS[name](stack)).fit(X, (score > 3).astype(int))
    assert check_classes(model, X, seed, 2) == 2
    explainer, rows = Explainer(model, X), every_row(X)
    cost, shares = costs(rows, X.iloc[4]), model.predict_proba(rows)
    for label, share in ((0, 0.2), (1, 0.9)):
        limit = float(np.quantile(shares[:, label], share, method="nearest"))
        own = probabilities(model, rows, label, limit, cost, blur=1e-9)
        for target, good in (
            (Probability(label, at_least=limit), own >= limit),
            (Probability(label, at_most=limit), own <= limit),
        ):
            best = cost[good].min(initial=math.inf)
            compare(explainer.explain(X.iloc[[4]], target=target), best)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", LIMITS)
def test_stacked_forests_are_members_of_soft_voting(n_classes):
    X, score = whole_table(4)
    y = np.digitize(score, LIMITS[n_classes])
    final = make_pipeline(StandardScaler(), LogisticRegression())
    members = [("stack", stacked(("forest", "tree"), final)), ("boosting", MODELS["boosting"]())]
    model = VotingClassifier(members, voting="soft").fit(X, y)
    assert check_classes(model, X, 4, 2) == 2 * (n_classes - 1)
    rows, cost = every_row(X), costs(every_row(X), X.iloc[3])
    shares = model.predict_proba(rows)[:, 1]
    limit = float(np.quantile(shares, 0.9)) + 1e-9
    result = Explainer(model, X).explain(X.iloc[[3]], target=Probability(1, at_least=limit))
    compare(result, cost[shares >= limit].min())


@pytest.mark.slow
def test_members_and_owners_may_be_pipelines():
    X, score = whole_table(4, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    members = [(name, make_pipeline(columns, MODELS[name]())) for name in ("forest", "boosting")]
    plain, y = X.drop(columns="kind"), (score > 3).astype(int)
    inner = StackingClassifier(members, LogisticRegression(), cv=2)
    outer = make_pipeline(columns, stacked(("forest", "xgboost"), LogisticRegression()))
    for model, frame in ((inner, X), (outer, X), (stacked(("tree",), LinearSVC()), plain)):
        assert check_classes(model.fit(frame, y), frame, 4, 2) == 2


@pytest.mark.slow
def test_rows_with_gaps_are_answered():
    X, score = whole_table(5)
    X = with_gaps(X, 5)
    members = [("one", XGBClassifier(n_estimators=4, max_depth=3)), ("two", MODELS["histograms"]())]
    model = StackingClassifier(members, LogisticRegression(), cv=2).fit(X, (score > 3).astype(int))
    assert check_gaps(model, X) == 2


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_forests_of_rows_with_gaps_join_models_of_other_input_types(seed):
    """A forest whose split parts missing from other values sends every number left."""
    X, score = whole_table(seed)
    X = with_gaps(X, seed)
    y = np.where(X["a"].isna(), 9.0, score)
    members = [
        ("histograms", HistGradientBoostingRegressor(max_iter=4, max_depth=2)),
        ("forest", RandomForestRegressor(3, max_depth=3, random_state=0)),
    ]
    model = StackingRegressor(members, cv=2).fit(X, y)
    trees = [each.tree_ for each in model.estimators_[1].estimators_]
    assert any(np.isinf(tree.threshold).any() for tree in trees)
    assert check_gaps(model, X) == 2


def test_what_is_no_sum_of_leaves_is_refused():
    X, score = whole_table(5)
    y, forest = (score > 3).astype(int), ("forest",)
    for model, words in (
        (
            stacked(forest, RandomForestClassifier(3)),
            "ends with a RandomForestClassifier.*Logistic",
        ),
        (stacked(forest, LogisticRegression(), passthrough=True), "Set passthrough=False"),
        (
            stacked(forest, make_pipeline(KBinsDiscretizer(3), LogisticRegression())),
            "a step of the final estimator is a KBinsDiscretizer",
        ),
        (
            stacked(forest, make_pipeline(MinMaxScaler(clip=True), LogisticRegression())),
            "a step of the final estimator is a MinMaxScaler.*without clip",
        ),
        (
            VotingClassifier(
                [("a", OWNERS["stacking"](stacked(("boosting",), LogisticRegression())))],
                voting="soft",
            ),
            "nested too deeply. Leave out members of the StackingClassifier that are stacked",
        ),
        (stacked(forest, LogisticRegression(), stack_method="predict"), "adds up outputs"),
        (
            StackingRegressor([("one", GradientBoostingRegressor())], RandomForestRegressor(3)),
            "ends with a RandomForestRegressor.*LinearRegression",
        ),
    ):
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model.fit(X, y), X)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(stacked(forest, LogisticRegression()), X)
