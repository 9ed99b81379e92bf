"""Questions of many steps tell how far they are."""

import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer


@pytest.fixture(scope="module")
def granted(credit):
    model, X = credit
    return X[model.predict(X) == "granted"].iloc[0]


def told_by(ask, *args, **given):
    told = []
    answer = ask(*args, **given, on_progress=lambda *each: told.append(each))
    seconds = [each[0] for each in told]
    assert told and seconds == sorted(seconds)
    return answer, [each[1] for each in told], [each[2] for each in told]


def test_necessary_features(explainer, refused):
    answer, may_be, sure = told_by(explainer.necessary, refused, "granted")
    assert may_be == sorted(may_be, reverse=True) and sure == sorted(sure)
    assert may_be[-1] == sure[-1] == len(answer.features)


def test_reason_codes(explainer, refused):
    _, done, features = told_by(explainer.reason_codes, refused)
    every = len(explainer.features.features)
    assert done == list(range(1, every + 1)) and set(features) == {every}


def test_contrasts(explainer, refused, granted):
    answer, upper, lower = told_by(explainer.contrast, refused, granted)
    assert upper[-1] == lower[-1] == len(answer.features)


def test_few_answers_that_are_far_apart(explainer, refused):
    answer, upper, lower = told_by(explainer.diverse, refused, k=20, within=0.0, target="granted")
    assert answer.complete and upper[-1] == lower[-1] == answer.apart


def test_robustness_under_several_models(credit, refused):
    model, X = credit
    labels = model.predict(X)
    others = [RandomForestClassifier(5, max_depth=3, random_state=s).fit(X, labels) for s in (1, 2)]
    explainer = Explainer(model, X, also=others)
    answer, upper, lower = told_by(explainer.robustness, refused)
    assert upper == sorted(upper, reverse=True) and lower == sorted(lower)
    assert upper[-1] == answer.distance >= lower[-1] > 0


@pytest.mark.parametrize("name", ["necessary", "reason_codes", "contrast"])
def test_what_can_not_be_called(name, explainer, refused, granted):
    more = (granted,) if name == "contrast" else ()
    with pytest.raises(ValueError, match="on_progress must be a function"):
        getattr(explainer, name)(refused, *more, on_progress=7)
