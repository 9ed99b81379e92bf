"""Regressors of every library with parameters that change their trees, their link or their sums."""

import warnings

import catboost
import lightgbm
import numpy as np
import xgboost
from quantile_forest import ExtraTreesQuantileRegressor, RandomForestQuantileRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from sksurv.ensemble import (
    ExtraSurvivalTrees,
    GradientBoostingSurvivalAnalysis,
    RandomSurvivalForest,
)
from sksurv.util import Surv

from tests.support.library_models import Made, draw

CATBOOST_EXPONENTS = ("Poisson", "Tweedie:variance_power=1.5", "Tweedie:variance_power=1.2")
POSITIVE = ("poisson", "gamma", "tweedie", "count:poisson", "reg:gamma", "reg:tweedie")


def _target(y, objective):
    """Return a target that the objective can be trained on."""
    if objective in POSITIVE:
        return np.exp((y - y.mean()) / (y.std() + 1))
    return 1 / (1 + np.exp(-y)) if objective in ("reg:logistic", "cross_entropy") else y


def xgboost_regressor(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 4),
        max_depth=(1, 2, 3),
        learning_rate=(None, 0.1, 1.0),
        objective=(
            None,
            "reg:absoluteerror",
            "reg:pseudohubererror",
            "reg:logistic",
            *POSITIVE[3:],
        ),
        base_score=(None, None, 0.3, 2.5),
        tree_method=("exact", "hist"),
        min_child_weight=(None, 0.0),
        booster=(None, None, "dart"),
    )
    objective = params.get("objective")
    if objective == "reg:logistic":
        params.pop("base_score", None)
    if objective == "reg:absoluteerror":
        params["tree_method"] = "hist"
    kind = xgboost.XGBRFRegressor if rng.random() < 0.2 else xgboost.XGBRegressor
    if kind is xgboost.XGBRFRegressor:
        params["tree_method"] = "hist"
        params.pop("learning_rate", None)
    model = kind(**params, random_state=int(rng.integers(99))).fit(X, _target(y, objective))
    formats = ("joblib", "booster.ubj", "booster.json")
    return Made(model, f"{kind.__name__} {params}", formats)


def lightgbm_regressor(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 4),
        num_leaves=(2, 4, 7),
        learning_rate=(None, 0.5, 1.0),
        min_child_samples=(1, 4, 10),
        objective=(None, "l1", "huber", "quantile", "mape", "cross_entropy", *POSITIVE[:3]),
        boosting_type=(None, "dart", "rf"),
        boost_from_average=(None, False),
    )
    if params.get("boosting_type") == "rf":
        params |= {"subsample": 0.7, "subsample_freq": 1}
    model = lightgbm.LGBMRegressor(**params, verbose=-1, random_state=int(rng.integers(99)))
    model.fit(X, _target(y, params.get("objective")))
    return Made(model, f"LGBMRegressor {params}", ("txt", "joblib"))


def forest_regressor(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 5),
        max_depth=(None, 1, 2, 3),
        max_leaf_nodes=(None, 4),
        bootstrap=(None, True, False),
        min_samples_leaf=(1, 3, 8),
        criterion=(None, "absolute_error", "friedman_mse"),
    )
    kind = RandomForestRegressor if rng.random() < 0.5 else ExtraTreesRegressor
    if params.get("criterion") == "friedman_mse":
        params.pop("criterion")  # gone in newer versions
    values = np.round(y) if rng.random() < 0.4 else y  # many ties
    model = kind(**params, random_state=int(rng.integers(99))).fit(X, values)
    return Made(model, f"{kind.__name__} {params}", ("skops", "joblib"))


def tree_regressor(rng, X, y):
    kind = DecisionTreeRegressor if rng.random() < 0.6 else ExtraTreeRegressor
    params = draw(rng, max_depth=(None, 1, 3), max_leaf_nodes=(None, 4), min_samples_leaf=(1, 5))
    model = kind(**params, random_state=int(rng.integers(99))).fit(X, y)
    return Made(model, f"{kind.__name__} {params}", ("skops", "joblib"))


def gradient_regressor(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 4),
        max_depth=(1, 2, 3),
        learning_rate=(0.1, 0.5, 1.0),
        init=(None, "zero"),
        loss=(None, "absolute_error", "huber", "quantile"),
    )
    model = GradientBoostingRegressor(**params, random_state=int(rng.integers(99))).fit(X, y)
    return Made(model, f"GradientBoostingRegressor {params}", ("skops", "joblib"))


def histogram_regressor(rng, X, y):
    params = draw(
        rng,
        max_iter=(1, 2, 4),
        max_leaf_nodes=(2, 4, None),
        learning_rate=(0.1, 1.0),
        min_samples_leaf=(1, 5),
        loss=(None, "absolute_error", "quantile", "poisson", "gamma"),
    )
    if params.get("loss") == "quantile":
        params["quantile"] = 0.7
    model = HistGradientBoostingRegressor(
        **params, early_stopping=False, random_state=int(rng.integers(99))
    )
    model.fit(X, _target(y, params.get("loss")))
    return Made(model, f"HistGradientBoostingRegressor {params}", ("skops", "joblib"))


def catboost_regressor(rng, X, y):
    params = draw(
        rng,
        iterations=(1, 2, 4),
        depth=(1, 2, 3),
        grow_policy=(None, None, "Depthwise", "Lossguide"),
        learning_rate=(None, 0.1, 1.0),
        border_count=(None, 4, 16),
        loss_function=(None, "MAE", "Quantile:alpha=0.7", "Huber:delta=1", *CATBOOST_EXPONENTS),
        nan_mode=(None, "Max"),
    )
    settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostRegressor(**params, **settings, random_seed=int(rng.integers(99)))
    loss = params.get("loss_function", "").partition(":")[0].lower()
    model.fit(X, _target(y, loss))
    if rng.random() < 0.2:
        model.set_scale_and_bias(float(rng.choice([0.5, 0.3])), float(rng.normal()))
    return Made(model, f"CatBoostRegressor {params}", ("cbm", "catboost.json", "joblib"))


def _member(rng):
    """A regressor, not fitted, whose prediction is its sum."""
    seed, trees, rate = (
        int(rng.integers(99)),
        int(rng.choice([1, 2, 3])),
        float(rng.choice([0.3, 1])),
    )
    match str(
        rng.choice(["tree", "forest", "gradient", "histogram", "xgboost", "xgboost", "more"])
    ):
        case "tree":
            return DecisionTreeRegressor(max_depth=2, random_state=seed)
        case "forest":
            return RandomForestRegressor(trees, max_depth=2, random_state=seed)
        case "gradient":
            return GradientBoostingRegressor(n_estimators=trees, max_depth=1, learning_rate=rate)
        case "histogram":
            return HistGradientBoostingRegressor(
                max_iter=trees, max_leaf_nodes=3, min_samples_leaf=5, learning_rate=rate
            )
        case "xgboost":
            return xgboost.XGBRegressor(n_estimators=trees, max_depth=2, learning_rate=rate)
    return lightgbm.LGBMRegressor(
        n_estimators=trees, num_leaves=3, min_child_samples=5, verbose=-1, n_jobs=1
    )


def averaged_regressor(rng, X, y):
    if rng.random() < 0.5:
        params = draw(
            rng,
            n_estimators=(1, 2, 3, 4),
            max_features=(None, 0.5, 0.8),
            bootstrap_features=(None, True),
            max_samples=(None, 0.5),
        )
        model = BaggingRegressor(_member(rng), **params, random_state=int(rng.integers(99)))
        words = f"BaggingRegressor {params} of {model.estimator}"
    else:
        members = [(f"m{at}", _member(rng)) for at in range(int(rng.integers(1, 4)))]
        if rng.random() < 0.2:
            members.append(("inner", BaggingRegressor(_member(rng), 2, random_state=0)))
        some = rng.choice([0.5, 1.0, 2.0, 0.3, 3.0], size=len(members)).tolist()
        narrow = np.array(some, dtype=np.float32)
        weights = [None, some, narrow, [1] * len(members)][int(rng.integers(4))]
        model = VotingRegressor(members, weights=weights)
        words = f"VotingRegressor {weights} {members}"
    return Made(model.fit(X, y), words, ("joblib",))


def median_regressor(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 5, 8),
        learning_rate=(None, 0.1, 2.0),
        loss=(None, "square", "exponential"),
    )
    kind = DecisionTreeRegressor if rng.random() < 0.6 else ExtraTreeRegressor
    tree = kind(max_depth=int(rng.integers(1, 4)))
    values = np.round(y) if rng.random() < 0.4 else y  # many ties
    model = AdaBoostRegressor(tree, **params, random_state=int(rng.integers(99))).fit(X, values)
    return Made(model, f"AdaBoostRegressor {params} of {tree}", ("skops", "joblib"))


def _outcomes(rng, y):
    """Times after 1, most of which are of events."""
    times = 1 + np.exp((y - y.mean()) / (y.std() + 1))
    return Surv.from_arrays((rng.random(len(y)) < 0.7) | (y == y.min()), times)


def survival_forest(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 5),
        max_depth=(None, 1, 2, 3),
        max_leaf_nodes=(None, 4),
        min_samples_leaf=(None, 1, 8),
    )
    kind = RandomSurvivalForest if rng.random() < 0.5 else ExtraSurvivalTrees
    # With functions of time at leaves, the last bits depend on the number of rows.
    model = kind(**params, low_memory=True, random_state=int(rng.integers(99)))
    return Made(model.fit(X, _outcomes(rng, y)), f"{kind.__name__} {params}", ("joblib",))


def survival_boosting(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 4),
        max_depth=(1, 2, 3),
        learning_rate=(0.1, 0.5, 1.0),
        loss=(None, "squared", "ipcwls"),
        dropout_rate=(None, 0.3),
        subsample=(None, 0.7),
    )
    model = GradientBoostingSurvivalAnalysis(**params, random_state=int(rng.integers(99)))
    words = f"GradientBoostingSurvivalAnalysis {params}"
    return Made(model.fit(X, _outcomes(rng, y)), words, ("joblib",))


def quantile_forest(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 4),
        max_depth=(1, 2, 3),
        max_samples_leaf=(None, 2, 4),
        default_quantiles=(0.1, 0.25, 0.5, 0.9),
    )
    if rng.random() < 0.4:
        params["max_samples_leaf"] = None
    kind = RandomForestQuantileRegressor if rng.random() < 0.5 else ExtraTreesQuantileRegressor
    values = np.round(y) if rng.random() < 0.4 else y  # many ties
    model = kind(**params, random_state=int(rng.integers(99))).fit(X, values)
    return Made(model, f"{kind.__name__} {params}", ("joblib",))


REGRESSORS = (
    xgboost_regressor,
    lightgbm_regressor,
    forest_regressor,
    tree_regressor,
    gradient_regressor,
    histogram_regressor,
    catboost_regressor,
    averaged_regressor,
    median_regressor,
    survival_forest,
    survival_boosting,
    quantile_forest,
)


def make_regressor(rng, maker, X, y):
    """A fitted model; libraries warn about odd parameters, which is what they are for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return maker(rng, X, y)
