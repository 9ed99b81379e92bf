"""The client's answers are those of an explainer in process."""

import asyncio
import copy
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from httpx import MockTransport, Response

from encoders.core.errors import InputError
from portfolio import AsyncClient, Beat, Client, Fixed, Probability, Retraining, Score, ServiceError
from portfolio.client.jobs import body_of
from portfolio.client.received import _reached
from portfolio.results.received_row import ReceivedRow
from tests.portfolio.service.test_answers import lasting


@pytest.fixture
def asks(client):
    with Client(str(client.base_url), "credit") as found:
        yield found


ASKED = [
    {},
    {"constraints": [Fixed("income")], "norm": 2},
    {"target": Probability("granted", at_least=0.6)},
    {"target": Beat([40, 30, 1, 0, 1, 0])},
    {"norm": np.inf, "strategy": "cp"},
    {"norm": {"employed": {0: 0.0, 1: 0.25}}},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_result_is_the_one_of_an_explainer(asks, explainer, refused, asked):
    told, own = asks.explain(refused, **asked), explainer.explain(refused, threads=1, **asked)
    assert lasting(told.to_dict()) == lasting(own.to_dict())
    assert str(told) == str(own)
    assert (told.changed, told.told, told.target) == (own.changed, own.told, own.target)
    assert str(told.rounded) == str(own.rounded)
    pd.testing.assert_series_equal(told.counterfactual, own.counterfactual)


def test_an_answer_has_the_shape_of_its_row(asks, explainer, refused):
    for x in (refused, refused.to_frame().T, refused.to_dict(), refused.to_numpy()):
        told, own = asks.explain(x).counterfactual, explainer.explain(x, threads=1).counterfactual
        assert type(told) is type(own)
        np.testing.assert_array_equal(np.asarray(told), np.asarray(own))


def test_without_sentences_a_result_has_all_digits(asks, explainer, refused):
    told, own = asks.explain(refused, text=False), explainer.explain(refused, threads=1)
    assert lasting(told.to_dict()) == lasting(own.to_dict())
    assert told.told == told.changed == own.changed
    assert told.scored == own.scored


@pytest.mark.parametrize("text", [False, True])
def test_numbers_in_fewer_digits_may_be_left_out(asks, explainer, refused, text):
    told = asks.explain(refused, text=text, rounded=False)
    own = explainer.explain(refused, threads=1)
    assert own.rounded is not None and told.rounded is None
    assert lasting(told.to_dict()) == lasting(own.to_dict()) | {"rounded": None}
    assert told.told == (own.told if text else own.changed)


def test_infeasible_is_told_with_its_bound(asks, explainer, refused):
    fixed = [Fixed(name) for name in ("income", "employed", "home")]
    told, own = (each.explain(refused, constraints=fixed) for each in (asks, explainer))
    assert (told.status, told.lower_bound, told.counterfactual) == (
        own.status, own.lower_bound, None,
    )  # fmt: skip
    assert str(told) == str(own)


def test_progress_is_heard_and_what_it_raises_is_raised(asks, refused):
    heard = []
    told = asks.explain(refused, strategy="cp", on_progress=lambda *point: heard.append(point))
    assert heard == list(told.trace)
    with pytest.raises(InputError, match="nobody"):
        asks.explain(refused, "nobody", on_progress=print)
    with pytest.raises(ZeroDivisionError):
        asks.explain(refused, on_progress=lambda *point: 1 / 0)


def test_other_questions_are_methods_of_the_same_names(asks, explainer, refused):
    told, own = asks.reasons(refused), explainer.reasons(refused)
    assert lasting(told.to_dict()) == lasting(own.to_dict())
    assert str(told) == str(own)
    assert told.status == "optimal"
    robust = asks.explain_robust(refused, against=Retraining(confidence=0.6))
    assert robust.status == "optimal"
    with pytest.raises(AttributeError, match="unknown question 'reason'"):
        asks.reason(refused)
    with pytest.raises(AttributeError, match="no 'featurs'"):
        told.featurs  # noqa: B018


def test_a_record_holds(asks, credit, refused):
    assert asks.record(refused).check(credit[0])


def test_errors_are_those_of_an_explainer_or_of_the_service(asks, client, refused):
    with pytest.raises(InputError, match="nobody"):
        asks.explain(refused, "nobody")
    with pytest.raises(InputError, match="function"):
        asks.explain(refused, norm=lambda *given: 1.0)
    with Client(str(client.base_url), "none") as other, pytest.raises(ServiceError) as error:
        other.explain(refused)
    assert error.value.status == 404
    with pytest.raises(ServiceError, match="--jobs FOLDER"):
        asks.explain_group(refused.to_frame().T)
    with Client("http://127.0.0.1:1", "none") as other, pytest.raises(ServiceError) as error:
        other.explain(refused)
    assert error.value.status == 0


@pytest.mark.parametrize(
    "content", [{"text": "<html>"}, {"json": [1]}, {"status_code": 302, "text": ""}]
)
def test_what_is_no_service_is_told(refused, content):
    answers = MockTransport(lambda request: Response(**{"status_code": 200} | content))
    other = Client("http://elsewhere", "credit", transport=answers)
    with other, pytest.raises(ServiceError) as error:
        other.explain(refused)
    assert error.value.status == content.get("status_code", 200)
    with pytest.raises(InputError, match="ASCII"):
        Client("http://elsewhere", "credit", key="schlüssel")


def test_many_questions_at_once(client, explainer, refused):
    async def ask():
        async with AsyncClient(str(client.base_url), "credit") as asks:
            several = asks.several(refused, k=2)
            return await asyncio.gather(asks.explain(refused), asks.explain(refused), several)

    first, second, several = asyncio.run(ask())
    own = lasting(explainer.explain(refused, threads=1).to_dict())
    assert lasting(first.to_dict()) == lasting(second.to_dict()) == own
    assert len(several.answers) <= 2


def test_bounds_are_told_to_who_awaits_too(client, refused):
    async def ask():
        heard = []
        async with AsyncClient(str(client.base_url), "credit") as asks:
            told = await asks.explain(
                refused, strategy="cp", on_progress=lambda *point: heard.append(point)
            )
            assert heard == list(told.trace)
            with pytest.raises(InputError, match="nobody"):
                await asks.explain(refused, "nobody", on_progress=print)
            with pytest.raises(ZeroDivisionError):
                await asks.explain(refused, on_progress=lambda *point: 1 / 0)

    asyncio.run(ask())


def test_types_and_gaps_of_a_row_come_back(asks, explainer, credit):
    typed = credit[1].iloc[[0]].assign(age=lambda own: own["age"].astype("int32"))
    turned = typed[typed.columns[::-1]]
    for x in (typed, turned, pl.from_pandas(typed)):
        told, own = asks.explain(x).counterfactual, explainer.explain(x, threads=1).counterfactual
        assert type(told) is type(own)
        assert [str(kind) for kind in told.dtypes] == [str(kind) for kind in own.dtypes]
        assert str(told.to_dict()) == str(own.to_dict())
    gap = pd.DataFrame({"a": [1.5], "b": [2]})
    back = ReceivedRow(np.empty(0), None, None, {"a": None, "b": 3}, gap).given()
    assert back.dtypes.tolist() == gap.dtypes.tolist() and back["a"].isna().all()


def test_what_json_lacks_is_missing_or_refused(asks, refused):
    sent = json.loads(body_of({"a": pd.NA, "b": pd.NaT, "c": np.nan}, {}))
    assert sent["x"] == {"a": None, "b": None, "c": None}
    for more in ({"x": refused * np.inf}, {"x": refused, "margin": np.inf}):
        with pytest.raises(InputError, match="infinite"):
            asks.explain(**more)


def test_goals_are_those_that_were_asked_for(asks, explainer, refused):
    goal = Probability(np.str_("granted"), at_least=0.6)
    assert str(asks.explain(refused, target=goal)) == str(explainer.explain(refused, target=goal))
    assert repr(goal) == "Probability(label='granted', at_least=0.6, at_most=None)"
    assert _reached("Score(low=1, high=2)", (1, 2)) == Score(1, 2)


def test_an_answer_is_copied_and_pickled(asks, refused):
    told = asks.reasons(refused)
    assert copy.deepcopy(told).content == pickle.loads(pickle.dumps(told)).content == told.content
