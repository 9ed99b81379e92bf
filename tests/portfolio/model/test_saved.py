"""Saved explainers: the same one is loaded; without pickles, and without rows if so wished."""

import json
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skops.io
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from typer.testing import CliRunner
from xgboost import XGBClassifier

from encoders.core.errors import InputError
from portfolio import AtLeast, Diagram, Explainer, Fixed, Plausibility
from portfolio.cli.app import app
from portfolio.model.frames import as_pandas
from portfolio.model.open_file import open_model
from portfolio.model.saved import _digest
from portfolio.service.sources import chosen, read_folder
from selector.diagram import Leaf, alone

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture(scope="module")
def table():
    """A frame with text and its labels, as text and as 0 and 1."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 400),
            "income": np.round(rng.lognormal(3, 0.5, 400), 2),
            "job": rng.choice(["clerk", "driver", "nurse"], 400),
        }
    )
    X.loc[5, "job"] = "pilot"  # a category of a single row
    code = ((X.income > 20) | (X.job == "nurse")).astype(int)
    return X, np.where(code == 1, "granted", "refused"), code


def piped(model):
    """A pipeline that ends in a model."""
    encoders = [("job", OneHotEncoder(), ["job"]), ("rest", StandardScaler(), ["age", "income"])]
    return make_pipeline(ColumnTransformer(encoders), model)


def forest(**settings):
    return RandomForestClassifier(8, max_depth=4, random_state=0, **settings)


def explainer_of(kind, table):  # one line per kind
    """An explainer, and the name of the file that has its model."""
    X, y, code = table
    numbers = X[["age", "income"]]
    if kind == "pipeline":
        return Explainer(piped(forest()).fit(X, y), X), "model.skops"
    if kind == "polars":
        return Explainer(
            piped(forest()).fit(pl.from_pandas(X), y), pl.from_pandas(X)
        ), "model.skops"
    if kind == "array":
        rows = numbers.to_numpy()
        return Explainer(forest().fit(rows, y), rows), "model.skops"
    if kind == "xgboost":
        model = XGBClassifier(n_estimators=8, max_depth=3).fit(numbers, code)
        return Explainer(model, numbers, features={"age": {"action": "increase"}}), "model.ubj"
    if kind == "lightgbm with labels as text":  # which its own file does not keep
        model = LGBMClassifier(n_estimators=8, verbose=-1).fit(numbers, y)
        return Explainer(model, numbers), "model.skops"
    if kind == "lightgbm":
        model = LGBMClassifier(n_estimators=8, verbose=-1).fit(numbers, code).booster_
        return Explainer(model, numbers), "model.txt"
    if kind == "catboost":
        settings = {"iterations": 8, "verbose": 0, "allow_writing_files": False}
        settings["one_hot_max_size"] = 10
        model = CatBoostClassifier(**settings).fit(X, y, cat_features=["job"])
        return Explainer(model, X), "model.cbm"
    if kind == "plausible":
        model = ExtraTreesClassifier(8, max_depth=4, random_state=0).fit(numbers, y)
        plausibility = Plausibility.fit(numbers, y, n_estimators=5)
        return Explainer(model, numbers, plausibility=plausibility), "model.skops"
    if kind == "one forest, and a further model":
        plausibility = Plausibility(IsolationForest(n_estimators=5, random_state=0).fit(numbers))
        further = forest(class_weight="balanced").fit(numbers, y)
        model = forest().fit(numbers, y)
        return Explainer(model, numbers, plausibility=plausibility, also=[further]), "model.skops"
    if kind == "hard voting, and a diagram":
        model = forest().fit(numbers, y)
        diagram = Diagram((Leaf(alone("cp")),))
        return Explainer(model, numbers, voting="hard", diagram=diagram), "model.skops"
    if kind == "an unknown step":
        model = make_pipeline(FunctionTransformer(np.log1p), forest()).fit(numbers, y)
        return Explainer(model, numbers, steps={"functiontransformer": "monotone"}), "model.skops"
    model = forest().fit(numbers, np.column_stack([code, numbers.age > 40]).astype(int))
    return Explainer(model, numbers, outputs=["loan", "adult"]), "model.skops"


KINDS = (
    *("pipeline", "polars", "array", "xgboost", "lightgbm with labels as text", "lightgbm"),
    *("catboost", "plausible", "one forest, and a further model", "hard voting, and a diagram"),
    *("an unknown step", "several outputs"),
)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_explainer_is_loaded(kind, rows, table, tmp_path):
    explainer, file = explainer_of(kind, table)
    explainer.save(tmp_path / "saved", rows=rows)
    assert (tmp_path / "saved" / file).is_file()
    assert not [path for path in (tmp_path / "saved").iterdir() if path.suffix == ".pkl"]
    loaded = Explainer.load(tmp_path / "saved", trust=True)
    assert (loaded.digest, loaded.features) == (explainer.digest, explainer.features)
    assert (loaded.classes, loaded.outputs) == (explainer.classes, explainer.outputs)
    assert loaded.diagram == explainer.diagram
    assert loaded.follows_default == explainer.follows_default
    target = {"loan": 1, "adult": 1} if kind == "several outputs" else None
    for at in (0, 1, 7):
        row = table[0].iloc[[at]]
        row = row[list(explainer.features.columns)] if kind != "array" else row.to_numpy()[0, :2]
        before, after = (each.explain(row, target=target) for each in (explainer, loaded))
        assert (before.status, before.distance) == (after.status, after.distance)
        assert loaded.predict(row) == explainer.predict(row)


def categories(form, table):
    """Rows with categories that are numbers, one of which no row has."""
    X = table[0][["age", "income"]]
    codes = (X.age // 20).to_numpy()
    if form == "pandas":
        return X.assign(decade=pd.Categorical(codes, categories=[9, 4, 3, 2, 1, 0]))
    half = len(X) // 2  # two chunks with different dictionaries
    halves = [pa.array(part).dictionary_encode() for part in (codes[:half], codes[half:] + 4)]
    return pa.table(dict(X)).append_column("decade", pa.chunked_array(halves))


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("form", ["pandas", "pyarrow"])
def test_categories_that_are_numbers_are_kept(form, rows, table, tmp_path):
    X = categories(form, table)
    model = LGBMClassifier(n_estimators=8, verbose=-1)
    fitted = as_pandas(X)[0]
    explainer = Explainer(model.fit(fitted, table[1]), X)
    explainer.save(tmp_path / "saved", rows=rows)
    loaded = Explainer.load(tmp_path / "saved", trust=True)
    assert (loaded.digest, loaded.features) == (explainer.digest, explainer.features)
    row = fitted.iloc[[3]]
    assert loaded.explain(row).distance == explainer.explain(row).distance


def test_a_histogram_model_of_a_frame_is_saved(table, tmp_path):
    X = table[0].astype({"job": "category"})
    explainer = Explainer(HistGradientBoostingClassifier(max_iter=4).fit(X, table[1]), X)
    explainer.save(tmp_path / "saved")
    assert Explainer.load(tmp_path / "saved", trust=True).digest == explainer.digest


@pytest.mark.parametrize("name", ["functools.partial", "collections.OrderedDict"])
def test_other_partial_calls_are_not_trusted(name, table, tmp_path):
    X = table[0][["age", "income"]]
    step = FunctionTransformer(partial(np.nan_to_num, nan=0.0))
    skops.io.dump(make_pipeline(step, forest()).fit(X, table[1]), tmp_path / "honest.skops")
    module, _, kind = name.rpartition(".")
    with (
        zipfile.ZipFile(tmp_path / "honest.skops") as honest,
        zipfile.ZipFile(tmp_path / "m.skops", "w") as changed_names,
    ):
        for part in honest.namelist():
            content = honest.read(part)
            for member, old, new in (("class", "partial", kind), ("module", "functools", module)):
                text = '"__{}__": "{}"'
                content = content.replace(
                    text.format(member, old).encode(), text.format(member, new).encode()
                )
            changed_names.writestr(part, content)
    with pytest.raises(InputError, match=r"functools\.partial"):
        open_model(tmp_path / "m.skops")


@pytest.mark.parametrize("kind", ["an array", "names that the library rewrites"])
def test_rows_have_the_columns_of_the_explainer(kind, table, tmp_path):
    X = table[0][["age", "income"]].set_axis(["age in years", "income"], axis=1)
    rows = X.to_numpy() if kind == "an array" else X
    model = LGBMClassifier(n_estimators=4, verbose=-1).fit(rows, table[2])
    explainer = Explainer(model, rows)
    explainer.save(tmp_path / "saved")
    opened = chosen(model=tmp_path / "saved")()[0].open()
    assert tuple(opened.example) == explainer.features.columns
    assert opened.explainer.predict(opened.example) in (0, 1)
    given = ["explain", "--model", str(tmp_path / "saved"), "--row", "0", "--json"]
    printed = CliRunner().invoke(app, given)
    assert json.loads(printed.stdout)["status"] == "optimal"


def test_a_regressor_without_training_rows(table, tmp_path):
    X = table[0][["age", "income"]]
    model = GradientBoostingRegressor(n_estimators=8, random_state=0).fit(X, X.income)
    features = {name: {"kind": "numeric", "bounds": [0, 90]} for name in X}
    explainer = Explainer(model, None, features=features)
    explainer.save(tmp_path / "saved")
    loaded = Explainer.load(tmp_path / "saved", trust=True)
    assert loaded.digest == explainer.digest
    with pytest.raises(InputError, match="was saved without rows"):
        chosen(model=tmp_path / "saved")()[0].open()
    answers = [each.explain(X.iloc[0], AtLeast(30.0)).distance for each in (explainer, loaded)]
    assert answers[0] == answers[1] > 0


def test_no_actual_row_is_saved_if_so_wished(table, tmp_path):
    X, y, _ = table
    explainer = Explainer(piped(forest()).fit(X, y), X)
    explainer.save(tmp_path / "saved", rows=False)
    saved = pd.read_feather(tmp_path / "saved" / "rows.arrow").set_axis(list(X), axis=1)
    assert set(saved.job) == set(X.job)
    assert not len(saved.merge(X, how="inner"))
    assert len(saved) < len(X)


def test_the_file_of_a_model_is_copied(table, tmp_path):
    X, _, code = table
    model = XGBClassifier(n_estimators=4).fit(X[["age", "income"]], code)
    model.save_model(tmp_path / "m.json")
    explainer = Explainer(model, X[["age", "income"]], model_file=tmp_path / "m.json")
    explainer.save(tmp_path / "saved")
    copy = (tmp_path / "saved" / "model.json").read_bytes()
    assert copy == (tmp_path / "m.json").read_bytes()


def test_what_skops_cannot_hold_is_refused(table, tmp_path):
    X = table[0][["age", "income"]]
    own = make_pipeline(FunctionTransformer(lambda rows: rows), forest()).fit(X, table[1])
    explainer = Explainer(own, X, steps={"functiontransformer": "monotone"})
    with pytest.raises(InputError, match="cannot be saved without a pickle"):
        explainer.save(tmp_path / "saved")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_empty_is_kept(explainer, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not an empty folder"):
        explainer.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("folder", ["a\0b", "x" * 300, None, 5])
def test_what_is_no_path_is_refused_in_a_sentence(explainer, folder, tmp_path):
    path = folder if not isinstance(folder, str) else str(tmp_path / folder)
    with pytest.raises(InputError, match=r"must be a path|the name is too long"):
        explainer.save(path)
    with pytest.raises(InputError, match="folder must be a path"):
        Explainer.load(folder if not isinstance(folder, str) else "a\0b")


def test_a_position_beyond_the_saved_rows_names_the_folder(explainer, tmp_path):
    explainer.save(tmp_path / "credit")
    given = ["explain", "--model", str(tmp_path / "credit"), "--row", "5000"]
    told = CliRunner().invoke(app, given)
    assert f"{tmp_path / 'credit'} has no row 5000" in str(told.exception)
    with pytest.raises(InputError, match=r"the model .*nothing does not exist"):
        chosen(model=tmp_path / "nothing")


@pytest.fixture
def saved(explainer, tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERFOLIO_CACHE", str(tmp_path / "cache"))  # loading needs no child
    explainer.save(tmp_path / "credit")
    return tmp_path / "credit"


def changed(saved, **parts):
    """Change members of the description of a saved explainer."""
    path = saved / "explainer.json"
    plain = json.loads(path.read_text()) | parts
    path.write_text(json.dumps(plain | {"sha256": _digest(plain)}))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"format": 1}, "was saved in format 1"),
        ({"features": []}, "no feature describes"),
        ({"features": 3}, "is damaged"),
        ({"columns": ["age"]}, "no feature describes"),
        ({"model": {"file": "../credit/model.skops", "sha256": ""}}, "is not in the folder"),
        ({"model": {"file": "rows.arrow", "sha256": ""}}, "has changed since it was saved"),
        ({"voting": "loud"}, "voting"),
        ({"steps": {"no": "monotone"}}, "no"),
        ({"diagram": {}}, "diagram|nodes"),
        ({"frame": {}}, "has no member 'kind'"),
        ({"model": {"file": "gone.skops", "sha256": ""}}, r"gone\.skops is missing"),
        ({"digest": "another"}, "differs from the saved one. Install"),
    ],
)
def test_a_changed_folder_is_refused_in_a_sentence(saved, parts, words):
    changed(saved, **parts)
    with pytest.raises(InputError, match=words):
        Explainer.load(saved, trust=True)


def test_libraries_that_read_a_model_differently_are_named(saved):
    versions = json.loads((saved / "explainer.json").read_text())["versions"]
    changed(saved, digest="another", versions=versions | {"scikit-learn": "0.1"})
    with pytest.raises(InputError, match=r"\(scikit-learn 0\.1 at that time and .* now\)"):
        Explainer.load(saved, trust=True)
    changed(saved, versions=versions | {"counterfolio": "0"})  # which may compute other digests
    assert Explainer.load(saved, trust=True).classes


def test_a_changed_description_is_refused(saved):
    path = saved / "explainer.json"
    path.write_text(path.read_text().replace('"free"', '"fixed"'))
    with pytest.raises(InputError, match=r"explainer\.json has changed since it was saved"):
        Explainer.load(saved, trust=True)


def test_units_are_kept_and_folders_of_earlier_versions_have_none(credit, tmp_path):
    model, X = credit[:2]
    explainer = Explainer(model, X, features={"income": {"unit": "thousand euros"}})
    assert explainer.digest == Explainer(model, X).digest  # as units decide nothing
    folder = tmp_path / "units"
    explainer.save(folder)
    assert Explainer.load(folder, trust=True).features == explainer.features
    features = json.loads((folder / "explainer.json").read_text())["features"]
    changed(folder, features=[{k: v for k, v in f.items() if k != "unit"} for f in features])
    assert Explainer.load(folder, trust=True).features.named("income").unit == ""


def test_a_pickle_is_never_opened(saved):
    content = saved / "model.skops"
    content.rename(saved / "model.pkl")
    entry = json.loads((saved / "explainer.json").read_text())["model"] | {"file": "model.pkl"}
    changed(saved, model=entry)
    with pytest.raises(InputError, match=r"model\.pkl is a pickle"):
        Explainer.load(saved, trust=True)


def test_a_damaged_model_file_is_refused_in_a_sentence(saved):
    (saved / "model.skops").write_bytes(b"PK")
    with pytest.raises(InputError, match="has changed since it was saved"):
        Explainer.load(saved)
    with pytest.raises(InputError, match="is not a saved explainer"):
        Explainer.load(saved.parent)


def test_commands_take_a_saved_explainer(saved, credit, tmp_path):
    model, X = credit
    X.iloc[[3]].to_csv(tmp_path / "row.csv", index=False)
    run = CliRunner().invoke
    answer = run(
        app, ["explain", "--model", str(saved), "--query", str(tmp_path / "row.csv"), "--json"]
    )
    expected = Explainer(model, X).explain(X.iloc[3])
    assert json.loads(answer.stdout)["distance"] == expected.distance
    assert run(app, ["explain", "--model", str(saved), "--row", "0"]).exit_code == 0
    again = run(app, ["save", str(tmp_path / "again"), "--model", str(saved), "--no-rows"])
    assert again.exit_code == 0, again.output
    assert Explainer.load(tmp_path / "again", trust=True).digest == Explainer(model, X).digest
    for option in (["--plausible"], ["--features", str(tmp_path / "row.csv")], ["--also", "m.ubj"]):
        assert run(app, ["explain", "--model", str(saved), "--row", "0", *option]).exit_code != 0


def test_the_service_takes_a_saved_explainer(saved, credit, tmp_path):
    (source,) = chosen(model=saved)()
    opened = source.open()
    assert opened.explainer.digest == Explainer(*credit).digest
    assert set(opened.example) == set(credit[1])
    (tmp_path / "loans.toml").write_text('model = "credit"\n')
    (source,) = read_folder(tmp_path)
    before = source.state()
    assert source.open().explainer.digest == opened.explainer.digest
    assert source.model_files() == [saved / "model.skops"]
    (saved / "explainer.json").touch()
    assert source.state() != before  # changed files are noticed
    (tmp_path / "loans.toml").write_text('model = "credit"\ncontamination = 0.1\n')
    (source,) = read_folder(tmp_path)
    with pytest.raises(InputError, match="contamination does not apply to a saved explainer"):
        source.open()


def test_features_with_unusual_numbers_are_kept(table, tmp_path):
    X = table[0][["age", "income"]].assign(empty=np.nan)
    model = XGBClassifier(n_estimators=4).fit(X, table[2])
    explainer = Explainer(model, X, features={"income": {"missing": True}})
    explainer.save(tmp_path / "saved")
    loaded = Explainer.load(tmp_path / "saved", trust=True)
    assert repr(loaded.features) == repr(explainer.features)
    result = loaded.explain(X.iloc[0], constraints=[Fixed("age")])
    assert result.status == "optimal"


@pytest.mark.parametrize("length", [244, 255])
def test_a_folder_has_the_longest_name_that_the_file_system_allows(table, tmp_path, length):
    X, y, _ = table
    X = X[["age", "income"]].rename(columns={"age": "a" * 5000, "income": "i" * 300})
    explainer = Explainer(RandomForestClassifier(3, random_state=0).fit(X, y), X)
    explainer.save(tmp_path / ("n" * length))
    loaded = Explainer.load(tmp_path / ("n" * length), trust=True)
    assert loaded.digest == explainer.digest and list(loaded.features.columns) == list(X.columns)


@pytest.mark.parametrize("name", ["n" * 256, "ü" * 128, "/".join(["n" * 200] * 25)])
def test_a_name_that_is_too_long_is_refused_in_a_sentence(table, tmp_path, name):
    X, _, code = table
    explainer = Explainer(
        RandomForestClassifier(3, random_state=0).fit(X[["age"]], code), X[["age"]]
    )
    with pytest.raises(
        InputError, match=r"the name is too long\. Use a shorter name\.$"
    ) as refused:
        explainer.save(tmp_path / name)
    assert len(str(refused.value)) < 200 and not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="is not a saved explainer"):
        Explainer.load(tmp_path / name)
