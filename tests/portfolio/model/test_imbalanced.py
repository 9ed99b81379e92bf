"""Ensembles of imbalanced-learn, which predict as scikit-learn's ensembles do."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.tree import DecisionTreeClassifier

from tests.support.whole_grids import check_classes, whole_table

ensemble = pytest.importorskip("imblearn.ensemble")
pipeline = pytest.importorskip("imblearn.pipeline")
over_sampling = pytest.importorskip("imblearn.over_sampling")

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
STUMPS = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3)
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0)
MORE = over_sampling.RandomOverSampler(random_state=0)
MODELS = {
    "forest": ensemble.BalancedRandomForestClassifier(
        5, max_depth=3, sampling_strategy="all", replacement=True, bootstrap=False
    ),
    "bagging": ensemble.BalancedBaggingClassifier(TREE, n_estimators=4),
    "bagged forests": ensemble.BalancedBaggingClassifier(FOREST, n_estimators=3),
    "easy ensemble": ensemble.EasyEnsembleClassifier(n_estimators=3, estimator=STUMPS),
    "boosting": ensemble.RUSBoostClassifier(TREE, n_estimators=4),
    "pipeline": pipeline.make_pipeline(MORE, FOREST),
    "bagged pipelines": BaggingClassifier(pipeline.make_pipeline(MORE, TREE), 3),
    "threshold": TunedThresholdClassifierCV(pipeline.make_pipeline(MORE, FOREST), cv=2),
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 12))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MODELS)
def test_classes_are_those_of_predict(name, seed):
    X, score = whole_table(seed)
    tried = check_classes(MODELS[name].fit(X, (score > 4).astype(int)), X, seed, 2)
    if name != "threshold":
        tried += check_classes(MODELS[name].fit(X, np.digitize(score, [1, 4])), X, seed, 2)
    assert tried == (2 if name == "threshold" else 6)
