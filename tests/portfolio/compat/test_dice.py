"""Dice gives the answers of the Explainer in the shape of DiCE."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterfolio import Explainer, Increase, InputError, Probability
from counterfolio.compat.dice import Dice

N = 160


def pipeline(estimator):
    encoder = make_column_transformer((OneHotEncoder(), ["housing"]), remainder="passthrough")
    return make_pipeline(encoder, estimator)


@pytest.fixture(scope="module")
def loans():
    """Return a frame, and its scores."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, N),
            "income": np.round(rng.lognormal(3, 0.5, N), 3),
            "housing": rng.choice(["free", "own", "rent"], N),
        }
    )
    return X, X["income"] / 20 + (X["housing"] == "own") + rng.normal(0, 0.2, N)


@pytest.fixture(scope="module")
def text(loans):
    """Return a model whose labels are text, of which the first is the favourable one."""
    X, score = loans
    y = np.where(score > 1.6, "granted", "refused")
    model = pipeline(RandomForestClassifier(6, max_depth=4, random_state=0)).fit(X, y)
    return Explainer(model, X)


@pytest.fixture(scope="module")
def three(loans):
    X, score = loans
    y = np.digitize(score, [1.0, 2.0])
    return Explainer(pipeline(RandomForestClassifier(6, max_depth=4, random_state=0)).fit(X, y), X)


@pytest.fixture(scope="module")
def regressor(loans):
    X, score = loans
    model = pipeline(RandomForestRegressor(6, max_depth=4, random_state=0)).fit(X, score)
    return Explainer(model, X)


@pytest.fixture(scope="module")
def rows(loans, text):
    """Return two refused rows and a granted one, under labels of their own."""
    labels = np.array([text.predict(loans[0].iloc[[at]]) for at in range(20)])
    refused, granted = np.flatnonzero(labels == "refused"), np.flatnonzero(labels == "granted")
    return loans[0].iloc[[*refused[:2], granted[0]]]


def plain(frame, outcome="loan"):
    return frame.drop(columns=outcome)


def test_one_counterfactual_is_the_answer_of_explain(text, rows):
    found = Dice(text, "loan").generate_counterfactuals(rows, total_CFs=1)
    assert len(found.cf_examples_list) == len(rows)
    for at, examples in enumerate(found.cf_examples_list):
        row = rows.iloc[[at]]
        label = "granted" if text.predict(row) == "refused" else "refused"
        expected = text.explain(row, target=label)
        assert examples.answer.distance == expected.distance
        assert examples.answer.status == "optimal"
        pd.testing.assert_frame_equal(
            plain(examples.final_cfs_df), expected.counterfactual.reset_index(drop=True)
        )
        pd.testing.assert_frame_equal(plain(examples.test_instance_df), row.reset_index(drop=True))
        assert examples.final_cfs_df["loan"].tolist() == [label] == [examples.new_outcome]
        assert examples.test_pred == text.predict(row)
        assert examples.final_cfs_df_sparse is examples.final_cfs_df


def test_several_counterfactuals_are_those_of_diverse(text, rows):
    found = Dice(text, "loan", within=1).generate_counterfactuals(rows.head(1), 3)
    (examples,) = found.cf_examples_list
    expected = text.diverse(rows.head(1), k=3, within=1, target="granted")
    assert len(expected) == 3
    assert examples.answer.apart == expected.apart
    frame = pd.concat([each.counterfactual for each in expected], ignore_index=True)
    pd.testing.assert_frame_equal(plain(examples.final_cfs_df), frame)


def test_columns_and_types_are_those_of_the_rows_and_the_outcome_is_last(text, rows):
    found = Dice(text, "loan").generate_counterfactuals(rows.head(1), 1)
    for frame in (
        found.cf_examples_list[0].test_instance_df,
        found.cf_examples_list[0].final_cfs_df,
    ):
        assert list(frame) == ["age", "income", "housing", "loan"]
        assert frame.dtypes[:3].tolist() == rows.dtypes.tolist()
        assert frame.index.tolist() == [0]


@pytest.mark.parametrize(
    ("names", "may_change"),
    [
        (["income"], {"income"}),
        (["housing"], {"housing"}),
        (np.array(["age", "housing"]), {"age", "housing"}),
    ],
)
def test_only_features_to_vary_change(text, rows, names, may_change):
    found = Dice(text, "loan").generate_counterfactuals(rows, 1, features_to_vary=names)
    changed = [{each.feature for each in e.answer.changed} for e in found.cf_examples_list]
    assert all(each <= may_change for each in changed)
    assert any(changed)


def test_columns_of_a_one_hot_group_name_its_feature(loans):
    X = pd.get_dummies(loans[0], columns=["housing"], dtype=float)
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, loans[1] > 1.6)
    dice = Dice(Explainer(model, X))
    rows = X[model.predict(X) == 0].head(3)
    by_column, by_feature = (
        dice.generate_counterfactuals(rows, 1, 1, features_to_vary=["income", name]).to_json()
        for name in ("housing_own", "housing")
    )
    assert by_column == by_feature
    (owner,) = dice.generate_counterfactuals(
        rows.head(1), 1, 1, permitted_range={"housing": ["own"]}
    ).cf_examples_list
    assert owner.final_cfs_df["housing_own"].tolist() == [1.0]


def test_numbers_and_categories_stay_in_the_permitted_range(text, rows):
    limits = {"income": [15, 30], "housing": ["own", "rent"], "age": [20, 25]}
    found = Dice(text, "loan").generate_counterfactuals(
        rows.head(2), 1, permitted_range=limits, features_to_vary=["income", "housing"]
    )
    for at, examples in enumerate(found.cf_examples_list):
        frame = examples.final_cfs_df
        assert frame["income"].between(15, 30).all()
        assert frame["housing"].isin(["own", "rent"]).all()
        assert frame["age"].iloc[0] == rows["age"].iloc[at]  # a range of what may not vary


def test_constraints_and_costs_of_the_adapter_hold(text, rows):
    row = rows.head(1)
    dice = Dice(text, "loan", norm=0, weights={"income": 3.0}, constraints=[Increase("income")])
    (examples,) = dice.generate_counterfactuals(row, 1).cf_examples_list
    expected = text.explain(
        row, "granted", norm=0, weights={"income": 3.0}, constraints=[Increase("income")]
    )
    assert examples.answer.distance == expected.distance


def test_a_whole_number_is_the_position_of_a_class(text, three, rows):
    row = rows.head(1)
    for at, label in enumerate(text.classes):
        (found,) = Dice(text).generate_counterfactuals(row, 1, at).cf_examples_list
        assert found.final_cfs_df["outcome"].tolist() == [label]
    (found,) = Dice(three).generate_counterfactuals(row, 1, np.int64(2)).cf_examples_list
    assert found.final_cfs_df["outcome"].tolist() == [2]


def test_a_row_of_the_desired_class_stays_as_it_is(text, rows):
    (found,) = (
        Dice(text, "loan").generate_counterfactuals(rows.tail(1), 2, "granted").cf_examples_list
    )
    pd.testing.assert_frame_equal(found.final_cfs_df, found.test_instance_df)


@pytest.mark.parametrize(
    ("threshold", "label", "least"), [(0.8, 1, 0.8), (0.3, 1, 0.75), (0.3, 0, 0.7), (0.8, 0, 0.75)]
)
def test_the_threshold_is_a_limit_of_the_probability(text, rows, threshold, label, least):
    row, name = rows.iloc[[label * 2]], text.classes[label]
    dice = Dice(text).generate_counterfactuals(row, 1, label, stopping_threshold=threshold)
    expected = text.explain(row, target=Probability(name, at_least=least))
    assert dice.cf_examples_list[0].answer.distance == expected.distance
    assert expected.score >= least


def test_a_regressor_reaches_the_range(regressor, rows):
    found = Dice(regressor, "score").generate_counterfactuals(rows, 1, desired_range=[2.5, 3])
    for at, examples in enumerate(found.cf_examples_list):
        assert 2.5 <= examples.final_cfs_df["score"].iloc[0] <= 3
        assert examples.answer.distance == regressor.explain(rows.iloc[[at]], (2.5, 3)).distance
        assert (examples.model_type, examples.desired_class) == ("regressor", "opposite")
        assert examples.new_outcome == [2.5, 3]


def test_what_is_impossible_has_no_frame_and_a_proof(regressor, rows, capsys):
    found = Dice(regressor).generate_counterfactuals(rows.head(1), 1, desired_range=(99, 100))
    (examples,) = found.cf_examples_list
    assert examples.final_cfs_df is None
    assert examples.answer.status == "infeasible"
    assert json.loads(found.to_json())["cfs_list"] == [None]
    found.visualize_as_dataframe(show_only_changes=True)
    found.visualize_as_list(show_only_changes=True)
    printed = capsys.readouterr().out
    assert printed.count("No counterfactuals found!") == 2
    assert "(proved)" in printed


def test_constraints_that_exclude_every_value_leave_the_other_rows(text, rows):
    both = rows.iloc[[0, 1]].assign(age=[30, 60])
    dice = Dice(text, constraints=[Increase("age")])
    found = dice.generate_counterfactuals(both, 1, permitted_range={"age": [20, 40]})
    first, second = found.cf_examples_list
    assert first.final_cfs_df is not None
    assert (second.final_cfs_df, second.answer) == (None, None)
    assert "age" in second.message


def test_json_has_the_members_of_version_2(text, rows):
    found = Dice(text, "loan").generate_counterfactuals(rows.head(2), 1)
    members = json.loads(found.to_json())
    frames = [e.final_cfs_df for e in found.cf_examples_list]
    assert members == {
        "test_data": [
            [[*row, "refused"]] for row in rows.head(2).astype(object).to_numpy().tolist()
        ],
        "cfs_list": [frame.astype(object).to_numpy().tolist() for frame in frames],
        "local_importance": None,
        "summary_importance": None,
        "data_interface": {"outcome_name": "loan", "data_df": "dummy_data"},
        "feature_names": ["age", "income", "housing"],
        "feature_names_including_target": ["age", "income", "housing", "loan"],
        "model_type": "classifier",
        "desired_class": "granted",
        "desired_range": None,
        "metadata": {"version": "2.0"},
    }


def test_json_names_no_class_if_the_rows_ask_for_different_ones(text, rows):
    found = Dice(text).generate_counterfactuals(rows, 1)
    assert {each.desired_class for each in found.cf_examples_list} == {"granted", "refused"}
    assert json.loads(found.to_json())["desired_class"] is None


def test_a_missing_value_is_null_and_counts_as_unchanged(loans):
    X, score = loans
    X = X.assign(income=X["income"].where(X.index % 5 > 0))
    y = (score > 1.6).astype(int)
    model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X[["age", "income"]], y)
    explainer = Explainer(model, X[["age", "income"]])
    row = pd.DataFrame({"age": [40], "income": [np.nan]})
    found = Dice(explainer).generate_counterfactuals(
        row, 1, features_to_vary=["age"], desired_class=0
    )
    (examples,) = found.cf_examples_list
    assert examples.changes()["income"].tolist() == ["-"]
    assert json.loads(found.to_json())["test_data"][0][0][1] is None


def test_what_is_displayed(text, rows, capsys):
    found = Dice(text, "loan").generate_counterfactuals(
        rows.head(1), 1, features_to_vary=["income"]
    )
    found.visualize_as_dataframe(show_only_changes=True)
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[0] == "Query instance (original outcome : refused)"
    assert "Counterfactual set (new outcome: granted)" in lines
    assert lines[lines.index("Counterfactual set (new outcome: granted)") + 2].split()[1] == "-"
    assert found.cf_examples_list[0].message in printed
    assert "(proved: no" in printed
    found.visualize_as_list(show_only_changes=True)
    assert capsys.readouterr().out.splitlines()[-1].startswith("['-', ")
    found.visualize_as_list()
    income = found.cf_examples_list[0].final_cfs_df["income"].iloc[0]
    assert str(income) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"total_CFs": 0}, "total_CFs must be a whole number from 1 to 20, got 0."),
        ({"total_CFs": 21}, "total_CFs must be a whole number from 1 to 20, got 21."),
        ({"total_CFs": 1.5}, "total_CFs must be a whole number"),
        ({"features_to_vary": ["incme"]}, "unknown feature 'incme'. Did you mean \"income\"?"),
        ({"features_to_vary": "age"}, "must be 'all' or a list with at least one name, got 'age'"),
        ({"features_to_vary": []}, "must be 'all' or a list with at least one name"),
        ({"permitted_range": {"boat": [1, 2]}}, "permitted_range has the unknown feature 'boat'"),
        ({"permitted_range": {"age": [2, 1]}}, "two numbers in ascending order, got [2, 1]"),
        ({"permitted_range": {"age": 3}}, "two numbers in ascending order, got 3"),
        ({"permitted_range": {"age": [100, 110]}}, "is 100 to 110, but the bounds of the feature"),
        ({"permitted_range": {"housing": ["boat"]}}, "housing has no category 'boat'"),
        ({"permitted_range": {"housing": "own"}}, "needs a list of values, got 'own'"),
        ({"permitted_range": ["age"]}, "permitted_range must be a mapping by feature"),
        ({"desired_class": 2}, "from 0 to 1 in the classes ['granted', 'refused']"),
        ({"desired_class": "grant"}, "a label that is text, got 'grant'"),
        ({"desired_range": [1, 2]}, "desired_range is for regressors"),
        ({"stopping_threshold": 1.5}, "stopping_threshold must be from 0 to 1, got 1.5"),
        ({"feature_weights": {"age": 2}}, "does not support 'feature_weights'"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(text, rows, arguments, message):
    with pytest.raises(InputError) as error:
        Dice(text).generate_counterfactuals(rows, **({"total_CFs": 1} | arguments))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a regressor needs desired_range"),
        ({"desired_class": 1, "desired_range": [1, 2]}, "desired_class is for classifiers"),
        ({"desired_range": [2, 1]}, "desired_range must be two numbers in ascending order"),
        ({"desired_range": 3}, "desired_range must be two numbers in ascending order, got 3"),
    ],
)
def test_bad_input_for_a_regressor_gets_one_sentence(regressor, rows, arguments, message):
    with pytest.raises(InputError) as error:
        Dice(regressor).generate_counterfactuals(rows, 1, **arguments)
    assert message in str(error.value)


def test_other_bad_input(text, three, rows):
    with pytest.raises(InputError, match="needs a model of two classes, got 3"):
        Dice(three).generate_counterfactuals(rows, 1)
    with pytest.raises(InputError, match="needs an Explainer, got str"):
        Dice("model")
    with pytest.raises(InputError, match="have a column 'age', the name of the outcome"):
        Dice(text, "age").generate_counterfactuals(rows, 1)
    with pytest.raises(InputError, match="with at least one row, got no rows"):
        Dice(text).generate_counterfactuals(rows.head(0), 1)
    with pytest.raises(InputError, match="with at least one row, got ndarray"):
        Dice(text).generate_counterfactuals(rows.to_numpy(), 1)


def test_models_of_several_outputs_are_refused(loans):
    X, score = loans
    y = np.column_stack([score > 1.6, score > 2])
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X[["age", "income"]], y)
    with pytest.raises(InputError, match="supports models with one output"):
        Dice(Explainer(model, X[["age", "income"]]))


def test_a_copy_gives_the_same_counterfactuals(text, rows):
    dice = Dice(text, constraints=[Increase("age")])
    one, other = (
        each.generate_counterfactuals(rows, np.int64(1)).to_json()
        for each in (dice, pickle.loads(pickle.dumps(dice)))
    )
    assert one == other


def test_arguments_that_steer_a_search_have_no_effect(text, rows):
    search = {"random_seed": 3, "sample_size": 10, "verbose": True, "proximity_weight": 0.2}
    one, other = (
        Dice(text).generate_counterfactuals(rows, 1, **each).to_json() for each in ({}, search)
    )
    assert one == other


def notebook(dice, rows):
    """Return what a notebook reads from either library."""
    found = dice.generate_counterfactuals(
        rows, total_CFs=2, desired_class="opposite", features_to_vary=["age", "income", "housing"],
        permitted_range={"income": [5, 60]}, random_seed=0,
    )  # fmt: skip
    shapes = []
    for examples in found.cf_examples_list:
        frame, row = examples.final_cfs_df, examples.test_instance_df
        shapes.append(
            (list(frame), list(row), len(row), frame.dtypes.map(lambda each: each.kind).tolist(),
             frame["loan"].unique().tolist(), examples.test_pred, examples.new_outcome,
             examples.desired_class, examples.desired_range, examples.model_type)
        )  # fmt: skip
    members = json.loads(found.to_json())
    kinds = {name: type(member) for name, member in members.items()}
    kept = {n: members[n] for n in members if n not in ("test_data", "cfs_list", "desired_class")}
    return shapes, kinds, kept, found.metadata, found.local_importance, found.summary_importance


def test_a_notebook_reads_the_same_from_both(text, loans, rows):
    dice_ml = pytest.importorskip("dice_ml", reason="dice-ml is not installed")
    X, score = loans
    data = dice_ml.Data(
        dataframe=X.assign(loan=np.where(score > 1.6, "granted", "refused")),
        continuous_features=["age", "income"],
        outcome_name="loan",
    )
    model = pipeline(RandomForestClassifier(6, max_depth=4, random_state=0))
    model.fit(X, np.where(score > 1.6, "granted", "refused"))
    theirs = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")
    ours = Dice(text, outcome_name="loan", within=1)
    assert notebook(ours, rows.head(2)) == notebook(theirs, rows.head(2))


def test_dice_reads_the_json(text, regressor, rows):
    dice_ml = pytest.importorskip("dice_ml", reason="dice-ml is not installed")
    read = dice_ml.counterfactual_explanations.CounterfactualExplanations.from_json
    impossible = Dice(regressor).generate_counterfactuals(rows, 1, desired_range=(99, 100))
    for found in (Dice(text).generate_counterfactuals(rows.head(2), 2), impossible):
        again = read(found.to_json())  # checks the schema
        assert json.loads(again.to_json()) == json.loads(found.to_json())
