"""Random models of each library by itself, with parameters that change their trees."""

from dataclasses import dataclass

import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from portfolio import HardVotingClassifier

LABELS = {
    "plain": lambda y: y,
    "text": lambda y: np.array(["no", "perhaps", "surely", "yes"])[y],
    "shifted": lambda y: y * 3 - 4,
    "boolean": lambda y: y == 1,
}


@dataclass(frozen=True)
class Made:
    """A fitted model, its parameters in words, and in which formats it can be saved."""

    model: object
    words: str
    formats: tuple[str, ...]


def draw(rng, **space):
    """One value of each parameter; those drawn as None are left at their default."""
    drawn = {name: values[int(rng.integers(len(values)))] for name, values in space.items()}
    return {name: value for name, value in drawn.items() if value is not None}


def sklearn_labels(rng, y):
    kinds = ["plain", "text", "shifted", *(["boolean"] if y.max() == 1 else [])]
    return LABELS[str(rng.choice(kinds))](y)


def xgboost_model(rng, X, y):
    n_classes = int(y.max()) + 1
    lossguide = rng.random() < 0.3
    space = {
        "n_estimators": (1, 2, 3, 5),
        "max_depth": (1, 2, 3, 4),
        "learning_rate": (None, 0.001, 0.1, 1.0),
        "gamma": (None, 0.05, 0.5, 1.0),
        "tree_method": ("exact", "hist", "approx"),
        "num_parallel_tree": (None, None, 2),
        "base_score": (None, None, 0.3, 0.95, 0.9999, 1e-7),
        "subsample": (None, 0.6),
        "min_child_weight": (None, 0.0),
        "reg_lambda": (None, 0.0),
        "max_delta_step": (None, 1.0),
        "booster": (None, None, "dart"),
        "monotone_constraints": (None, None, (1,) + (0,) * (X.shape[1] - 1)),
        "interaction_constraints": (None, None, [[X.columns[0]], list(X.columns[1:])]),
    }
    if n_classes == 2:
        space["objective"] = (None, None, "binary:logitraw", "binary:hinge")
        space["scale_pos_weight"] = (None, 3.0)
    else:
        space["objective"] = (None, "multi:softmax")
        space["base_score"] = (None, 0.3)
    params = draw(rng, **space)
    if params.get("booster") == "dart":
        params["rate_drop"] = 0.5
    if lossguide and params["tree_method"] != "exact":
        params |= {"grow_policy": "lossguide", "max_leaves": int(rng.integers(2, 7))}
    if params["tree_method"] == "exact":
        params.pop("interaction_constraints", None)
    if rng.random() < 0.15:
        params.pop("learning_rate", None)
        params["tree_method"] = "hist"  # the exact one takes no columns by node
        model = xgboost.XGBRFClassifier(**params, random_state=int(rng.integers(99)))
        model.fit(X, y)
    elif rng.random() < 0.2 and "base_score" not in params:
        params["n_estimators"] = 12
        model = xgboost.XGBClassifier(**params, early_stopping_rounds=1)
        half = np.arange(len(X)) % 2 == 0
        if np.unique(y[half]).size == n_classes:
            model.fit(X[half], y[half], eval_set=[(X[~half], y[~half])], verbose=False)
        else:
            model.set_params(early_stopping_rounds=None).fit(X, y)
    else:
        model = xgboost.XGBClassifier(**params, random_state=int(rng.integers(99))).fit(X, y)
    formats = ("json", "ubj", "booster.json", "booster.ubj", "joblib")
    return Made(model, f"{type(model).__name__} {params}", formats)


def lightgbm_model(rng, X, y):
    n_classes = int(y.max()) + 1
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 5),
        num_leaves=(2, 4, 7),
        learning_rate=(None, 0.5, 1.0),
        min_child_samples=(1, 4, 10),
        max_bin=(3, 15, 255),
        boosting_type=(None, "dart", "rf", "goss"),
        extra_trees=(None, True),
        min_split_gain=(None, 0.1),
        path_smooth=(None, 1.0),
        max_depth=(None, 2),
        boost_from_average=(None, False),
        linear_tree=(None,),
        objective=(None,) if n_classes == 2 else (None, "multiclassova"),
        is_unbalance=(None, True) if n_classes == 2 else (None,),
        sigmoid=(None, 0.4, 2.0) if n_classes == 2 else (None,),
        monotone_constraints=(None, None, [1] + [0] * (X.shape[1] - 1)),
    )
    if params.get("boosting_type") == "rf":
        params |= {"subsample": 0.7, "subsample_freq": 1}
    labels = LABELS[str(rng.choice(["plain", "text", "shifted"]))](y)
    early = rng.random() < 0.15 and params.get("boosting_type") not in ("dart", "rf")
    model = lightgbm.LGBMClassifier(**params, verbose=-1, random_state=int(rng.integers(99)))
    if early:
        model.set_params(n_estimators=10, early_stopping_round=1)
        model.fit(X, labels, eval_set=[(X, labels[::-1])])
    else:
        model.fit(X, labels)
    formats = ("txt", "joblib")
    return Made(model, f"LGBMClassifier {params}, early {early}", formats)


def forest_model(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 4, 6),
        max_depth=(None, 1, 2, 3),
        class_weight=(None, "balanced", "balanced_subsample"),
        max_leaf_nodes=(None, 3, 5),
        ccp_alpha=(None, 0.02),
        bootstrap=(None, True, False),
        min_impurity_decrease=(None, 0.01),
        criterion=(None, "entropy"),
        min_samples_leaf=(1, 3, 8),
        max_features=(None, 1),
    )
    if not params.get("bootstrap", True) and params.get("class_weight") == "balanced_subsample":
        params["class_weight"] = "balanced"
    kind = RandomForestClassifier if rng.random() < 0.5 else ExtraTreesClassifier
    if kind is RandomForestClassifier and y.max() == 1 and rng.random() < 0.15:
        params["monotonic_cst"] = [1] + [0] * (X.shape[1] - 1)
    weight = np.full(len(X), 0.1) if rng.random() < 0.2 else None
    model = kind(**params, random_state=int(rng.integers(99)))
    model.fit(X, sklearn_labels(rng, y), sample_weight=weight)
    words = f"{kind.__name__} {params} {weight is not None}"
    if rng.random() < 0.35:
        return Made(HardVotingClassifier.from_fitted(model), f"hard {words}", ("skops", "joblib"))
    return Made(model, words, ("skops", "joblib"))


def tree_model(rng, X, y):
    kind = DecisionTreeClassifier if rng.random() < 0.6 else ExtraTreeClassifier
    params = draw(
        rng,
        max_depth=(None, 1, 3),
        class_weight=(None, "balanced"),
        max_leaf_nodes=(None, 4),
        ccp_alpha=(None, 0.01),
        min_samples_leaf=(1, 5),
        splitter=("best", "random"),
    )
    model = kind(**params, random_state=int(rng.integers(99))).fit(X, sklearn_labels(rng, y))
    return Made(model, f"{kind.__name__} {params}", ("skops", "joblib"))


def gradient_model(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 5),
        max_depth=(1, 2, 3),
        learning_rate=(0.1, 0.5, 1.0),
        init=(None, "zero"),
        subsample=(None, 0.6),
        max_leaf_nodes=(None, 3),
        loss=(None, "exponential") if y.max() == 1 else (None,),
        criterion=(None, "squared_error"),
    )
    model = GradientBoostingClassifier(**params, random_state=int(rng.integers(99)))
    model.fit(X, sklearn_labels(rng, y))
    return Made(model, f"GradientBoostingClassifier {params}", ("skops", "joblib"))


def histogram_model(rng, X, y):
    params = draw(
        rng,
        max_iter=(1, 2, 4),
        max_bins=(3, 20, 255),
        max_leaf_nodes=(2, 4, None),
        max_depth=(None, 2),
        learning_rate=(0.1, 1.0),
        min_samples_leaf=(1, 5),
        l2_regularization=(None, 1.0),
        class_weight=(None, "balanced"),
        monotonic_cst=(None, [1] + [0] * (X.shape[1] - 1)) if y.max() == 1 else (None,),
        interaction_cst=(None, "no_interactions"),
    )
    model = HistGradientBoostingClassifier(
        **params, early_stopping=False, random_state=int(rng.integers(99))
    )
    model.fit(X, sklearn_labels(rng, y))
    return Made(model, f"HistGradientBoostingClassifier {params}", ("skops", "joblib"))
