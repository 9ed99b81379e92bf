"""Any question of many rows: as one by one, kept on disk, resumed."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.batch.answer_log import TABLE
from portfolio.cli.app import app
from portfolio.questions.robust.nearby import Around
from tests.support.answers import here, lines

QUESTIONS = [
    ("reasons", {"smallest": True}),
    ("necessary", {"target": "granted"}),
    ("reason_codes", {"n": 2}),
    ("robustness", {"norm": 1, "scale": "std"}),
    ("verify", {"radius": 0.5}),
    ("why_not", {"target": "granted", "margin": 0.9}),
    ("region", {}),
    ("explain_robust", {"against": Around({"income": 1})}),
    ("several", {"k": 2}),
    ("diverse", {"k": 2}),
    ("front", {"levels": [1, 2]}),
]


@pytest.fixture(scope="module")
def rows(credit):
    return credit[1].iloc[:3]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), QUESTIONS)
def test_every_question_as_it_is_answered_alone(explainer, rows, name, settings):
    table = explainer.ask_batch(name, rows, executor=here, **settings)
    assert list(table["id"]) == list(rows.index)
    for at in range(len(rows)):
        alone = getattr(explainer, name)(rows.iloc[at], **settings)
        assert (table["status"][at], table["text"][at]) == (alone.status, str(alone))
        for key in {"features", "distance", "lower_bound", "label"} & alone.to_dict().keys():
            told = alone.to_dict()[key]
            assert table[key][at] == (", ".join(told) if isinstance(told, list) else told)


def test_contrasts_with_one_row(explainer, credit, rows):
    other = credit[1].iloc[next(i for i in range(3, 99) if differs(explainer, credit[1], i))]
    table = explainer.ask_batch("contrast", rows.head(1), y=other, executor=here)
    assert table["features"][0] == ", ".join(explainer.contrast(rows.iloc[0], other).features)


def differs(explainer, X, at):
    return explainer.predict(X.iloc[at]) != explainer.predict(X.iloc[0])


def test_another_second_row_is_another_question(explainer, credit, rows, tmp_path):
    X = credit[1]
    apart = [X.iloc[at] for at in range(3, 60) if differs(explainer, X, at)][:2]
    told = [
        explainer.ask_batch(
            "contrast", rows.head(1), y=y, executor=here, out=tmp_path, resume=True
        )["text"][0]
        for y in (apart[0], apart[1].to_frame().T)
    ]
    assert told == [str(explainer.contrast(rows.iloc[0], y)) for y in apart]
    assert len(lines(tmp_path)) == 2


def test_workers_keep_answers_and_go_on(explainer, rows, tmp_path):
    first = explainer.ask_batch("reasons", rows.head(2), out=tmp_path)
    both = explainer.ask_batch("reasons", rows, out=tmp_path, resume=True)
    assert len(lines(tmp_path)) == 3
    pd.testing.assert_frame_equal(both.head(2), first)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / TABLE), both)
    with pytest.raises(InputError, match="is damaged at byte 0"):
        explainer.explain_batch(rows, out=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (
            "reason",
            {},
            "unknown question 'reason'. Did you mean \"reasons\"\\? Use one of alternatives_of",
        ),
        ("explain", {}, "explain_batch"),
        ("reasons", {"norm": 1}, "reasons has no setting 'norm' in a batch"),
        ("several", {"on_progress": print}, "has no setting 'on_progress'"),
        ("several", {"target": "maybe"}, "unknown target"),
        ("several", {"strategy": "nobody"}, "unknown backend 'nobody'"),
        ("several", {"time_limit_s": 0}, "above 0"),
    ],
)
def test_bad_settings_are_told_in_a_sentence(explainer, rows, name, settings, message):
    with pytest.raises(InputError, match=message):
        explainer.ask_batch(name, rows, **settings)


def test_what_is_wrong_with_a_row_is_told_beside_it(explainer, rows):
    table = explainer.ask_batch("reasons", rows.assign(age=float("inf")), executor=here)
    assert set(table["stop_reason"]) == {"error"} and "infinite" in table["message"][0]
    table = explainer.ask_batch("reasons", rows, order=["nothing"], executor=here)
    assert set(table["stop_reason"]) == {"error"} and "nothing" in table["message"][0]
    label = explainer.predict(rows.iloc[0])
    table = explainer.ask_batch("reason_codes", rows.head(1), target=label, executor=here)
    assert "already reaches the target" in table["text"][0]


def test_the_command_asks_other_questions(loans, tmp_path):
    call = ["batch", "--dataset", str(loans), "--train", "forest", "--trees", "5"]
    few, out = tmp_path / "few.csv", tmp_path / "out"
    pd.read_csv(loans, skiprows=[1, 2]).drop(columns="Class").head(2).to_csv(few, index=False)
    call += ["--out", str(out), "--question", "reasons"]
    asked = [*call, "--input", str(few), "--settings", '{"smallest": true}']
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert set(pd.read_parquet(out / TABLE)["smallest"]) == {True}
    for more, message in (
        (["--norm", "2"], "reasons does not support --norm. Omit it"),
        (["--settings", "[]"], "is not a JSON object"),
        (["--settings", '{"n": 2}'], "has no setting 'n'"),
        (["--settings", '{"target": 1}'], "contains 'target'. Use the option of that name instead"),
    ):
        done = CliRunner().invoke(app, [*call, "--resume", *more])
        assert message in str(done.exception)
