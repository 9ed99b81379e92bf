"""Regressors of a transformed target: answers are the best by the model's own predictions."""

import math
import warnings

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from encoders.core.errors import UnsupportedModelError
from encoders.readers.transformed import inverse_link
from encoders.trees.arithmetic import SINGLE, Link
from portfolio import AtLeast, Explainer
from tests.support.whole_grids import check_predictions, whole_table
from tests.support.wrapped_models import REGRESSORS


def plain_exponential(raw):
    return np.exp(raw) - 1


def plain_logarithm(values):
    return np.log(values + 1)


def steps(raw):
    return np.round(raw)


def clipped(raw):
    return np.clip(raw, 3, 6)


FUNCTIONS = {
    "log1p": {"func": np.log1p, "inverse_func": np.expm1},
    "log": {"func": np.log, "inverse_func": np.exp},
    "own": {"func": plain_logarithm, "inverse_func": plain_exponential},
    "cube root": {"func": np.cbrt, "inverse_func": lambda raw: raw**3},
    "negative": {"func": np.negative, "inverse_func": np.negative},
    "reciprocal": {"func": np.reciprocal, "inverse_func": np.reciprocal},
    "falling": {"func": lambda y: -np.log(y), "inverse_func": lambda raw: np.exp(-raw)},
    "rounded": {"func": np.positive, "inverse_func": steps},
    "clipped": {"func": np.positive, "inverse_func": clipped},
    "standard": {"transformer": StandardScaler()},
    "range": {"transformer": MinMaxScaler((-1, 1))},
    "power": {"transformer": PowerTransformer()},
    "box-cox": {"transformer": PowerTransformer("box-cox")},
    "quantiles": {"transformer": QuantileTransformer(n_quantiles=20, output_distribution="normal")},
}


def fitted(regressor, given, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TransformedTargetRegressor(regressor, check_inverse=False, **given).fit(X, y)


def positive_table(seed):
    X, score = whole_table(seed)
    return X, (score - score.min()).to_numpy() + 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_limits_are_those_of_the_model_itself(name):
    seed = list(FUNCTIONS).index(name)
    X, y = positive_table(seed)
    kinds = [kind for kind in REGRESSORS if name != "reciprocal" or kind == "forest"]
    for kind in kinds[seed % 2 :: 2]:
        model = fitted(REGRESSORS[kind](), FUNCTIONS[name], X, y)
        assert check_predictions(model, X, seed, 1) == 4


@pytest.mark.large
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "reciprocal"])
def test_many_more_limits(name, kind, seed):
    X, y = positive_table(seed)
    check_predictions(fitted(REGRESSORS[kind](), FUNCTIONS[name], X, y), X, seed, 2)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["pipeline inside", "pipeline around", "search"])
def test_pipelines_and_searches_around_and_inside(where):
    X, y = positive_table(3)
    inner, given = REGRESSORS["lightgbm"](), FUNCTIONS["log1p"]
    match where:
        case "pipeline inside":
            model = fitted(make_pipeline(StandardScaler(), inner), given, X, y)
        case "pipeline around":
            target = TransformedTargetRegressor(inner, **given)
            model = make_pipeline(StandardScaler(), target).fit(X, y)
        case "search":
            target = TransformedTargetRegressor(inner, **given)
            choices = {"regressor__num_leaves": [3, 4]}
            model = GridSearchCV(target, choices, cv=2).fit(X, y)
    assert check_predictions(model, X, 1, 2) == 8


def waves(raw):
    return np.sin(raw)


def compared_with_others(raw):
    return raw - raw.mean()


def random_numbers(raw):
    return raw + np.random.default_rng().normal(size=raw.shape)


def nothing_in_the_middle(raw):
    return np.where((raw > 3) & (raw < 4), np.nan, raw)


REFUSED = {
    r"is not monotone between .* explain the regressor_ instead": waves,
    r"depending on the other rows": compared_with_others,
    r"returns different numbers": random_numbers,
    r"returns NaN for raw predictions": nothing_in_the_middle,
}


@pytest.mark.parametrize("words", REFUSED)
def test_an_inverse_that_is_not_monotone_number_by_number_is_refused(words):
    X, y = positive_table(2)
    given = {"func": np.positive, "inverse_func": REFUSED[words]}
    model = fitted(RandomForestRegressor(4, random_state=0), given, X, y)
    with pytest.raises(UnsupportedModelError, match=words) as refusal:
        Explainer(model, X)
    assert str(refusal.value).endswith(".") and "\n" not in str(refusal.value)


def test_a_regressor_without_trees_and_several_targets_are_refused():
    X, y = positive_table(2)
    with pytest.raises(UnsupportedModelError, match="a linear model of raw columns"):
        Explainer(fitted(LinearRegression(), FUNCTIONS["log"], X, y), X)
    forest = RandomForestRegressor(2, random_state=0)
    with pytest.raises(UnsupportedModelError, match="several outputs"):
        Explainer(fitted(forest, FUNCTIONS["log"], X, np.c_[y, y]), X)
    member = TransformedTargetRegressor(forest, **FUNCTIONS["log"])
    with pytest.raises(UnsupportedModelError, match="predicts a function of its sum"):
        Explainer(VotingRegressor([("one", member), ("two", forest)]).fit(X, y), X)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(member, X)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bounds_on_the_raw_prediction_enclose_every_float_near_a_limit(name):
    given = FUNCTIONS[name]
    X, y = positive_table(4)
    transformer = fitted(REGRESSORS["forest"](), given, X, y).transformer_
    for unit, dtype in ((SINGLE, np.float32), (2.0**-53, np.float64)):

        def inverse(raw, dtype=dtype):
            found = transformer.inverse_transform(raw.astype(dtype).reshape(-1, 1))
            return np.asarray(found, dtype=np.float64).ravel()

        start, end = sorted(np.ravel(transformer.transform([[2.0], [9.0]])).tolist())
        link = inverse_link(Link("mean", unit=unit), inverse, start, end)
        raws = np.random.default_rng(5).uniform(start, end, 12).astype(dtype)
        for raw in raws:
            limit = float(inverse(np.array([raw], dtype=np.float64))[0])
            near = raw + np.arange(-200, 201) * np.spacing(raw)
            near = near[(near >= start) & (near <= end)].astype(np.float64)
            values, signed = inverse(near), near * (-1 if link.falls else 1)
            assert (signed[values >= limit] >= link.least(limit, 1)).all()
            assert (values[signed >= link.least(limit, 1, sure=True)] >= limit).all()
            assert (signed[values <= limit] <= link.most(limit, 1)).all()
            assert (values[signed <= link.most(limit, 1, sure=True)] <= limit).all()
            low, high = link.limits(near[:, None], 0, 0.0)
            assert ((low <= values) & (values <= high)).all()


def test_limits_that_no_prediction_reaches():
    X, y = positive_table(1)
    explainer = Explainer(fitted(REGRESSORS["forest"](), FUNCTIONS["log"], X, y), X)
    assert explainer.explain(X.iloc[[0]], target=AtLeast(1e9)).status == "infeasible"
    link = inverse_link(Link("mean"), np.exp, 0.0, 3.0)
    assert link.share < 1e-15
    assert link.least(100.0, 1) == math.inf and link.least(0.5, 1) == -math.inf
    assert link.most(100.0, 1) == math.inf and link.most(0.5, 1) == -math.inf
