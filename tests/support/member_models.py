"""Random models that are made of other models, and CatBoost's; see ``models``."""

import catboost
import numpy as np
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from portfolio import HardVotingClassifier
from tests.support.library_models import (
    LABELS,
    Made,
    draw,
    gradient_model,
    histogram_model,
    lightgbm_model,
    sklearn_labels,
    xgboost_model,
)


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
    model.fit(X, sklearn_labels(rng, y))
    return Made(model, f"BaggingClassifier {params} of {model.estimator}", ("skops", "joblib"))


def adaboost_model(rng, X, y):
    params = draw(rng, n_estimators=(1, 2, 3, 5, 8), learning_rate=(None, 0.1, 0.5, 2.0))
    tree = None if rng.random() < 0.3 else _tree(rng)
    model = AdaBoostClassifier(tree, **params, random_state=_seed(rng))
    labels = sklearn_labels(rng, y)
    try:
        model.fit(X, labels)
    except ValueError:  # a tree that is worse than none can't be boosted
        model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), **params).fit(X, labels)
    return Made(model, f"AdaBoostClassifier {params} of {tree}", ("skops", "joblib"))


def voting_model(rng, X, y):
    soft, labels = bool(rng.random() < 0.6), sklearn_labels(rng, y)
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
    if "temperature" in CalibratedClassifierCV._parameter_constraints["method"][0].options:
        methods.append("temperature")  # from 1.8 of scikit-learn on
    settings = {"method": str(rng.choice(methods)), "ensemble": False, "cv": 2}
    frozen = rng.random() < 0.7 or maker in (lightgbm_model, xgboost_model)
    model = CalibratedClassifierCV(FrozenEstimator(made) if frozen else made, **settings)
    try:
        model.fit(X, labels)
    except (ValueError, RuntimeError):  # a fold of one class, or temperature scaling diverged
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
