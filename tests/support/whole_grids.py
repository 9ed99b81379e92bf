"""Tables of whole numbers, and the best answer among all of their rows by a model's own predict."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest

from portfolio import AtLeast, AtMost, Explainer, Fixed, Less, More, Score

TOP = 6  # of each column, from 0
BLUR = 1e-9  # moves limits away from predictions whose last bits depend on the number of rows


def whole_table(seed, n=120, columns="abc", categories=False):
    """Return a frame of whole numbers that has both ends of each column, and hidden scores."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.integers(0, TOP + 1, n) for name in columns})
    X.iloc[0], X.iloc[1] = 0, TOP
    score = X.iloc[:, 0] + X.iloc[:, 1] - X.iloc[:, -1] + rng.normal(0, 1.5, n)
    if categories:
        X["kind"] = rng.choice(["oak", "ash", "elm"], n)
        score += 2 * (X["kind"] == "elm")
    return X, score


def every_row(X):
    """Return all rows that answers may be, in the frame's own types."""
    values = [
        range(TOP + 1) if pd.api.types.is_numeric_dtype(X[name]) else sorted(X[name].unique())
        for name in X
    ]
    rows = pd.DataFrame(list(itertools.product(*values)), columns=X.columns)
    return rows.astype(dict(X.dtypes))


def costs(rows, query):
    """Return the default costs of rows, features scaled by their range."""
    parts = [
        (rows[name] - query[name]).abs() / TOP
        if pd.api.types.is_numeric_dtype(rows[name])
        else (rows[name] != query[name]).astype(float)
        for name in rows
    ]
    return sum(parts).to_numpy()


def check_classes(model, X, seed, queries=3, explainer=None):
    """Compare answers with the best of all rows; return how many pairs were compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = explainer or Explainer(model, X)
        rows = every_row(X)
        predicted = np.ravel(model.predict(rows))
        tried = 0
        for place in np.random.default_rng(seed).choice(len(X), queries, replace=False):
            query = X.iloc[place]
            now = predicted[(rows == query).all(axis=1).to_numpy()][0]
            cost = costs(rows, query)
            for target in model.classes_:
                if target == now:
                    continue
                best = cost[predicted == target].min(initial=math.inf)
                compare(explainer.explain(X.iloc[[place]], target=target), best)
                tried += 1
        return tried


def predictions(model, rows, limits):
    """Return predictions to compare with limits; the last bits depend on the number of rows.

    Rows near a limit are predicted one by one.
    """
    predicted = np.ravel(model.predict(rows)).astype(np.float64)
    near = np.flatnonzero(np.isclose(predicted[:, None], limits, rtol=1e-9).any(axis=1))
    predicted[near] = [np.ravel(model.predict(rows.iloc[[at]]))[0] for at in near]
    return predicted


def probabilities(model, rows, label, limit, cost, blur=1e-12):
    """Return probabilities to compare with a limit; the last bits depend on the number of rows.

    Rows near the limit are predicted one by one, by ascending cost, until one is on either side.
    Others near it are not cheaper than the best rows. Their probabilities are NaN.
    """
    shares = model.predict_proba(rows)[:, label]
    near = np.flatnonzero(np.abs(shares - limit) < blur)
    shares[near] = np.nan
    for at in near[np.argsort(cost[near], kind="stable")]:
        shares[at] = model.predict_proba(rows.iloc[[at]])[0, label]
        if (shares[near] >= limit).any() and (shares[near] <= limit).any():
            break
    return shares


def check_predictions(model, X, seed, queries=3, blur=0.0, alone=False):
    """Compare answers of a regressor with the best of all rows; return how many were compared.

    ``blur`` moves limits away from predictions whose last bits depend on the number of rows.
    ``alone`` predicts the rows near limits one by one instead.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer, rows = Explainer(model, X), every_row(X)
        predicted = np.ravel(model.predict(rows)).astype(np.float64)
        low, high = np.quantile(predicted, [0.2, 0.8]) + np.array([blur, -blur])
        chosen, tried = seed % len(predicted), 0
        if alone:
            predicted = predictions(model, rows, [low, high, predicted[chosen]])
        exact = float(predicted[chosen])  # one that is reached to the last bit
        for place in np.random.default_rng(seed).choice(len(X), queries, replace=False):
            cost = costs(rows, X.iloc[place])
            least, most = exact - blur, exact + blur
            for goal, reached in (
                (AtLeast(high), predicted >= high),
                (AtMost(low), predicted <= low),
                (AtLeast(least), predicted >= least),
                (AtMost(most), predicted <= most),
            ):
                best = cost[reached].min(initial=math.inf)
                compare(explainer.explain(X.iloc[[place]], target=goal), best)
                tried += 1
        return tried


def with_gaps(X, seed):
    """Return the table with missing values in column "a", and both ends of each column."""
    X = X.astype(float)
    X.loc[np.random.default_rng(seed).random(len(X)) < 0.2, "a"] = np.nan
    X.iloc[0], X.iloc[1] = 0, TOP
    return X


def check_gaps(model, X):
    """Compare answers for a row that misses "a", which stays so, and for a whole row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = {name: {"kind": "ordinal", "bounds": [0, TOP]} for name in X}
        explainer = Explainer(model, X, features=whole)
    values = [float(v) for v in range(TOP + 1)]
    for place in (int(np.flatnonzero(X["a"].isna())[0]), int(np.flatnonzero(X["a"].notna())[5])):
        query = X.iloc[place]
        own = [query["a"]] if np.isnan(query["a"]) else values
        rows = pd.DataFrame(itertools.product(own, values, values), columns=X.columns)
        predicted = model.predict(rows)
        if hasattr(model, "classes_"):
            same = (rows.fillna(-1) == query.fillna(-1)).all(axis=1).to_numpy()
            target = 1 - predicted[same][0]
            reached = predicted == target
        else:
            target = AtLeast(float(np.quantile(predicted, 0.9)) - BLUR)
            reached = predicted >= target.value
        cost = costs(rows.fillna(-1), query.fillna(-1))
        fixed = [Fixed("a")] if np.isnan(query["a"]) else []
        result = explainer.explain(X.iloc[[place]], target=target, constraints=fixed)
        compare(result, cost[reached].min(initial=math.inf))
    return 2


def compare(result, best):
    if math.isinf(best):
        assert result.status == "infeasible", (best, result)
    else:
        assert result.status == "optimal", (best, result)
        assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12), (best, result)


def check_smallest_reasons(model, X, seed):
    """Compare the smallest reasons of a regressor's prediction with those of all rows."""
    rows = every_row(X)
    predicted = model.predict(rows)
    limit = float(np.quantile(predicted, 0.7))
    query = X[model.predict(X) < limit].iloc[seed]
    reasons = Explainer(model, X).reasons(query, AtLeast(limit), smallest=True)
    assert reasons.status == "optimal" and not reasons.holds

    def sufficient(names):
        return not (predicted >= limit)[(rows[list(names)] == query[list(names)]).all(axis=1)].any()

    assert sufficient(reasons.features)
    for size in range(len(reasons.features)):
        assert not any(map(sufficient, itertools.combinations(X.columns, size)))


def check_ranges_and_moves(model, X, seed):
    """Compare answers about ranges and changes of a prediction with the best of all rows."""
    explainer, rows, query = Explainer(model, X), every_row(X), X.iloc[seed]
    predicted, cost = model.predict(rows), costs(rows, query)
    now = float(model.predict(X.iloc[[seed]])[0])
    low, high = np.quantile(predicted, [0.4, 0.5])
    for target, reached in (
        (Score(low, high), (predicted >= low) & (predicted <= high)),
        (More(by=1.0), predicted >= now + 1.0),
        (Less(percent=20), predicted <= now - 0.2 * abs(now)),
    ):
        compare(explainer.explain(query, target=target), cost[reached].min(initial=math.inf))
