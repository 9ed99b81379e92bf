"""Scores and predictions are those of the user's own object, whatever its objective and booster."""

import itertools

import numpy as np
import pandas as pd
import pytest

from counterfolio import AtLeast, Explainer, Score

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

rng = np.random.default_rng(7)
ROOMS = pd.DataFrame({"size": rng.integers(20, 60, 300), "rooms": rng.integers(1, 7, 300)})
EVERY = pd.DataFrame(list(itertools.product(range(20, 60), range(1, 7))), columns=ROOMS.columns)
LARGE = (ROOMS["size"] + 4 * ROOMS["rooms"] > 55).astype(int)
THIRDS = ROOMS["size"] // 14 % 3


def cost_from(row):
    """The default cost of every row that there is."""
    return sum((EVERY[c] - row[c]).abs() / (ROOMS[c].max() - ROOMS[c].min()) for c in EVERY)


def two(scores, labels):
    p = 1 / (1 + np.exp(-scores))
    return p - labels, p * (1 - p)


def three(scores, labels):
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return p - np.eye(3)[np.asarray(labels).astype(int)], 2 * p * (1 - p)


def booster(loss, labels, **more):
    own = {"objective": lambda s, data: loss(s, data.get_label()), "verbose": -1, "num_leaves": 5}
    return lightgbm.train(own | more, lightgbm.Dataset(ROOMS, labels), 6)


def estimator(kind, loss, labels):
    return kind(n_estimators=6, num_leaves=5, objective=loss, verbose=-1).fit(ROOMS, labels)


def of_text(model, path):
    model.save_model(path)
    return lightgbm.Booster(model_file=path)


ONE_SCORE = {
    "booster": lambda path: booster(two, LARGE),
    "dart": lambda path: booster(two, LARGE, boosting="dart", drop_rate=0.5),
    "file": lambda path: of_text(booster(two, LARGE), path),
    "classifier": lambda path: estimator(lightgbm.LGBMClassifier, lambda y, s: two(s, y), LARGE),
    "regressor": lambda path: estimator(lightgbm.LGBMRegressor, lambda y, s: two(s, y), LARGE),
}


@pytest.mark.filterwarnings("ignore:Cannot compute class probabilities")
@pytest.mark.parametrize("make", ONE_SCORE.values(), ids=ONE_SCORE)
def test_a_custom_objective_of_lightgbm_predicts_its_raw_sum(make, tmp_path):
    model = make(tmp_path / "model.txt")
    given = model.predict(EVERY)
    explainer = Explainer(model, ROOMS)
    for i, level in itertools.product((0, 1), np.quantile(given, [0.4, 0.9, 1.0])):
        result = explainer.explain(ROOMS.iloc[[i]], target=AtLeast(float(level)))
        assert result.status == "optimal"
        assert result.distance == pytest.approx(cost_from(ROOMS.iloc[i])[given >= level].min())


THREE_SCORES = {
    "booster": lambda path: booster(three, THIRDS, num_class=3),
    "file": lambda path: of_text(booster(three, THIRDS, num_class=3), path),
    "classifier": lambda path: estimator(lightgbm.LGBMClassifier, lambda y, s: three(s, y), THIRDS),
}


@pytest.mark.filterwarnings("ignore:Cannot compute class probabilities")
@pytest.mark.parametrize("make", THREE_SCORES.values(), ids=THREE_SCORES)
def test_a_custom_objective_of_several_scores_decides_by_the_largest(make, tmp_path):
    model = make(tmp_path / "model.txt")
    best = np.asarray(model.predict(EVERY)).argmax(axis=1)
    explainer = Explainer(model, ROOMS)
    for i, label in itertools.product((0, 1), explainer.classes):
        result = explainer.explain(ROOMS.iloc[[i]], target=label)
        assert result.status == "optimal"
        assert result.distance == pytest.approx(cost_from(ROOMS.iloc[i])[best == label].min())


def forest(kind, **more):
    chosen = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1, "rate_drop": 0.5} | more
    return kind(booster="dart", **chosen).fit(ROOMS, LARGE)


DART = {
    "classifier": lambda: forest(xgboost.XGBClassifier),
    "extreme base": lambda: forest(xgboost.XGBClassifier, base_score=0.999),
    "parallel trees": lambda: forest(xgboost.XGBClassifier, num_parallel_tree=3, subsample=0.5),
    "far regressor": lambda: forest(xgboost.XGBRegressor, base_score=1000.0),
}


@pytest.mark.parametrize("make", DART.values(), ids=DART)
def test_scores_of_dart_are_those_of_the_models_own_predict(make):
    model = make()
    given = model.predict(EVERY, output_margin=True)
    explainer = Explainer(model, ROOMS)
    levels = np.unique(given)
    for level in levels[:: max(1, levels.size // 4)]:
        for low in (level, np.nextafter(level, np.float32(np.inf))):
            result = explainer.explain(ROOMS.iloc[[0]], target=Score(low=float(low)))
            reached = given >= low
            if not reached.any():
                assert result.status == "infeasible"
                continue
            assert result.status == "optimal"
            best = cost_from(ROOMS.iloc[0])[reached].min()
            assert result.distance == pytest.approx(best, abs=1e-12)
