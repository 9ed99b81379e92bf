"""Sessions: one model for many rows, and honest times."""

import pytest

from encoders.errors import InputError
from portfolio import Increase

NAMES = ["cp", "cp:plain", "milp", "milp/highs:ocean", "maxsat", "maxsat:linear"]


@pytest.mark.parametrize("name", NAMES)
def test_a_session_answers_like_explain(explainer, credit, name):
    _, frame = credit
    rows = [row for _, row in frame.iterrows() if explainer.predict(row) == "refused"][:6]
    with explainer.session("granted", backend=name) as session:
        for row in rows:
            expected = explainer.explain(row, target="granted")
            result = session.explain(row)
            assert (result.status, result.verified) == ("optimal", True)
            assert result.distance == pytest.approx(expected.distance, rel=1e-6)
            assert result.backend == name.partition(":")[0].partition("/")[0]
            assert result.timings.build > 0 and result.timings.reduce == 0


def test_constraints_may_depend_on_the_row(explainer, credit):
    _, frame = credit
    rows = [row for _, row in frame.iterrows() if explainer.predict(row) == "refused"][:6]
    only_older = [Increase("age")]
    with explainer.session("granted", constraints=only_older) as session:
        for row in rows:
            expected = explainer.explain(row, target="granted", constraints=only_older)
            result = session.explain(row)
            assert result.status == expected.status
            assert result.distance == pytest.approx(expected.distance)


def test_without_a_target_every_class_has_its_own_model(explainer, credit):
    _, frame = credit
    with explainer.session(backend="maxsat") as session:
        for _, row in frame.head(6).iterrows():
            expected = explainer.explain(row)
            assert session.explain(row).distance == pytest.approx(expected.distance)


@pytest.mark.parametrize("name", ["search", "smt"])
def test_backends_without_models_to_keep_are_refused(explainer, name):
    with pytest.raises(InputError, match=f"backend {name} keeps no model"):
        explainer.session("granted", backend=name)


def test_a_closed_session_starts_again(explainer, refused):
    session = explainer.session("granted", backend="milp")
    first = session.explain(refused)
    session.close()
    assert session.explain(refused).distance == pytest.approx(first.distance)
    session.close()
