"""Random models whose answer adds up curves of several sums; see ``models``."""

import catboost
import lightgbm
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from tests.support.library_models import Made, draw, sklearn_labels

QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
METHODS = ["sigmoid", "isotonic"]
if "temperature" in CalibratedClassifierCV._parameter_constraints["method"][0].options:
    METHODS.append("temperature")  # from 1.8 of scikit-learn on


def _seed(rng):
    return int(rng.integers(99))


def _member(rng, kinds):
    """An ensemble, not fitted, of a few small trees."""
    trees, rate = int(rng.choice([1, 2, 3])), float(rng.choice([0.3, 1.0, 2.0]))
    match str(rng.choice(kinds)):
        case "tree":
            return DecisionTreeClassifier(max_depth=2, random_state=_seed(rng))
        case "forest":
            depth = int(rng.choice([1, 2]))
            return RandomForestClassifier(trees, max_depth=depth, random_state=_seed(rng))
        case "gradient":
            return GradientBoostingClassifier(n_estimators=trees, max_depth=1, learning_rate=rate)
        case "histogram":
            return HistGradientBoostingClassifier(
                max_iter=trees, max_leaf_nodes=3, min_samples_leaf=5, learning_rate=rate
            )
        case "xgboost":
            return xgboost.XGBClassifier(
                n_estimators=trees, max_depth=int(rng.choice([1, 2])), learning_rate=rate
            )
        case "lightgbm":
            size = {"num_leaves": 3, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
            return lightgbm.LGBMClassifier(n_estimators=trees, learning_rate=rate, **size)
        case "catboost":
            return catboost.CatBoostClassifier(
                iterations=trees, depth=1, learning_rate=rate, **QUIET
            )
    tree = DecisionTreeClassifier(max_depth=2)
    return AdaBoostClassifier(tree, n_estimators=trees, random_state=_seed(rng))


BOOSTED = ["gradient", "histogram", "xgboost", "lightgbm", "adaboost"]


def _voting(rng, X, y, voting):
    labels = sklearn_labels(rng, y)
    count = int(rng.integers(1, 4)) if voting == "soft" else int(rng.integers(2, 4))
    kinds = ["tree", "forest", *BOOSTED, *(["catboost"] if voting == "hard" else [])]
    members = [(f"m{number}", _member(rng, kinds)) for number in range(count)]
    members[0] = ("m0", _member(rng, BOOSTED))
    if voting == "soft" and rng.random() < 0.2 and count > 1:
        members[1] = ("m1", VotingClassifier([("a", _member(rng, BOOSTED))], voting="soft"))
    weights = rng.choice([0.5, 1.0, 2.0, 0.3, 3.0], size=count).tolist()
    model = VotingClassifier(
        members, voting=voting, weights=weights if rng.random() < 0.5 else None
    )
    if voting == "hard" and y.max() > 1:  # CatBoost's labels are a column, which can't be counted
        members = [pair for pair in members if "CatBoost" not in type(pair[1]).__name__]
        members = members or [("m", _member(rng, ["gradient"]))]
        model.set_params(estimators=members, weights=None)
    model.fit(X, labels)
    return Made(model, f"VotingClassifier {voting} {model.weights} {members}", ("joblib",))


def soft_blend(rng, X, y):
    return _voting(rng, X, y, "soft")


def hard_blend(rng, X, y):
    return _voting(rng, X, y, "hard")


def bagged_blend(rng, X, y):
    params = draw(
        rng,
        n_estimators=(1, 2, 3),
        max_features=(None, 0.5, 0.8),
        bootstrap_features=(None, True),
        max_samples=(None, 0.5),
    )
    base = _member(rng, ["gradient", "histogram", "xgboost", "adaboost"])
    model = BaggingClassifier(base, **params, random_state=_seed(rng))
    labels = sklearn_labels(rng, y)
    try:
        model.fit(X, labels)
    except ValueError:  # a member that sees other classes, or only one
        model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 2).fit(X, labels)
    return Made(model, f"BaggingClassifier {params} of {base}", ("joblib",))


def calibrated_folds(rng, X, y):
    y, settings = (y > 0).astype(int), {"method": str(rng.choice(METHODS)), "cv": 2}
    base = _member(rng, ["tree", "forest", "gradient", "histogram", "xgboost", "lightgbm"])
    model = CalibratedClassifierCV(base, **settings, ensemble=bool(rng.random() < 0.8))
    xgboosted = isinstance(base, xgboost.XGBClassifier)  # takes 0 and 1 only
    model.fit(X, y if xgboosted else sklearn_labels(rng, y))
    return Made(model, f"CalibratedClassifierCV {settings} of {base}", ("joblib",))


def boosted_votes(rng, X, y):
    tree = DecisionTreeClassifier(max_depth=int(rng.choice([1, 2, 3])))
    params = draw(rng, n_estimators=(1, 2, 3, 5), learning_rate=(None, 0.1, 0.5))
    model = AdaBoostClassifier(tree, **params, random_state=_seed(rng))
    model.fit(X, sklearn_labels(rng, y))
    return Made(model, f"AdaBoostClassifier {params}", ("joblib",))


BLENDS = (soft_blend, hard_blend, bagged_blend, calibrated_folds, boosted_votes)
