"""Models of every library with parameters that change their trees or their arithmetic.

Each maker draws a model at random and fits it; it says which formats it can be saved in.
"""

import io
import warnings
from dataclasses import dataclass

import catboost
import joblib
import lightgbm
import numpy as np
import skops.io
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
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


def _sklearn_labels(rng, y):
    kinds = ["plain", "text", "shifted", *(["boolean"] if y.max() == 1 else [])]
    return LABELS[str(rng.choice(kinds))](y)


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
    model.fit(X, _sklearn_labels(rng, y), sample_weight=weight)
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
    model = kind(**params, random_state=int(rng.integers(99))).fit(X, _sklearn_labels(rng, y))
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
    model.fit(X, _sklearn_labels(rng, y))
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
    model.fit(X, _sklearn_labels(rng, y))
    return Made(model, f"HistGradientBoostingClassifier {params}", ("skops", "joblib"))


def _seed(rng):
    return int(rng.integers(99))


def _tree(rng, depths=(1, 2, 3)):
    kind = DecisionTreeClassifier if rng.random() < 0.7 else ExtraTreeClassifier
    params = draw(rng, max_depth=depths, min_samples_leaf=(1, 4), class_weight=(None, "balanced"))
    return kind(**params, random_state=_seed(rng))


def _average(rng):
    """A model, not fitted, whose probabilities are averages over its leaves."""
    trees, depth = int(rng.choice([1, 2, 3, 4])), int(rng.choice([1, 2]))
    match str(rng.choice(["tree", "forest", "extra", "hard", "bagging"])):
        case "tree":
            return _tree(rng)
        case "forest":
            return RandomForestClassifier(trees, max_depth=depth, random_state=_seed(rng))
        case "extra":
            return ExtraTreesClassifier(trees, max_depth=depth, random_state=_seed(rng))
        case "hard":
            forest = RandomForestClassifier(trees, max_depth=depth, random_state=_seed(rng))
            return HardVotingClassifier(forest)
    tree = DecisionTreeClassifier(max_depth=depth)
    return BaggingClassifier(tree, trees, max_features=0.7, random_state=_seed(rng))


def _one_tree(rng, n_classes):
    """A model, not fitted, of a single tree, which may vote."""
    kind = str(rng.choice(["tree", "tree", "forest", "hist", "xgboost"]))
    if kind == "forest":
        return RandomForestClassifier(1, max_depth=2, random_state=_seed(rng))
    if kind == "hist" and n_classes == 2:
        return HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4, min_samples_leaf=5)
    if kind == "xgboost" and n_classes == 2:
        return xgboost.XGBClassifier(n_estimators=1, max_depth=2)
    return _tree(rng)


def bagging_model(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3, 5),
        max_features=(None, 0.5, 0.8),
        bootstrap_features=(None, True),
        max_samples=(None, 0.3),
        bootstrap=(None, False),
    )
    small = bool(rng.random() < 0.3)  # members that do not see all classes
    if small:
        params |= {"max_samples": 4, "bootstrap": True}
    if rng.random() < 0.2:
        votes = VotingClassifier([("only", _tree(rng))])  # has no probabilities, so it votes
        model = BaggingClassifier(votes, **params, random_state=_seed(rng))
    else:
        model = BaggingClassifier(_average(rng), **params, random_state=_seed(rng))
    model.fit(X, _sklearn_labels(rng, y))
    return Made(model, f"BaggingClassifier {params} of {model.estimator}", ("skops", "joblib"))


def adaboost_model(rng, X, y):
    params = draw(rng, n_estimators=(1, 2, 3, 5, 8), learning_rate=(None, 0.1, 0.5, 2.0))
    tree = None if rng.random() < 0.3 else _tree(rng)
    model = AdaBoostClassifier(tree, **params, random_state=_seed(rng))
    labels = _sklearn_labels(rng, y)
    try:
        model.fit(X, labels)
    except ValueError:  # a tree that is worse than none can't be boosted
        model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), **params).fit(X, labels)
    return Made(model, f"AdaBoostClassifier {params} of {tree}", ("skops", "joblib"))


def voting_model(rng, X, y):
    soft, labels = bool(rng.random() < 0.6), _sklearn_labels(rng, y)
    members = []
    for number in range(int(rng.integers(1, 5))):
        member = _average(rng) if soft else _one_tree(rng, int(y.max()) + 1)
        members.append((f"m{number}", member))
    if soft and rng.random() < 0.3:
        members.append(("inner", VotingClassifier([("a", _tree(rng))], voting="soft")))
    weights = rng.choice([0.5, 1.0, 2.0, 0.3, 3.0], size=len(members)).tolist()
    model = VotingClassifier(
        members,
        voting="soft" if soft else "hard",
        weights=weights if rng.random() < 0.6 else None,
        flatten_transform=bool(rng.random() < 0.5),
    )
    if len(members) > 1 and rng.random() < 0.3:
        model.set_params(**{members[0][0]: "drop"})
    model.fit(X, labels)
    return Made(model, f"VotingClassifier {soft} {model.weights} {members}", ("joblib",))


def isolation_model(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 4, 6),
        max_samples=(4, 8, 0.3, "auto"),
        contamination=(None, 0.1, 0.3),
        max_features=(None, 0.6),
        bootstrap=(None, True),
    )
    model = IsolationForest(**params, random_state=_seed(rng)).fit(X)
    return Made(model, f"IsolationForest {params}", ("skops", "joblib"))


def calibrated_model(rng, X, y):
    y = (y > 0).astype(int)
    below = [gradient_model, histogram_model, adaboost_model, lightgbm_model, xgboost_model, None]
    maker = below[int(rng.integers(len(below)))]
    made = None if maker is None else maker(rng, X, y).model
    if maker is None:
        made = _average(rng)
        made.fit(X, y)
    if getattr(made, "objective", None) not in (None, "binary:logistic"):
        made.set_params(objective="binary:logistic", early_stopping_rounds=None).fit(X, y)
    labels = np.asarray(made.predict(X))
    labels = np.where(rng.random(len(X)) < 0.3, labels[::-1], labels)  # to be off sometimes
    if rng.random() < 0.2:
        labels = np.where(labels == made.classes_[0], made.classes_[1], made.classes_[0])
    labels[:6] = np.tile(made.classes_[:2], 3)  # some of each in every fold
    methods = ["sigmoid", "isotonic"]
    if "temperature" in str(CalibratedClassifierCV._parameter_constraints["method"]):
        methods.append("temperature")  # from 1.8 of scikit-learn on
    settings = {"method": str(rng.choice(methods)), "ensemble": False, "cv": 2}
    frozen = rng.random() < 0.7 or maker in (lightgbm_model, xgboost_model)
    model = CalibratedClassifierCV(FrozenEstimator(made) if frozen else made, **settings)
    try:
        model.fit(X, labels)
    except ValueError:  # a fold of one class
        model = CalibratedClassifierCV(FrozenEstimator(made), **settings | {"method": "sigmoid"})
        model.fit(X, labels)
    return Made(model, f"CalibratedClassifierCV {settings} of {made}", ("joblib",))


def catboost_model(rng, X, y):
    n_classes = int(y.max()) + 1
    losses = ("Logloss", "MultiClass") if n_classes == 2 else ("MultiClass", "MultiClassOneVsAll")
    params = draw(
        rng,
        iterations=(1, 2, 3, 5),
        depth=(1, 2, 3),
        grow_policy=(None, None, "Depthwise", "Lossguide"),
        learning_rate=(None, 0.1, 1.0),
        l2_leaf_reg=(None, 0.0),
        border_count=(None, 4, 16),
        feature_border_type=(None, "Uniform", "Median"),
        leaf_estimation_method=(None, "Gradient"),
        boosting_type=(None, "Plain"),
        loss_function=losses,
        min_data_in_leaf=(None, 4),
        nan_mode=(None, "Max", "Forbidden"),
        bootstrap_type=(None, "No", "Bernoulli"),
        subsample=(None,),
    )
    if params["loss_function"] == "Logloss":
        params |= draw(rng, boost_from_average=(None, True, False))
    if params.get("grow_policy") is None:
        params.pop("min_data_in_leaf", None)
    labels = LABELS[str(rng.choice(["plain", "text", "shifted"]))](y)
    settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostClassifier(**params, **settings, random_seed=_seed(rng))
    model.fit(X, labels)
    if params["loss_function"] == "Logloss" and rng.random() < 0.2:
        model.set_probability_threshold(float(rng.choice([0.3, 0.7, 0.999])))
    return Made(model, f"CatBoostClassifier {params}", ("cbm", "catboost.json", "joblib"))


MAKERS = (
    xgboost_model,
    lightgbm_model,
    forest_model,
    tree_model,
    gradient_model,
    histogram_model,
    bagging_model,
    adaboost_model,
    voting_model,
    isolation_model,
    calibrated_model,
    catboost_model,
)


def make(rng, maker, X, y):
    """A fitted model; libraries warn about odd parameters, which is what they are for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return maker(rng, X, y)


def saved_and_loaded(made, ending, folder):
    """The model after a way through a file of that format, loaded by its own library."""
    model, path = made.model, str(folder / f"model.{ending}")
    if ending == "joblib":
        kept = io.BytesIO()
        joblib.dump(model, kept)
        kept.seek(0)
        return joblib.load(kept)
    if ending == "skops":
        skops.io.dump(model, path)
        return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    if ending in ("cbm", "catboost.json"):
        made_of = ending.split(".")[-1]
        model.save_model(path, format=made_of)
        return catboost.CatBoostClassifier().load_model(path, format=made_of)
    if ending == "txt":
        model.booster_.save_model(path)
        return lightgbm.Booster(model_file=path)
    if ending.startswith("booster"):
        model.get_booster().save_model(path)
        return xgboost.Booster(model_file=path)
    model.save_model(path)
    loaded = xgboost.XGBClassifier()
    loaded.load_model(path)
    return loaded
