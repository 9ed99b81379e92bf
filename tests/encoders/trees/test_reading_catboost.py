"""CatBoost's models are read exactly as it runs them: what was once read wrongly."""

import json

import numpy as np
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor

from encoders.core.errors import UnsupportedModelError
from encoders.readers.read import read_ensemble
from portfolio import Explainer, Probability, Score
from portfolio.model.files import load_model

pytestmark = pytest.mark.usefixtures("forked_children")

CAT = {"iterations": 3, "depth": 2, "verbose": 0, "allow_writing_files": False}


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_catboost_scores_are_scaled_and_shifted_sums(tumours, policy):
    X, y = tumours
    model = CatBoostClassifier(**CAT, grow_policy=policy).fit(X, y)
    model.set_scale_and_bias(0.3, -0.7)
    model.set_probability_threshold(0.2)
    ensemble = read_ensemble(model)
    raw = model.predict(X, prediction_type="RawFormulaVal") - np.log(0.2 / 0.8)
    ours = ensemble.scores(X.to_numpy())[:, 1]
    assert np.abs(ours - raw).max() <= ensemble.rounding.band < 1e-12
    assert ((ours > 0) == model.predict(X)).all()
    result = Explainer(model, X).explain(X.iloc[0])
    assert result.status == "optimal" and ensemble.dtype == np.float32


@pytest.mark.parametrize("loss", ["Poisson", "MultiClass", "MultiClassOneVsAll", "Logloss"])
def test_what_catboost_puts_out_is_within_the_limits_of_its_link(tumours, loss):
    X, y = tumours[0].iloc[:, :4], tumours[1] + 2 * (tumours[0].iloc[:, 0] > 18)
    kind = CatBoostRegressor if loss == "Poisson" else CatBoostClassifier
    target = tumours[1] if loss == "Logloss" else y
    model = kind(**CAT, loss_function=loss).fit(X, target)
    for shift in (-800.0, -709.0, -300.0, -30.0, -1.0, 0.0, 1.0, 30.0, 300.0, 708.0):
        if loss in ("Poisson", "Logloss"):
            model.set_scale_and_bias(1.0, shift)
        else:
            model.set_scale_and_bias(1.0, [shift, 0.0, -shift / 3])
        ensemble = read_ensemble(model)
        sums, link = ensemble.scores(X.to_numpy()), ensemble.link
        found = model.predict(X) if loss == "Poisson" else model.predict_proba(X)
        for output, own in enumerate(found.reshape(len(X), -1).T):
            low, high = link.limits(sums, output, ensemble.rounding.sums)
            assert ((low <= own) & (own <= high)).all()
            for bound in np.unique(own)[:50]:
                taken = sums @ link.weights(sums.shape[1], output)
                if loss != "MultiClass":
                    slack = 2 * ensemble.rounding.sums
                    assert (taken[own >= bound] >= link.least(bound, sums.shape[1]) - slack).all()
                    assert (taken[own <= bound] <= link.most(bound, sums.shape[1]) + slack).all()


def test_the_probability_of_a_catboost_model_is_apart_from_its_threshold(tumours):
    X, y = tumours
    model = CatBoostClassifier(**CAT).fit(X, y)
    model.set_probability_threshold(0.9)
    explainer = Explainer(model, X)
    for label, place in ((0, 300), (1, 0)):
        plain = explainer.explain(X.iloc[place], target=Probability(label, at_least=0.6))
        own = model.predict_proba(plain.counterfactual)[label]
        assert plain.status == "optimal" and own == plain.score >= 0.6
        raw = model.predict(plain.counterfactual, prediction_type="RawFormulaVal")
        score = explainer.explain(X.iloc[place], target=Score(raw, raw))
        assert score.score == raw and score.distance <= plain.distance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ties", "expected"),
    [([0.5, 0.25, 0.5], 0), ([0.25, 0.5, 0.5], 1), ([0.25, 0.25, 0.5], 2)],
)
def test_the_first_of_the_largest_wins_in_catboost(ties, expected, tmp_path):
    X, y = np.arange(30.0)[:, None], np.arange(30) // 10
    path = str(tmp_path / "model.json")
    settings = CAT | {"iterations": 1, "depth": 1}
    CatBoostClassifier(**settings, loss_function="MultiClass").fit(X, y).save_model(path, "json")
    content = json.loads((tmp_path / "model.json").read_text())
    content["oblivious_trees"][0]["leaf_values"][:3] = ties
    (tmp_path / "model.json").write_text(json.dumps(content))
    model = load_model(tmp_path / "model.json")
    assert model.predict(X[:1]).item() == expected
    assert Explainer(model, X).explain(X[-1], target=expected).status == "optimal"


def test_catboost_models_that_are_no_sums_of_thresholds_are_refused(tumours):
    X, y = tumours
    frame = X.iloc[:, :2].assign(kind=np.where(X.iloc[:, 0] > 20, "w", np.where(y, "u", "v")))
    for policy in ("SymmetricTree", "Depthwise"):
        model = CatBoostClassifier(**CAT, cat_features=["kind"], grow_policy=policy)
        with pytest.raises(UnsupportedModelError, match="statistics of the target"):
            read_ensemble(model.fit(frame, y))
    model = CatBoostRegressor(**CAT, loss_function="RMSEWithUncertainty").fit(X, y)
    with pytest.raises(UnsupportedModelError, match="several outputs"):
        read_ensemble(model)
    focal = "Focal:focal_alpha=0.5;focal_gamma=2"
    with pytest.raises(UnsupportedModelError, match="loss Focal does not classify"):
        read_ensemble(CatBoostClassifier(**CAT, loss_function=focal).fit(X, y))
    with pytest.raises(UnsupportedModelError, match="this CatBoostClassifier is not fitted"):
        Explainer(CatBoostClassifier(), X)
