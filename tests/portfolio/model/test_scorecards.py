"""Linear models of bins and codes, compared with all rows by the model's own predict."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    GammaRegressor,
    Lars,
    LarsCV,
    Lasso,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Perceptron,
    PoissonRegressor,
    QuantileRegressor,
    RANSACRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TheilSenRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import AtLeast, Explainer, Fixed, Probability, Score
from tests.support.few import few_of
from tests.support.whole_grids import (
    check_classes,
    check_gaps,
    check_predictions,
    compare,
    costs,
    every_row,
    probabilities,
    whole_table,
    with_gaps,
)

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 25))]
NUMBERS = {
    "sparse bins": lambda: KBinsDiscretizer(3),
    "bins": lambda: KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"),
    "ranks": lambda: KBinsDiscretizer(3, encode="ordinal"),
    "flags": lambda: Binarizer(threshold=2.5),
    "scaled": lambda: make_pipeline(KBinsDiscretizer(3, encode="ordinal"), StandardScaler()),
    "scaled flags": lambda: make_pipeline(
        KBinsDiscretizer(3, encode="onehot-dense"), StandardScaler()
    ),
    "scaled sparse flags": lambda: make_pipeline(
        KBinsDiscretizer(4, strategy="uniform"), MaxAbsScaler()
    ),
    "scaled codes": lambda: make_pipeline(
        KBinsDiscretizer(3, encode="ordinal"),
        OneHotEncoder(sparse_output=False),
        PowerTransformer(),
    ),
}
TEXT = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "ordinal": OrdinalEncoder,
    "target": lambda: TargetEncoder(cv=2),
    "scaled": lambda: make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
}
CLASSIFIERS = (LogisticRegression, RidgeClassifier, LinearSVC, SGDClassifier, Perceptron)
REGRESSORS = (LinearRegression, Ridge, lambda: Lasso(alpha=0.01))


def steps(numbers, text):
    encoders = (NUMBERS[numbers](), list("abc")), (TEXT[text](), ["kind"])
    return make_column_transformer(*encoders)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("numbers", "text"), few_of(NUMBERS, TEXT))
def test_scorecards_are_sums_of_steps(numbers, text, seed):
    X, score = whole_table(seed, categories=True)
    at = list(NUMBERS).index(numbers) + list(TEXT).index(text) + seed
    final = CLASSIFIERS[at % len(CLASSIFIERS)]()
    limits = [3] if at % 2 else [1, 5]
    model = make_pipeline(steps(numbers, text), final).fit(X, np.digitize(score, limits))
    assert check_classes(model, X, seed, 2) == 2 * len(limits)
    model = make_pipeline(steps(numbers, text), REGRESSORS[at % len(REGRESSORS)]())
    assert check_predictions(model.fit(X, score), X, seed, 1, blur=1e-9) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_are_those_of_the_logistic_function(seed):
    X, score = whole_table(seed, categories=True)
    model = make_pipeline(steps("bins", "one-hot"), LogisticRegression()).fit(X, score > 3)
    explainer, rows = Explainer(model, X), every_row(X)
    shares, cost = model.predict_proba(rows)[:, 1], costs(rows, X.iloc[3])
    limit = float(np.quantile(shares, 0.9, method="nearest"))
    goal = Probability(True, at_least=limit)
    compare(explainer.explain(X.iloc[[3]], target=goal), cost[shares >= limit].min())


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("limits", [[3], [1, 5]])
def test_probabilities_of_a_log_loss_are_sigmoids_or_their_ratios(limits, seed):
    X, score = whole_table(seed, categories=True)
    final = SGDClassifier(loss="log_loss", random_state=seed)
    model = make_pipeline(steps("bins", "one-hot"), final).fit(X, np.digitize(score, limits))
    explainer, rows = Explainer(model, X), every_row(X)
    cost = costs(rows, X.iloc[3])
    for at in (0, len(limits)):
        shares = model.predict_proba(rows)[:, at]
        limit = float(np.quantile(shares, 0.8, method="nearest"))
        shares = probabilities(model, rows, at, limit, cost)
        for goal, good in (
            (Probability(at, at_least=limit), shares >= limit),
            (Probability(at, at_most=limit), shares <= limit),
        ):
            best = cost[good].min(initial=np.inf)
            compare(explainer.explain(X.iloc[[3]], target=goal), best)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_of_a_modified_huber_loss_are_clipped_scores(seed):
    X, score = whole_table(seed, categories=True)
    final = SGDClassifier(loss="modified_huber", alpha=0.01, random_state=seed)
    model = make_pipeline(steps("bins", "one-hot"), final).fit(X, score > 3)
    assert check_classes(model, X, seed, 2) == 2
    explainer, rows = Explainer(model, X), every_row(X)
    cost = costs(rows, X.iloc[3])
    for label, limit in itertools.product((False, True), (0.0, 0.3, None, 1.0)):
        shares = model.predict_proba(rows)[:, int(label)]
        if limit is None:
            limit = float(np.quantile(shares, 0.8, method="nearest"))
        shares = probabilities(model, rows, int(label), limit, cost)
        for goal, good in (
            (Probability(label, at_least=limit), shares >= limit),
            (Probability(label, at_most=limit), shares <= limit),
        ):
            best = cost[good].min(initial=np.inf)
            compare(explainer.explain(X.iloc[[3]], target=goal), best)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threshold", [0.3, 1.0])
def test_thresholds_of_clipped_scores(threshold, seed):
    X, score = whole_table(seed, columns="ab", categories=True)
    final = SGDClassifier(loss="modified_huber", alpha=0.01, random_state=seed)
    codes = OneHotEncoder(sparse_output=False), ["kind"]
    columns = make_column_transformer((NUMBERS["bins"](), list("ab")), codes)
    model = make_pipeline(columns, FixedThresholdClassifier(final, threshold=threshold))
    model.fit(X, (score > 6).astype(int))
    assert check_classes(model, X, seed, 3) == 3
    rows, cost = every_row(X), costs(every_row(X), X.iloc[3])
    scores = model[-1].estimator_.decision_function(columns.transform(rows))
    limit = float(np.quantile(scores, 0.8)) + 1e-9
    result = Explainer(model, X).explain(X.iloc[[3]], target=Score(low=limit))
    compare(result, cost[scores >= limit].min())


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("positive", [0, 1])
def test_thresholds_of_scores_that_are_clipped_for_probabilities(positive, seed):
    X, score = whole_table(seed, columns="ab", categories=True)
    y = (score > 6).astype(int)
    final = SGDClassifier(loss="modified_huber", alpha=0.01, random_state=seed)
    codes = OneHotEncoder(sparse_output=False), ["kind"]
    columns = make_column_transformer((NUMBERS["bins"](), list("ab")), codes)
    rows, cost = every_row(X), costs(every_row(X), X.iloc[3])
    plain = make_pipeline(columns, final).fit(X, y)
    scores = plain.decision_function(rows)
    limit = float(np.quantile(scores, 0.6)) + 1e-9
    one = FixedThresholdClassifier(
        final, threshold=limit if positive else -limit, pos_label=positive,
        response_method="decision_function",
    )  # fmt: skip
    two = FixedThresholdClassifier(one, threshold=0.4, response_method="decision_function")
    for model in (make_pipeline(columns, one), make_pipeline(columns, two)):
        assert check_classes(model.fit(X, y), X, seed, 3) == 3
        explainer, shares = Explainer(model, X), model.predict_proba(rows)[:, 1]
        for goal, good in (
            (Score(low=limit), scores >= limit),
            (Score(high=-limit), scores <= -limit),
            (Probability(1, at_least=0.7), shares >= 0.7),
            (Probability(1, at_most=0.0), shares <= 0.0),
            (Probability(0, at_most=0.2), 1 - shares <= 0.2),
        ):
            compare(explainer.explain(X.iloc[[3]], target=goal), cost[good].min(initial=np.inf))


@pytest.mark.parametrize("seed", [0, 1])
def test_averages_of_ratios_are_refused_with_a_remedy_that_works(seed):
    X, score = whole_table(seed, columns="ab", categories=True)
    y, forest = np.digitize(score, [4, 7]), RandomForestClassifier(3, max_depth=2, random_state=0)
    codes = OneHotEncoder(sparse_output=False), ["kind"]
    columns = make_column_transformer((NUMBERS["bins"](), list("ab")), codes)

    def voting(final):
        members = [
            (str(at), make_pipeline(columns, each)) for at, each in enumerate((final, forest))
        ]
        return VotingClassifier(members, voting="soft").fit(X, y)

    for final in (SGDClassifier(loss="log_loss"), OneVsRestClassifier(forest)):
        with pytest.raises(UnsupportedModelError, match="Use models such as LogisticRegression"):
            Explainer(voting(final), X)
    assert check_classes(voting(LogisticRegression()), X, seed, 1) == 2


FURTHER = (
    *(BayesianRidge, ARDRegression, QuantileRegressor, RANSACRegressor, PassiveAggressiveRegressor),
    *(PoissonRegressor, GammaRegressor, TweedieRegressor, lambda: TweedieRegressor(power=1.5)),
    *(lambda: TheilSenRegressor(max_subpopulation=100, random_state=0), Lars, LassoLarsIC),
    *(lambda: LassoLars(alpha=0.01), OrthogonalMatchingPursuit, OrthogonalMatchingPursuitCV),
    *(lambda: LarsCV(cv=2), lambda: LassoLarsCV(cv=2)),
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # classes that are deprecated, and few rows
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("final", FURTHER)
def test_predictions_of_other_linear_models(final, seed):
    X, score = whole_table(seed, columns="ab", categories=True)
    codes = OneHotEncoder(sparse_output=False), ["kind"]
    columns = make_column_transformer((NUMBERS["bins"](), list("ab")), codes)
    model = make_pipeline(columns, final()).fit(X, score - score.min() + 0.1)
    assert check_predictions(model, X, seed, 1, blur=1e-9) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("limits", [[3], [1, 5]])
def test_discriminants_and_passive_aggressive_classifiers(limits, seed):
    X, score = whole_table(seed, categories=True)
    codes = OneHotEncoder(sparse_output=False), ["kind"]
    columns = make_column_transformer((NUMBERS["bins"](), list("abc")), codes)
    y = np.digitize(score, limits)
    with pytest.warns(FutureWarning):
        passive = make_pipeline(columns, PassiveAggressiveClassifier(random_state=0)).fit(X, y)
    assert check_classes(passive, X, seed, 2) == 2 * len(limits)
    model = make_pipeline(columns, LinearDiscriminantAnalysis()).fit(X, y)
    assert check_classes(model, X, seed, 2) == 2 * len(limits)
    rows, cost = every_row(X), costs(every_row(X), X.iloc[3])
    shares = model.predict_proba(rows)[:, 1]
    limit = float(np.quantile(shares, 0.9)) + 1e-9
    goal = Probability(1, at_least=limit)
    compare(Explainer(model, X).explain(X.iloc[[3]], target=goal), cost[shares >= limit].min())


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_scorecards_are_parts_of_other_models(seed):
    X, score = whole_table(seed, categories=True)
    y = (score > 3).astype(int)
    card = make_pipeline(steps("sparse bins", "one-hot"), LogisticRegression())
    forest = make_pipeline(steps("sparse bins", "one-hot"), RandomForestClassifier(3, max_depth=3))
    models = (
        VotingClassifier([("card", card), ("forest", forest)], voting="soft"),
        make_pipeline(steps("ranks", "target"), BaggingClassifier(LogisticRegression(), 3)),
        FixedThresholdClassifier(card, threshold=0.4),
        make_pipeline(
            steps("bins", "one-hot"), FixedThresholdClassifier(LogisticRegression(), threshold=0.4)
        ),
        make_pipeline(steps("bins", "one-hot"), OneVsRestClassifier(LogisticRegression())),
        OneVsRestClassifier(FixedThresholdClassifier(card, threshold=0.4)),
        make_pipeline(
            steps("ranks", "one-hot"), CalibratedClassifierCV(LinearSVC(), cv=2, ensemble=False)
        ),
        FixedThresholdClassifier(make_pipeline(steps("bins", "scaled"), RidgeClassifier())),
        GridSearchCV(card, {"logisticregression__C": [0.1, 1.0]}, cv=2),
    )
    for model in models if seed else models[::2]:
        assert check_classes(model.fit(X, y), X, seed, 2) == 2


@pytest.mark.slow
@pytest.mark.parametrize("indicator", [False, True])
def test_gaps_are_filled_or_marked(indicator):
    X, score = whole_table(5)
    X = with_gaps(X, 5)
    filled = SimpleImputer(strategy="median", add_indicator=indicator)
    binned = make_column_transformer(
        (make_pipeline(filled, KBinsDiscretizer(3, encode="ordinal")), ["a", "b", "c"])
    )
    model = make_pipeline(binned, LogisticRegression()).fit(X, (score > 3).astype(int))
    assert check_gaps(model, X) == 2


def test_edges_of_bins_of_decimal_numbers_are_exact():
    """Values below an edge and on it are in different bins, up to the last bit."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    model = make_pipeline(KBinsDiscretizer(6), LogisticRegression()).fit(X, X.a + X.b > 0.5)
    query = X[~model.predict(X)].iloc[[0]]
    result = Explainer(model, X).explain(query)
    assert result.status == "optimal" and model.predict(result.counterfactual)[0]
    values = result.counterfactual.iloc[0]
    moved = [name for name in X if values[name] != query[name].iloc[0]]
    assert moved and set(values[moved]) <= set(np.concatenate(model[0].bin_edges_))


def test_answers_are_verified_as_single_rows():
    """Predictions of a linear model differ in the last bit from those of the row among others."""
    X, score = whole_table(0, categories=True)
    model = make_pipeline(steps("flags", "target"), Lasso(alpha=0.01)).fit(X, score)
    rows, explainer = every_row(X), Explainer(model, X)
    for row in rows.iloc[::100].index:
        limit = float(model.predict(rows.loc[[row]])[0])
        query = X.iloc[[7]]
        result = explainer.explain(query, target=AtLeast(limit))
        assert result.status == "optimal"
        assert result.distance <= costs(rows.loc[[row]], query.iloc[0])[0] + 1e-9
        assert model.predict(result.counterfactual)[0] >= limit


@pytest.mark.slow
def test_a_batch_of_many_rows_answers_as_single_rows_do():
    X, score = whole_table(0, categories=True)
    model = make_pipeline(steps("flags", "target"), Lasso(alpha=0.01)).fit(X, score)
    explainer = Explainer(model, X)
    limit = float(max(model.predict(X.iloc[[place]])[0] for place in range(20)))
    batch = explainer.explain_batch(X, target=AtLeast(limit))
    assert len(batch) > 64
    for place in range(0, len(X), 7):
        result = explainer.explain(X.iloc[[place]], target=AtLeast(limit))
        assert batch["status"].iloc[place] == result.status == "optimal"
        assert batch["distance"].iloc[place] == pytest.approx(result.distance)


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(5)])
@pytest.mark.parametrize("n_bins", [2, 5])
def test_columns_of_a_one_hot_group_may_be_binned(model, n_bins):
    rng = np.random.default_rng(n_bins)
    home = rng.integers(0, 3, 150)
    X = pd.DataFrame({"age": rng.integers(0, 7, 150)} | {f"home_{k}": home == k for k in range(3)})
    y = (X.age > 3) ^ X.home_1
    model = make_pipeline(KBinsDiscretizer(n_bins, strategy="uniform"), model)
    X = X.astype(int)
    explainer = Explainer(model.fit(X, y), X)
    homes = pd.DataFrame(np.eye(3, dtype=int), columns=X.columns[1:])
    rows = pd.DataFrame({"age": range(7)}).merge(homes, how="cross")
    spread = X.age.max() - X.age.min()
    for place in range(6):
        query, predicted = X.iloc[place], model.predict(rows)
        cost = (rows.age - query.age).abs() / spread
        cost += (rows.iloc[:, 1:] != query.iloc[1:]).any(axis=1)
        best = cost[predicted != model.predict(X.iloc[[place]])[0]].min()
        compare(explainer.explain(X.iloc[[place]]), best)


HOMES = pd.DataFrame(np.eye(3, dtype=int), columns=["home_a", "home_b", "home_c"])


def with_flags(X, seed, own):
    """Return a table with a flag of any two values, and with a one-hot group."""
    random = np.random.default_rng(seed)
    homes = HOMES.iloc[random.integers(0, 3, len(X))].reset_index(drop=True)
    return pd.concat([X[["a", "b"]], homes], axis=1).assign(own=random.choice(own, len(X)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("own", [(0, 1), (False, True), (1, 2), (-0.5, 3.25)])
@pytest.mark.parametrize("rest", ["passthrough", "scaled"])
def test_flags_that_no_step_encodes_are_read(rest, own, seed):
    X, score = whole_table(seed)
    X = with_flags(X, seed, own)
    score += 3 * (X["own"] == own[1]) - 2 * X["home_b"]
    at = seed + own.index(own[-1])
    steps = (KBinsDiscretizer(3), ["a", "b"])
    after = [StandardScaler(with_mean=False)] if rest == "scaled" else []
    final = (LogisticRegression(), RidgeClassifier(), Ridge())[at % 3]
    model = make_pipeline(make_column_transformer(steps, remainder="passthrough"), *after, final)
    limit = float(np.median(score))
    model.fit(X, score if at % 3 == 2 else (score > limit).astype(int))
    rows = pd.DataFrame(range(7), columns=["a"]).merge(pd.Series(range(7), name="b"), how="cross")
    rows = rows.merge(HOMES, how="cross").merge(pd.Series(own, name="own"), how="cross")
    rows, explainer = rows[list(X.columns)].astype(dict(X.dtypes)), Explainer(model, X)
    predicted = model.predict(rows)
    for place in (3, 40):
        query = X.iloc[place]
        cost = (rows[["a", "b"]] - query[["a", "b"]]).abs().sum(axis=1) / 6
        cost += (rows["own"] != query["own"]).astype(float)
        cost += (rows[HOMES.columns] != query[HOMES.columns]).any(axis=1)
        cost = cost.to_numpy(dtype=float)
        if at % 3 == 2:
            least = float(np.quantile(predicted, 0.9)) + 1e-9
            target, reached = AtLeast(least), predicted >= least
        else:
            target = 1 - int(model.predict(X.iloc[[place]])[0])
            reached = predicted == target
        best = cost[reached].min(initial=np.inf)
        compare(explainer.explain(X.iloc[[place]], target=target), best)


def test_listed_values_are_read_and_others_are_refused():
    X, score = whole_table(3)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, score > 3)
    listed = {name: {"kind": "ordinal", "values": list(range(7))} for name in X}
    explainer = Explainer(model, X, features=listed)
    assert check_classes(model, X, 3, 3, explainer) == 3
    query = X.iloc[[0]].astype(float).assign(a=0.5)
    with pytest.raises(InputError, match=r"the query's a is 0\.5, which is not one of its values"):
        explainer.explain(query)
    listed["b"]["allow_off_levels"] = True
    with pytest.raises(UnsupportedModelError, match="reads 'b' as a number that is not binned"):
        Explainer(model, X, features=listed)


@pytest.mark.slow
def test_flags_may_be_missing_and_shared_with_trees():
    X, score = whole_table(6)
    X = with_flags(X, 6, (0.0, 1.0)).drop(columns=list(HOMES))
    X.loc[::7, "own"] = np.nan
    y = (score + 3 * X["own"].fillna(0) > 4).astype(int)
    steps = make_column_transformer(
        (KBinsDiscretizer(3), ["a", "b"]), (SimpleImputer(strategy="median"), ["own"])
    )
    card = make_pipeline(steps, LogisticRegression())
    forest = make_pipeline(SimpleImputer(), RandomForestClassifier(3, random_state=0))
    for model in (card, VotingClassifier([("card", card), ("trees", forest)], voting="soft")):
        explainer = Explainer(model.fit(X, y), X)
        grid = pd.DataFrame(np.indices((7, 7, 2)).reshape(3, -1).T, columns=X.columns, dtype=float)
        for place in (0, 1, 7, 9):
            query, own = X.iloc[place], X["own"].iloc[place]
            gone = bool(np.isnan(own))
            rows = grid[grid["own"] == 0.0].assign(own=np.nan) if gone else grid
            cost = (rows[["a", "b"]] - query[["a", "b"]]).abs().sum(axis=1) / 6
            cost += 0.0 if gone else (rows["own"] - own).abs()
            other = 1 - int(model.predict(X.iloc[[place]])[0])
            best = cost[model.predict(rows) == other].min()
            fixed = [Fixed("own")] if gone else []
            compare(explainer.explain(query, target=other, constraints=fixed), best)


def test_raw_numbers_are_refused():
    X, score = whole_table(5)
    bins = make_pipeline(KBinsDiscretizer(3), LogisticRegression())
    for model, words in (
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "reads 'a' as a number that is not",
        ),
        (LogisticRegression(), "a linear model of raw columns .LogisticRegression. is not"),
        (BaggingClassifier(LogisticRegression(), 2), "a linear model of raw columns"),
    ):
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model.fit(X, score > 3), X)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(bins, X)
    one = KBinsDiscretizer(4, encode="ordinal")
    boosted = make_pipeline(one, AdaBoostClassifier(LogisticRegression(), n_estimators=2))
    with pytest.raises(UnsupportedModelError, match="a linear model of raw columns"):
        Explainer(boosted.fit(X[["a"]], score > 3), X[["a"]])
