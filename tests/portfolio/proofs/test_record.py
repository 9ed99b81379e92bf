"""Records: what is in them, what they prove, and what the command line makes of them."""

import gzip
import hashlib
import json
import os
import pickle
import resource
import signal
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

from portfolio import (
    Beat,
    Explainer,
    Fixed,
    InputError,
    Less,
    MaxChanges,
    Plausibility,
    Probability,
    Score,
)
from portfolio.api.variants import asker_of
from portfolio.batch.answer_log import AnswerLog
from portfolio.batch.job import FIELDS, Job
from portfolio.checker import RejectedError, check, main
from portfolio.engine.question import Options, Question
from portfolio.engine.witness import Witnesses
from portfolio.proofs.prove import _Writer
from portfolio.workers.work import Task
from tests.portfolio.cli.test_cli import run
from tests.support.answers import here, lines

pytestmark = pytest.mark.usefixtures("forked_children")

SCHEMA = json.loads(files("portfolio.proofs").joinpath("record.schema.json").read_text())


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    return X, xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, y)


def plain(result):
    record = json.loads(result.record().to_json())
    jsonschema.validate(record, SCHEMA)
    return record


@pytest.mark.parametrize("strategy", ["search", "cp", ("search", "milp")])
def test_whoever_proved_it_the_record_proves_it_again(tumours, strategy):
    X, model = tumours
    result = Explainer(model, X).explain(X.iloc[0], strategy=strategy)
    record = plain(result)
    assert float(record["distance"]) == result.distance
    assert f"cheaper than {record['proof']['below']} is predicted as 1" in check(record, model)


def test_that_there_is_none_is_proved_too(tumours):
    X, model = tumours
    result = Explainer(model, X).explain(X.iloc[0], constraints=[Fixed(n) for n in X.columns[1:]])
    record = plain(result)
    assert record["status"] == "infeasible" and record["answer"] is None
    assert check(record, model).startswith("verified: no admissible row is predicted as 1")


def test_of_several_classes_each_has_a_cover():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
    result = Explainer(model, X).explain(X.iloc[0], constraints=[MaxChanges(2)])
    record = plain(result)
    assert len(record["proof"]["covers"]) == 2
    assert "is predicted as 1 or 2" in check(record, model)


def test_a_bound_of_unfinished_work_is_checked_alike(tumours):
    X, model = tumours
    result = Explainer(model, X).explain(X.iloc[0])
    halfway = replace(
        result, status="feasible", stop_reason="time_limit", lower_bound=result.distance / 2
    )
    record = plain(halfway)
    assert record["status"] == "feasible" and check(record, model)


def test_a_row_that_is_one_already_has_nothing_to_prove(tumours):
    X, model = tumours
    target = int(model.predict(X.iloc[[0]])[0])
    record = plain(Explainer(model, X).explain(X.iloc[0], target=target))
    assert record["distance"] == 0.0 and check(record, model)


def test_a_wrong_reading_is_found(tumours, monkeypatch):
    """Trees that are read as if class 1 were out of reach: our own proof is of another model."""
    X, model = tumours
    explainer = Explainer(model, X)
    monkeypatch.setattr(Witnesses, "find", lambda *_: None)
    for view in asker_of(explainer).model.views:
        score = view.cells.score_of_node.copy()
        score[:, 1] -= 10
        object.__setattr__(view.cells, "score_of_node", score)
    result = explainer.explain(X.iloc[0])
    assert result.status == "infeasible"
    with pytest.raises(RejectedError, match="does not hold"):
        check(plain(result), model)


def test_what_can_not_be_checked_says_why(tumours):
    X, _ = tumours
    model = GradientBoostingClassifier(n_estimators=5).fit(X, np.arange(len(X)) % 2)
    record = Explainer(model, X).explain(X.iloc[0]).record()
    assert not record.proved and "GradientBoostingClassifier" in record.why_not
    with pytest.raises(RejectedError, match="has no proof"):
        record.check(model)
    gone = pickle.loads(pickle.dumps(Explainer(model, X).explain(X.iloc[0])))
    with pytest.raises(InputError, match="needs the model and an answer"):
        gone.record()


@pytest.mark.parametrize("demand", ["also", "plausibility"])
def test_demands_of_other_models_have_no_proof_in_a_record(tumours, demand):
    X, model = tumours
    labels = model.predict(X)
    more = {
        "also": [RandomForestClassifier(5, max_depth=3, random_state=1).fit(X, labels)],
        "plausibility": Plausibility.fit(X, labels, n_estimators=5),
    }
    explainer = Explainer(model, X, **{demand: more[demand]})
    target = next(label for label in explainer.classes if label != labels[0])
    record = explainer.explain(X.iloc[0], target=target).record()
    assert not record.proved and "further models are not supported" in record.why_not
    with pytest.raises(RejectedError, match="has no proof"):
        record.check(model)


@pytest.mark.parametrize("norm", [0.5, 9])
def test_powers_that_are_not_whole_or_large_say_why_there_is_no_proof(tumours, norm):
    X, model = tumours
    record = plain(Explainer(model, X).explain(X.iloc[0], norm=norm))
    assert record["question"]["power"] == norm
    assert record["why_no_proof"] == "norms other than 0, 1, ..., 8 and inf are not supported"


def test_the_command_line_writes_and_checks(loans, tmp_path, tumours, monkeypatch, capsys):
    X, model = tumours
    model.save_model(tmp_path / "model.ubj")
    record = Explainer(model, X).explain(X.iloc[0]).record()
    record.write(tmp_path / "answer.json.gz")
    packed = (tmp_path / "answer.json.gz").read_bytes()
    assert json.loads(gzip.decompress(packed)) == record.to_dict()
    lines = [record.to_json(), "{}", "[1", record.to_json().replace('"below": 0', '"below": 9')]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))

    def checked(*words):
        monkeypatch.setattr("sys.argv", ["counterfolio-check", *map(str, words)])
        code = main()
        told = capsys.readouterr()
        return code, (told.out + told.err).splitlines()

    at = ("--model", tmp_path / "model.ubj")
    assert checked(tmp_path / "answer.json.gz", *at)[0] == 0
    code, told = checked(tmp_path / "answer.json.gz", *at, "--work", 10)
    assert code == 1 and "raise --work" in told[0]
    code, told = checked(tmp_path / "rows.jsonl", *at)
    assert code == 1 and told[0].startswith("1: verified") and len(told) == 4
    assert all("not verified" in line for line in told[1:])
    assert checked(tmp_path / "none.json", *at)[0] == 2
    forest = ("--dataset", loans, "--train", "forest", "--trees", 6, "--depth", 3)
    told = run("explain", *forest, "--row", 0, "--record", tmp_path / "own.json")
    assert told.exit_code == 0 and json.loads((tmp_path / "own.json").read_text())["answer"]
    told = run("explain", *forest, "--row", 0, "--record", tmp_path / "nowhere" / "own.json")
    assert isinstance(told.exception, InputError) and "does not exist. Create it." in str(
        told.exception
    )


@pytest.mark.slow
def test_it_names_the_file_that_the_model_came_from(tmp_path, tumours):
    X, model = tumours
    file = tmp_path / "model.json"
    model.save_model(file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    named = Explainer(model, X, model_file=file)
    assert plain(named.explain(X.iloc[0]))["model"]["file"] == digest
    assert named.digest == Explainer(model, X).digest
    assert plain(Explainer(model, X).explain(X.iloc[0]))["model"]["file"] is None
    with pytest.raises(InputError, match=r"none\.json cannot be read: No such file"):
        Explainer(model, X, model_file=tmp_path / "none.json")
    X.assign(label=model.predict(X)).to_csv(tmp_path / "rows.csv", index=False)
    told = run(
        *("explain", "--data", tmp_path / "rows.csv", "--label", "label", "--model", file),
        *("--row", 0, "--record", tmp_path / "own.json"),
    )
    assert told.exit_code == 0, told.output
    assert json.loads((tmp_path / "own.json").read_text())["model"]["file"] == digest


def test_each_row_of_a_batch_has_its_record(tumours, tmp_path, monkeypatch, capsys):
    X, model = tumours
    explainer = Explainer(model, X)
    with pytest.raises(InputError, match="Set out"):
        explainer.explain_batch(X.iloc[:3], records=True)
    explainer.explain_batch(X.iloc[:3], out=tmp_path, records=True, executor=here)
    model.save_model(tmp_path / "model.ubj")
    words = ["counterfolio-check", tmp_path / "answers.jsonl", "--model", tmp_path / "model.ubj"]
    monkeypatch.setattr("sys.argv", [str(word) for word in words])
    assert main() == 0
    assert capsys.readouterr().out.count("verified: no admissible row cheaper") == 3


def signalled(monkeypatch, number):
    """A signal at the first step that is written, and on with the work once it has been heard."""
    own = _Writer.write

    def write(self, steps):
        os.kill(os.getpid(), number)
        until = time.monotonic() + 20
        while not self.limits.over() and time.monotonic() < until:
            time.sleep(0.01)
        return own(self, steps)

    monkeypatch.setattr(_Writer, "write", write)
    monkeypatch.setattr("encoders.search.cover.SLICE", 1)


def test_ctrl_c_leaves_a_record_without_a_proof(tumours, monkeypatch):
    X, model = tumours
    result = Explainer(model, X).explain(X.iloc[2])  # its proof takes several nodes
    with monkeypatch.context() as patch:
        signalled(patch, signal.SIGINT)
        record = plain(result)
    assert record["proof"] is None and record["why_no_proof"] == "it was interrupted"
    assert record["status"] == "optimal" and plain(result)["proof"]


def test_limits_of_numbers_are_exact(tumours):
    X, model = tumours
    now = float(model.predict_proba(X.iloc[[0]])[0, 1])
    result = Explainer(model, X).explain(X.iloc[0], target=Probability(1, at_least=2 / 3))
    record = plain(result)
    entry = {"output": None, "number": "probability", "class": 1, "lower": 2 / 3, "upper": None}
    assert record["question"]["numbers"] == [entry | {"query": now}]
    assert record["answer"]["numbers"] == [result.score] and result.score >= 2 / 3
    raw = plain(Explainer(model, X).explain(X.iloc[0], target=Score(0.1, 0.9)))
    limits = raw["question"]["numbers"][0]
    assert (limits["number"], limits["lower"], limits["upper"]) == ("raw", 0.1, 0.9)
    assert 0.1 <= raw["answer"]["numbers"][0] <= 0.9
    assert plain(Explainer(model, X).explain(X.iloc[0]))["question"]["numbers"] == []


def test_relative_limits_of_numbers_are_resolved(tumours):
    X, _ = tumours
    model = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X, X.iloc[:, 0])
    explainer, now = Explainer(model, X), model.predict(X.iloc[[0]])[0]
    lower = plain(explainer.explain(X.iloc[0], target=Less(by=1 / 3)))["question"]["numbers"][0]
    assert (lower["lower"], lower["upper"], lower["query"]) == (None, now - 1 / 3, now)
    beaten = plain(explainer.explain(X.iloc[0], target=Beat(X.iloc[1])))["question"]["numbers"][0]
    assert beaten["lower"] == np.nextafter(model.predict(X.iloc[[1]])[0], np.inf)


def _fault(number):
    """Return the message of the error for an invalid limit."""
    too_long = isinstance(number, int) and abs(number) > sys.float_info.max
    return "that fits in a float" if too_long else "of at least 0"


def test_limits_leave_a_record_without_a_proof(tumours):
    X, model = tumours
    result = Explainer(model, X).explain(X.iloc[0])
    assert result.record(time_limit_s=0).why_not == "the time limit was reached"
    assert "its steps exceed the size limit" in result.record(proof_mb=0).why_not
    odd = (-1, float("nan"), "much", None, 1j, 10**400, -(10**5000), [1])
    for name in ("time_limit_s", "proof_mb"):
        for number in odd:
            with pytest.raises(InputError, match=f"{name} must be a number {_fault(number)}"):
                result.record(**{name: number})
    record = result.record(time_limit_s=1e308, proof_mb=float("inf"))
    for number in odd:
        with pytest.raises(InputError, match=f"work must be a number {_fault(number)}"):
            record.check(model, work=number)
    with pytest.raises(RejectedError, match="raise --work"):
        record.check(model, work=1)
    assert record.check(model, work=float("inf")) == record.check(model)


def test_a_full_disk_leaves_the_old_record(tumours, tmp_path):
    X, model = tumours
    record = Explainer(model, X).explain(X.iloc[0]).record()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    (tmp_path / "answer.json").write_text("old")
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(InputError, match=r"cannot write the record to .* \(File too large\)"):
            record.write(tmp_path / "answer.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_signal_ends_the_proof_and_not_the_command(loans, tmp_path, monkeypatch):
    signalled(monkeypatch, signal.SIGTERM)
    forest = ("--dataset", loans, "--train", "forest", "--trees", 6, "--depth", 3)
    told = run("explain", *forest, "--row", 0, "--record", tmp_path / "own.json")
    assert told.exit_code == 0
    record = json.loads((tmp_path / "own.json").read_text())
    assert record["status"] == "optimal" and record["why_no_proof"] == "it was interrupted"


def test_a_batch_that_was_stopped_goes_on_with_its_records(tumours, tmp_path):
    X, model = tumours
    explainer, rows = Explainer(model, X), X.iloc[:5]
    settings = {"out": tmp_path, "records": True, "executor": here}

    def press(answered, of):
        if answered == 2:
            raise KeyboardInterrupt

    cut = explainer.explain_batch(rows, **settings, on_answer=press)
    assert (cut["stop_reason"] == "interrupted").sum() == 3
    assert list(cut["why_no_proof"] == "") == [True, True, False, False, False]
    whole = explainer.explain_batch(rows, **settings, resume=True)
    assert (whole["why_no_proof"] == "").all()
    told = lines(tmp_path)
    assert len({line["key"] for line in told}) == len(told) == 5
    assert all("verified" in check(line["record"], model) for line in told)


def test_a_batch_keeps_its_records_on_the_disk_only(tmp_path):
    held = AnswerLog(tmp_path, False, FIELDS, frozenset(("record",)))
    held.append(dict.fromkeys(FIELDS, "") | {"record": {}})
    held.close()
    again = AnswerLog(tmp_path, True, FIELDS, frozenset(("record",)))
    assert [record.keys() for record in again.records.values()] == [FIELDS]
    again.close()
    assert "record" in lines(tmp_path)[0]


def test_a_proof_that_a_deadline_cut_short_is_asked_again(tumours):
    X, model = tumours
    job = Job(asker_of(Explainer(model, X)), Question(), Options(), None, 64.0)
    row = X.iloc[0].to_numpy(dtype=np.float64)
    for limit_s, cut, final in ((60.0, True, True), (1e-9, False, True), (1e-9, True, False)):
        record = job.answer(Task("key", row, limit_s, cut=cut))
        assert record["final"] == final and (record["why_no_proof"] == "") == (limit_s > 1)


class Page(HTMLParser):
    """Every tag is closed, nothing is loaded, and headers of tables say what they are of."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_people_can_read_it(tumours, tmp_path):
    X, model = tumours
    X = X.rename(columns={X.columns[0]: "<b>radius & co"})
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(
        X.to_numpy(), model.predict(X.to_numpy())
    )
    explainer = Explainer(model, X)
    result = explainer.explain(X.iloc[0], constraints=[Fixed("<b>radius & co")])
    record = result.record(reasons=explainer.reason_codes(X.iloc[0], n=2))
    jsonschema.validate(json.loads(record.to_json()), SCHEMA)
    record.write(tmp_path / "answer.json")
    told = run("report", tmp_path / "answer.json", "--out", tmp_path / "page.html")
    assert told.exit_code == 0, told.output
    page = Page((tmp_path / "page.html").read_text())
    assert not page.open and not {"script", "link", "img", "b"} & {tag for tag, _ in page.seen}
    assert all("scope" in attrs for tag, attrs in page.seen if tag == "th")
    for words in (
        "<b>radius & co",
        "stays as it is",
        "No smaller allowed change is enough",
        "Principal",
    ):
        assert words in page.text
    (tmp_path / "none.json").write_text("{}")
    told = run("report", tmp_path / "none.json", "--out", tmp_path / "page.html")
    assert isinstance(told.exception, InputError) and "is incomplete" in str(told.exception)
