"""Models from files: what a TOML may say, and how changed files are taken up."""

import shutil

import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

from encoders.core.errors import InputError
from portfolio.model import files
from portfolio.service.app import create_app
from portfolio.service.catalogue import Catalogue
from portfolio.service.examples import plain_row, typical_row
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand, chosen, read_folder
from tests.support.served import Unserved


@pytest.fixture
def folder(credit, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "probe", lambda path: "")  # which takes a process, and has tests
    model, X = credit
    skops.io.dump(model, tmp_path / "forest.skops")
    X.assign(y=model.predict(X)).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "credit.toml").write_text(
        'model = "forest.skops"\ndata = "rows.csv"\nlabel = "y"\ncontamination = 0.1\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = 3\ndata = 'x'", "model must be text"),
        ("model = 'x'", "the setting 'data' is missing"),
        ("model = 'x'\ndata = 'y'\ntrust = true", "unknown setting 'trust'"),
        ("model = 'x'\ndata = 'y'\ntrust_pickle = 'yes'", "true or false"),
        ("model =", "Invalid value"),
    ],
)
def test_what_a_toml_may_not_say(folder, text, words):
    (folder / "credit.toml").write_text(text)
    (source,) = read_folder(folder)
    with pytest.raises(InputError, match=words):
        source.open()


@pytest.mark.parametrize("setting", ["model = 'm.pkl'", "model = 'forest.skops'\nalso = ['m.pkl']"])
def test_a_pickle_is_refused_with_the_setting_that_its_toml_lacks(folder, setting):
    (folder / "m.pkl").write_bytes(b"")
    (folder / "credit.toml").write_text(f"{setting}\ndata = 'rows.csv'\nlabel = 'y'\n")
    (source,) = read_folder(folder)
    with pytest.raises(InputError, match=r"set trust_pickle = true in credit\.toml\.$"):
        source.open()
    (source,) = chosen(model=folder / "m.pkl", data=folder / "rows.csv")()
    with pytest.raises(InputError, match=r"add --trust-pickle\.$"):
        source.open()


@pytest.mark.parametrize("option", [{"label": "y"}, {"name": "m"}, {"trust_pickle": True}])
def test_options_of_one_model_say_nothing_of_a_folder(tmp_path, option):
    for way in ({"models": tmp_path}, {"demo": True}):
        with pytest.raises(InputError, match="need --model"):
            chosen(**way, **option)


def test_a_folder_without_models_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no \.toml"):
        read_folder(tmp_path)


def test_changed_models_replace_all_at_once_and_bad_ones_nothing(explainer, credit):
    X = credit[1]
    row = plain_row(X.iloc[0])
    at_hand = [AtHand("a", explainer, row), AtHand("b", explainer, row)]
    catalogue = Catalogue(lambda: at_hand)
    before = catalogue.models
    assert not catalogue.refresh()
    at_hand[1] = Broken()
    assert not catalogue.refresh()
    assert catalogue.models is before
    at_hand[1] = AtHand("c", explainer, row)
    assert catalogue.refresh()
    assert list(catalogue.models) == ["a", "c"]
    assert catalogue.models["a"] is before["a"]
    assert list(before) == ["a", "b"]


@pytest.mark.slow
def test_a_folder_has_the_models_that_its_files_name_and_takes_up_new_files(folder, credit):
    model, X = credit
    catalogue = Catalogue(lambda: read_folder(folder))
    old = catalogue.models["credit"]
    assert old.explainer.classes == ("granted", "refused")
    assert old.example == typical_row(old.explainer.features, X)
    other = RandomForestClassifier(3, random_state=5).fit(X, model.predict(X))
    skops.io.dump(other, folder / "forest.skops")
    assert catalogue.refresh()
    assert catalogue.models["credit"].digest != old.digest


@pytest.mark.slow
def test_one_bad_model_stops_no_other_and_is_there_once_it_is_mended(folder, credit):
    (folder / "later.toml").write_text('model = "later.skops"\ndata = "rows.csv"\nlabel = "y"\n')
    (folder / "wrong.toml").write_text("model =")
    client = Unserved(create_app(Settings(lambda: read_folder(folder), workers=1, reload_s=0)))
    catalogue = client.app.state.service.catalogue
    told = client.get("/v1/models").json()
    assert [model["name"] for model in told["models"]] == ["credit"]
    why = {each["name"]: each["detail"] for each in told["failed"]}
    assert why.keys() == {"later", "wrong"}
    assert why["later"] == "model 'later': model file later.skops does not exist. Check the path."
    assert str(folder) not in str(why)
    asked = client.get("/v1/models/wrong")
    assert (asked.status_code, asked.json()["detail"]) == (503, why["wrong"])
    assert not catalogue.refresh()
    shutil.copy(folder / "forest.skops", folder / "later.skops")
    credit_before = catalogue.models["credit"]
    assert catalogue.refresh()
    assert list(catalogue.models) == ["credit", "later"]
    assert list(catalogue.failures) == ["wrong"]
    (folder / "credit.toml").write_text("model = 3")
    assert not catalogue.refresh()  # and what was served goes on
    assert catalogue.models["credit"] is credit_before
    assert list(catalogue.failures) == ["credit", "wrong"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('model = "a\\u0000.skops"\ndata = "rows.csv"', "is not a file name"),
        ('model = "forest.skops"\ndata = "rows.csv"\nalso = ["\\u0000"]', "is not a file name"),
        (f'model = "m"\ndata = "d"\nalso = {"[" * 1500}{"]" * 1500}', "too deep"),
    ],
    ids=["model", "also", "deep"],
)
def test_a_toml_that_names_no_file_stops_no_other_model(folder, text, words):
    (folder / "wrong.toml").write_text(text)
    catalogue = Catalogue(lambda: read_folder(folder))
    assert list(catalogue.models) == ["credit"]
    assert words in catalogue.failures["wrong"].detail
    (folder / "wrong.toml").write_text((folder / "credit.toml").read_text())
    assert catalogue.refresh() and list(catalogue.models) == ["credit", "wrong"]


def test_a_bug_of_a_reader_stops_no_other_model(explainer, credit):
    broken = Broken()
    broken.open = lambda: 1 / 0
    catalogue = Catalogue(lambda: [AtHand("a", explainer, plain_row(credit[1].iloc[0])), broken])
    assert list(catalogue.models) == ["a"]
    assert "internal error. See the server log." in catalogue.failures["b"].detail


def test_a_start_without_any_model_ends_with_its_sentence(folder):
    (folder / "credit.toml").write_text("model = 3\ndata = 'x'")
    with pytest.raises(InputError, match="model must be text"):
        Catalogue(lambda: read_folder(folder))


class Broken:
    name = "b"

    def state(self):
        return "changed"

    def open(self):
        raise InputError("no.")


def test_a_typical_row_is_admissible_and_none_of_the_table(explainer, credit):
    X = credit[1]
    row = typical_row(explainer.features, X)
    assert [row["home_free"], row["home_own"], row["home_rent"]].count(1.0) == 1
    assert X["age"].min() < row["age"] < X["age"].max() and row["employed"] in (0.0, 1.0)
    assert explainer.predict(row) in explainer.classes
    assert not (pd.Series(row) == X).all(axis=1).any()
