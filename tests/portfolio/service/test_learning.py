"""A service that learns: logs, exploration, promoted diagrams, and regret."""

import logging
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio import Explainer, MaxChanges
from portfolio.batch.exploration import EveryBackend
from portfolio.cli.app import app as command
from portfolio.engine.logbook import EXPLORED, Logbook
from portfolio.service.asking import answer, explore
from portfolio.service.catalogue import Catalogue
from portfolio.service.learning import MOST_WAITING, Explorer, Learning
from portfolio.service.messages import EXPLORE, Ask, QuestionTicket, Reply
from portfolio.service.pool import ServicePool
from portfolio.service.regret import Regrets, regret
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from selector import logs
from selector.diagram import Diagram, Leaf, load_diagram
from selector.diagram_places import SHIPPED, promote
from selector.learning.examples import examples
from selector.schedule import alone
from tests.support.records import campaign_of_six, record
from tests.support.served import served, until

CP, MILP = (Diagram((Leaf(alone(name)),)) for name in ("cp", "milp"))
BACKENDS = {"search", "cp", "milp", "maxsat"}
ENOUGH, NOT_BETTER = 5, 3


@pytest.fixture
def settings_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERFOLIO_CONFIG", str(tmp_path / "settings"))
    return tmp_path / "settings"


@pytest.fixture(scope="module")
def hard():
    """A forest whose questions reduction often leaves to a solver, and its frame."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(300, 8)), columns=list("abcdefgh"))
    y = np.where((X**2).sum(axis=1) + rng.normal(0, 2, 300) > 8, "out", "in")
    return RandomForestClassifier(25, max_depth=8, random_state=0).fit(X, y), X


@pytest.fixture(scope="module")
def learns(hard, tmp_path_factory):
    """A service that explores all it can, its client, and its folder of logs."""
    folder = tmp_path_factory.mktemp("learns")
    source = AtHand("hard", Explainer(*hard), {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTERFOLIO_CONFIG", str(folder / "settings"))
        settings = Settings(
            lambda: [source], workers=1, reload_s=0.05, logs=folder / "logs", explore=1.0
        )
        with served(settings) as (_, client):
            yield client, folder / "logs", hard[1]


@pytest.fixture
def served_model(explainer, row):
    return Catalogue(lambda: [AtHand("credit", explainer, row)]).models["credit"]


def told(client):
    return client.get("/v1/selector").json()


def ask(client, X, row, **more):
    asked = {"x": X.iloc[row].to_dict(), "norm": 2, **more}
    return client.post("/v1/models/hard/explain", json=asked).json()


@pytest.mark.large
def test_a_service_learns_from_its_own_answers(learns, tmp_path):
    client, folder, X = learns
    row = 0
    while told(client)["explored"] < ENOUGH:
        ask(client, X, row)
        row += 1
        until(lambda: not told(client)["waiting"])
    (model,) = told(client)["models"]
    assert model["diagram"]["origin"] == "shipped"
    decided = sum(each["count"] for each in model["decided"])
    found, answered = logs.read(folder / EXPLORED), logs.read(folder)
    assert decided == (answered["backend"] != "reduce").sum() >= ENOUGH
    assert set(found["query"]) <= set(answered["query"]) and set(found["mode"]) == {"solo"}
    assert set(found.groupby("query")["backend"].apply(frozenset)) == {frozenset(BACKENDS)}
    assert not logs.check(pd.concat([found, answered]))
    least = model["regret"]
    assert least["queries"] >= ENOUGH and 0 <= least["virtual_best"] <= least["single_best"]

    words = ["selector", "train", "--from-service", folder, "--out", tmp_path / "new.json",
             "--alpha", "0.1", "--thresholds", 2, "--skeleton", "1", "--cores", 1,
             "--promote"]  # fmt: skip
    done = CliRunner().invoke(command, [str(word) for word in words])
    assert done.exit_code == NOT_BETTER, done.output  # one data set leaves none to judge by
    made = load_diagram(tmp_path / "new.json")
    assert made.manifest["data_sets"] == ["hard"]

    promote(made.to_json())
    until(lambda: ask(client, X, 0)["model"]["diagram"] == made.digest)
    assert told(client)["models"][0]["diagram"]["origin"] == "promoted"
    ready = client.get("/ready").status_code
    assert ready == 200
    assert CliRunner().invoke(command, ["selector", "back"]).exit_code == 0
    until(lambda: ask(client, X, 0)["model"]["diagram"] == load_diagram(SHIPPED).digest)
    by = {each["diagram"] for each in told(client)["models"][0]["decided"]}
    assert by == {made.digest, load_diagram(SHIPPED).digest}


@pytest.mark.slow
def test_answers_are_logged_and_the_diagram_that_decided_is_told(service, credit, settings_folder):
    app, client = service
    running, X = app.state.service, credit[1]
    few = {"constraints": [{"MaxChanges": 1}], "target": "granted"}

    def decided(count):
        """Ask until a solver was needed; what the answers name, and the diagram's part in them."""
        named = {
            client.post("/v1/models/credit/explain", json={"x": own, **few}).json()["model"][
                "diagram"
            ]
            for own in X.iloc[:count].to_dict("records")
        }
        (model,) = told(client)["models"]
        counts = {each["diagram"] for each in model["decided"] if each["count"] > 0}
        return named, counts, model["diagram"]["digest"], model["diagram"]["origin"]

    shipped = load_diagram(SHIPPED).digest
    assert decided(14) == ({shipped}, {shipped}, shipped, "shipped")
    promote(CP.to_json())
    running.refresh()
    assert decided(14) == ({CP.digest}, {shipped, CP.digest}, CP.digest, "promoted")
    assert CliRunner().invoke(command, ["selector", "back"]).exit_code == 0
    running.refresh()
    assert decided(1)[2:] == (shipped, "shipped")
    state = told(client)
    assert state["logs"] and "no query" in state["models"][0]["regret"]["unknown"]
    found = logs.read(running.settings.logs)
    assert set(found["dataset"]) == {"credit"} and {"reduce", "cp"} <= set(found["backend"])


class Workers:
    """A pool with a fixed model and number of busy workers."""

    def __init__(self, model, busy):
        self.works, self.busy = (model,), busy
        self.workers, self.waiting, self.memory_bytes, self.threads = 1, 0, 0, 1


class Deaf:
    """A pool of exploration that takes questions and never answers."""

    ready, busy = True, 0

    def __init__(self):
        self.taken = []

    def start(self, models):
        pass

    def keep(self, models):
        pass

    def submit(self, ticket):
        self.taken.append(ticket)

    def close(self):
        pass


@pytest.fixture
def explorer_of(monkeypatch, served_model, tmp_path):
    """An explorer beside workers that are busy or not, the pool it asks, and what gives it work."""
    pools, begun = [], []
    monkeypatch.setattr(
        "portfolio.service.learning.ServicePool", lambda *_: pools.append(Deaf()) or pools[-1]
    )

    def made(busy):
        workers = Workers(served_model, busy)
        explorer = Explorer(workers, tmp_path, print)
        explorer.start()
        begun.append(explorer)
        return workers, explorer, pools[-1]

    yield made
    for each in begun:
        each.close()


def answered(model):
    return QuestionTicket(model, "explain", {"x": {}, "record": True, "norm": 2}, 1.0)


def test_nothing_is_explored_while_no_worker_is_free(explorer_of, served_model):
    workers, explorer, pool = explorer_of(busy=1)
    for _ in range(MOST_WAITING + 5):
        explorer.take(served_model, answered(served_model))
    time.sleep(0.2)  # in which it would begin
    assert explorer.waiting + explorer.dropped == MOST_WAITING + 5 and explorer.dropped >= 4
    assert not pool.taken
    workers.busy = 0
    until(lambda: pool.taken)
    assert pool.taken[0].arguments == {"x": {}, "norm": 2}


def test_what_is_under_way_is_dropped_when_the_last_worker_is_taken(explorer_of, served_model):
    workers, explorer, pool = explorer_of(busy=0)
    explorer.take(served_model, answered(served_model))
    until(lambda: pool.taken)
    assert not pool.taken[0].stopped and not explorer.dropped
    workers.busy = 1
    until(lambda: explorer.dropped == 1)
    assert pool.taken[0].stopped and not explorer.explored and not explorer.waiting


def test_all_backends_are_asked_and_logged_together(explainer, credit, tmp_path):
    x = credit[1].iloc[8].to_dict()
    few = {"constraints": [{"MaxChanges": 1}], "target": "granted"}
    question = Ask(EXPLORE, {"x": x, "threads": 1, "time_limit_s": 5.0, **few}, 50.0,
                   log=Logbook(tmp_path, "credit"))  # fmt: skip
    assert explore(explainer, question, EveryBackend()) == Reply({}, "explored", "")
    found = logs.read(tmp_path)
    assert sorted(found["backend"]) == sorted(BACKENDS) and found["query"].nunique() == 1
    assert len(examples(found)) == 1 and not logs.check(found)
    explainer.explain(x, "granted", constraints=[MaxChanges(1)], log=tmp_path / "asked")
    assert set(logs.read(tmp_path / "asked")["query"]) == set(found["query"])


def asked(row, folder, question="explain", **more):
    arguments = {"x": row, "threads": 1, **more}
    return Ask(question, arguments, 5.0, log=Logbook(folder, "credit"))


def test_a_log_that_cannot_be_written_costs_no_answer(
    explainer, served_model, row, tmp_path, caplog
):
    (tmp_path / "file").write_text("")
    plain = answer(explainer, Ask("explain", {"x": row, "text": True}, 5.0), print)
    given = answer(explainer, asked(row, tmp_path / "file" / "logs", text=True), print)
    assert given.members["text"] == plain.members["text"]
    assert "can't write logs" in given.complaint and not plain.complaint
    learning = Learning(Settings(list, logs=tmp_path / "logs"), ServicePool(1, 1))
    with caplog.at_level(logging.ERROR, "counterfolio.service"):
        for _ in range(3):
            learning.hear(served_model, QuestionTicket(served_model, "explain", {}, 1.0), given)
    assert len(caplog.records) == 1 and "can't write logs" in caplog.text


def test_a_folder_that_cannot_be_written_to_is_refused_at_the_start(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="can't write logs"):
        Learning(Settings(list, logs=tmp_path / "file"), ServicePool(1, 1))


def test_what_was_stopped_is_not_logged(hard, tmp_path):
    model, X = hard
    stop = threading.Event()
    stop.set()
    question = asked(X.iloc[0].to_dict(), tmp_path / "logs", EXPLORE)
    found = explore(Explainer(model, X).until(stop), question, EveryBackend())
    assert found == Reply({}, "interrupted", "")
    assert not (tmp_path / "logs").exists()


def test_models_without_a_diagram_of_their_own_follow_the_default(explainer, row, settings_folder):
    own = explainer.following(MILP)
    assert explainer.follows_default and not own.follows_default
    sources = [AtHand("ours", explainer, row), AtHand("own", own, row)]
    catalogue = Catalogue(lambda: sources)
    before = catalogue.models
    assert not catalogue.refresh()
    promote(CP.to_json())
    assert catalogue.refresh() and not catalogue.refresh()
    after = catalogue.models
    assert after["own"] is before["own"]
    assert after["ours"].explainer.diagram == CP and after["ours"].key != before["ours"].key
    assert after["ours"].digest == before["ours"].digest
    (settings_folder / "diagram.json").write_text("{}")
    assert not catalogue.refresh() and catalogue.models is after
    (settings_folder / "diagram.json").unlink()
    assert catalogue.refresh()
    assert catalogue.models["ours"].explainer.diagram == load_diagram(SHIPPED)


def test_the_regret_is_what_another_choice_would_have_saved(tmp_path):
    records = [
        record("1", "cp", 1.0), record("1", "milp", 3.0),
        record("2", "cp", 5.0), record("2", "milp", 2.0),
    ]  # fmt: skip
    logs.append(tmp_path, records)
    found = examples(logs.read(tmp_path))
    told = regret(CP, found, 1)
    describe_s = records[0].describe_s
    assert told.seconds == pytest.approx(3.0 + describe_s)
    assert (told.virtual_best, told.single_best, told.backend) == (1.5, 2.5, "milp")
    assert told.regret == pytest.approx(1.5 + describe_s)
    race = Diagram((Leaf(((("milp", "cp"), float("inf")),)),))
    assert regret(race, found, 2).seconds == pytest.approx(1.5 + describe_s)
    assert regret(race, found, 1).seconds == pytest.approx(2.5 + describe_s)


def test_regrets_are_told_by_model_and_of_the_logs_of_now(tmp_path):
    regrets = Regrets(tmp_path, 1)
    assert "no query" in regrets.of({"set0": CP})["set0"]["unknown"]
    logs.append(tmp_path / EXPLORED, campaign_of_six())
    told = regrets.of({"set0": CP, "strange": CP})
    assert told["set0"]["queries"] == 30 and "no explored query" in told["strange"]["unknown"]
    assert regrets.of({"set0": CP, "strange": CP}) is told
    assert regrets.of({"set0": MILP})["set0"]["seconds"] < told["set0"]["seconds"]


@pytest.mark.parametrize(
    ("given", "words"), [({"explore": 0.1}, "Set logs"), ({"explore": 1.5}, "from 0 to 1")]
)
def test_shares_that_cannot_be_explored(given, words):
    with pytest.raises(InputError, match=words):
        Settings(list, **given)
