"""Models of several outputs on the command line and in the service."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from encoders.core.errors import InputError
from encoders.query.goal import Probability
from portfolio import Explainer
from portfolio.data.plain_tables import read_plain
from portfolio.model.files import load_model
from portfolio.service.settings import Settings
from portfolio.service.sources import read_folder
from tests.portfolio.cli.test_plain_tables import run
from tests.support.served import served

pytestmark = pytest.mark.usefixtures("forked_children")

FEATURES = ["income", "age"]


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    """A folder with two.skops, numbers.skops and loans.csv, whose last two columns are labels."""
    folder, random = tmp_path_factory.mktemp("outputs"), np.random.default_rng(4)
    frame = pd.DataFrame(random.integers(0, 9, (120, 2)), columns=FEATURES)
    frame["fraud"] = (frame.income < 3).astype(int)
    frame["churn"] = np.where(frame.age > 4, "yes, soon", "no")
    frame.to_csv(folder / "loans.csv", index=False)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    labels = frame[["fraud", "churn"]].to_numpy(dtype=str)
    skops.io.dump(forest.fit(frame[FEATURES], labels), folder / "two.skops")
    trees = RandomForestRegressor(3, max_depth=3, random_state=0)
    skops.io.dump(trees.fit(frame[FEATURES], frame[FEATURES]), folder / "numbers.skops")
    return folder


def words(loans, command="explain", model="two", outputs="fraud,churn"):
    """Return the words of a command about one row."""
    return (
        *(command, "--data", loans / "loans.csv", "--label", "fraud,churn", "--json"),
        *("--model", loans / f"{model}.skops", "--outputs", outputs, "--row", 0),
    )


def expected(loans, target):
    model, X = load_model(loans / "two.skops"), pd.read_csv(loans / "loans.csv")[FEATURES]
    explainer = Explainer(model, X, outputs=["fraud", "churn"])
    return explainer.explain(X.iloc[[0]], target=target).distance


def test_outputs_are_named_in_repeated_or_joined_targets(loans):
    target = {"fraud": "1", "churn": "yes, soon"}
    for texts in (
        ("--target", "fraud=1", "--target", "churn=yes, soon"),
        ("--target", "churn=yes, soon", "--target", "fraud=1"),
    ):
        answer = json.loads(run(*words(loans), *texts).output)
        assert answer["status"] == "optimal"
        assert answer["target"] == target
        assert answer["distance"] == pytest.approx(expected(loans, target))
    joined = json.loads(run(*words(loans), "--target", "fraud=1,churn=no").output)
    assert joined["distance"] == pytest.approx(expected(loans, {"fraud": "1", "churn": "no"}))
    forest = load_model(loans / "two.skops")
    fraud, churn = forest.predict(pd.read_csv(loans / "loans.csv")[FEATURES].iloc[[0]])[0]
    reasons = run(
        *words(loans, "reasons"), "--target", f"fraud={fraud}", "--target", f"churn={churn}"
    )
    assert reasons.exit_code == 0 and json.loads(reasons.output)["status"] == "optimal"


def test_a_probability_may_be_limited_by_output(loans):
    target = {"fraud": Probability("1", 0.7), "churn": "no"}
    texts = ("--target", "fraud=1", "--target", "churn=no", "--probability", "fraud=0.7:")
    answer = json.loads(run(*words(loans), *texts).output)
    assert answer["distance"] == pytest.approx(expected(loans, target))
    assert answer["distance"] > expected(loans, {"fraud": "1", "churn": "no"}) - 1e-12


def test_limits_of_numbers_are_targets(loans):
    given = words(loans, model="numbers", outputs="a,b")
    answer = json.loads(run(*given, "--target", "a=5:", "--target", "b=:3").output)
    model = load_model(loans / "numbers.skops")
    row = pd.DataFrame([answer["counterfactual"]])[FEATURES]
    a, b = model.predict(row)[0]
    assert answer["status"] == "optimal" and a >= 5 and b <= 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "has the outputs fraud, churn. Give --target"),
        (("--target", "1"), "names none of the outputs fraud, churn. Write --target fraud=0"),
        (("--target", "frod=1"), "--target frod=1 names none of the outputs"),
        (("--target", "fraud=1,fraud=0"), "names the output fraud twice"),
        (("--target", "fraud=1", "--target", "fraud=0"), "names the output fraud twice"),
        (("--target", "fraud=2"), "output 'fraud': unknown target '2'"),
        (("--target", "fraud=1", "--score", "1:"), "--score does not support"),
        (("--target", "fraud=1", "--probability", "0.7:"), "Write --probability fraud=0.8:"),
        (("--target", "fraud=1", "--probability", "churn=0.7:"), "Give --target churn=CLASS"),
        (("--outputs", "fraud"), "2 different names"),
        (("--label", "fraud,chrn"), "no column 'chrn'. Did you mean \"churn\"?"),
    ],
)
def test_errors_name_the_remedy(loans, more, message):
    with pytest.raises(InputError) as raised:
        run(*words(loans), *more)
    assert message in str(raised.value)


def test_labels_without_outputs_suggest_to_name_these(loans):
    given = ("explain", "--data", loans / "loans.csv", "--label", "fraud,churn", "--row", 0)
    for more in ((), ("--target", "fraud=1")):
        with pytest.raises(InputError, match="0=0, or name the outputs with --outputs NAME"):
            run(*given, "--model", loans / "two.skops", *more)


def test_models_of_one_output_take_neither_names_nor_two_targets(loans):
    given = ("explain", "--data", loans / "loans.csv", "--row", 0)
    with pytest.raises(InputError, match="--outputs needs --model"):
        run(*given, "--label", "fraud", "--train", "forest", "--outputs", "a,b")
    with pytest.raises(InputError, match="given 2 times, but the model has one output"):
        run(*given, "--label", "fraud", "--train", "forest", "--target", 1, "--target", 0)
    with pytest.raises(InputError, match="--train needs one column to predict"):
        run(*given, "--label", "fraud,churn", "--train", "forest")


def test_a_label_may_contain_a_comma(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b,c": [0, 1], "c": [1, 0]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    alone = read_plain(tmp_path / "table.csv", "b,c")
    assert list(alone.X.columns) == ["a", "c"] and list(alone.y) == [0, 1]
    two = read_plain(tmp_path / "table.csv", "c,a")
    assert list(two.X.columns) == ["b,c"] and two.y is None


def toml(loans, folder, outputs):
    folder.mkdir(exist_ok=True)
    text = f"model = '{loans / 'two.skops'}'\ndata = '{loans / 'loans.csv'}'\n"
    (folder / "loans.toml").write_text(f"{text}label = 'fraud,churn'\noutputs = {outputs}\n")
    return folder


def test_a_served_model_names_its_outputs(loans, tmp_path):
    [source] = read_folder(toml(loans, tmp_path / "models", '["fraud", "churn"]'))
    assert source.open().explainer.outputs == {"fraud": ("0", "1"), "churn": ("no", "yes, soon")}
    [wrong] = read_folder(toml(loans, tmp_path / "models", '"fraud"'))
    with pytest.raises(InputError, match=r"outputs must be a list of names such as \[\"fraud\""):
        wrong.open()
    [short] = read_folder(toml(loans, tmp_path / "models", '["fraud"]'))
    with pytest.raises(InputError, match="2 different names"):
        short.open()


@pytest.mark.slow
def test_the_service_takes_targets_by_name(loans, tmp_path):
    folder = toml(loans, tmp_path / "models", '["fraud", "churn"]')
    body = {"x": {"income": 1, "age": 1}, "target": {"fraud": "0", "churn": "yes, soon"}}
    settings = Settings(lambda: read_folder(folder), workers=1, reload_s=0)
    with served(settings) as (_, client):
        answer = client.post("/v1/models/loans/explain", json=body).json()["answer"]
    assert answer["status"] == "optimal" and answer["target"] == body["target"]
