"""Measure tools on the same models and rows: ``python docs/explanation/comparison_runs.py``.

The data sets are those of scikit-learn. Each installed tool answers every row. The script checks
each answer with the model's own predict and computes its cost, the sum of all changes as shares
of the range. Seconds are processor time of one thread, without reading the model.
"""

import argparse
import importlib.metadata
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["RAYON_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

SAME = 1e-4  # relative difference of costs that counts as equal: tools step over thresholds by more
Answer = tuple[Any, bool]  # the row or None, and whether it is called optimal
Ask = Callable[[pd.Series, int], Answer]


def data() -> tuple[pd.DataFrame, pd.Series]:
    """Return measurements of 569 tumours, scaled to a range of 1, and their classes."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.columns = [name.replace(" ", "_") for name in X.columns]
    return (X - X.min()) / (X.max() - X.min()) - 0.5, y


def models(X: pd.DataFrame, y: pd.Series) -> Iterator[tuple[str, Any]]:
    """Yield names and fitted models."""
    for trees in (20, 100):
        forest = RandomForestClassifier(trees, max_depth=5, random_state=0, n_jobs=1)
        yield f"forest, {trees} trees, depth 5", forest.fit(X, y)
    try:
        from xgboost import XGBClassifier
    except ImportError:
        return
    boosted = XGBClassifier(n_estimators=100, max_depth=5, random_state=0, n_jobs=1)
    yield "XGBoost, 100 trees, depth 5", boosted.fit(X, y)


def counterfolio(model: Any, X: pd.DataFrame, y: pd.Series, limit_s: int) -> Ask:
    """Return a function that explains a row by counterfolio."""
    from counterfolio import Explainer

    bounds = {name: {"bounds": [-1.0, 1.0]} for name in X.columns}
    explainer = Explainer(model, X, features=bounds)
    explainer.explain(X.iloc[0], scale="none", time_limit_s=limit_s, threads=1)  # compiles

    def ask(row: pd.Series, target: int) -> Answer:
        result = explainer.explain(row, target, scale="none", time_limit_s=limit_s, threads=1)
        return result.counterfactual, result.status == "optimal"

    return ask


def oceanpy(model: Any, X: pd.DataFrame, y: pd.Series, limit_s: int) -> Ask:
    """Return a function that explains a row by oceanpy's constraint programming."""
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features

    _, mapper = parse_features(X, scale=False)
    explainer = ConstraintProgrammingExplainer(model, mapper=mapper)

    def ask(row: pd.Series, target: int) -> Answer:
        found = explainer.explain(row.to_numpy(), y=target, norm=1, max_time=limit_s, num_workers=1)
        optimal = explainer.get_solving_status() == "OPTIMAL"
        return (None if found is None else pd.Series(found.to_numpy(), row.index)), optimal

    return ask


def treecf(model: Any, X: pd.DataFrame, y: pd.Series, limit_s: int) -> Ask:
    """Return a function that explains a row by treecf's exact backend."""
    import treecf as library

    explainer = library.Explainer(model, normalizers=dict.fromkeys(X.columns, 1.0))
    forest = isinstance(model, RandomForestClassifier)

    def ask(row: pd.Series, target: int) -> Answer:
        above, below = (0.5 + 1e-9, 1.0), (0.0, 0.5 - 1e-9)
        goal = library.Target.raw if forest else library.Target.probability
        found = explainer.explain(
            row.to_numpy(),
            goal(range=above if target else below),
            backend="exact",
            time_budget_s=float(limit_s),
            node_budget=2**62,
            seed=0,
        )
        answer = getattr(found, "x_cf", None)
        return (None if answer is None else pd.Series(answer, row.index)), found.proof == "optimal"

    return ask


def dice(model: Any, X: pd.DataFrame, y: pd.Series, limit_s: int) -> Ask:
    """Return a function that explains a row by the genetic method of DiCE."""
    import dice_ml

    table = dice_ml.Data(
        dataframe=X.assign(y=y), continuous_features=list(X.columns), outcome_name="y"
    )
    wrapped = dice_ml.Model(model=model, backend="sklearn")
    explainer = dice_ml.Dice(table, wrapped, method="genetic")

    def ask(row: pd.Series, target: int) -> Answer:
        found = explainer.generate_counterfactuals(
            row.to_frame().T, total_CFs=1, desired_class=target, verbose=False
        )
        frame = found.cf_examples_list[0].final_cfs_df
        if frame is None or not len(frame):
            return None, False
        return frame.iloc[0][X.columns].astype(float), False

    return ask


TOOLS = {"counterfolio": counterfolio, "oceanpy": oceanpy, "treecf": treecf, "dice": dice}
NAMES = {"dice": "dice-ml"}


def run(
    tool: str, model: Any, X: pd.DataFrame, y: pd.Series, places: list, limit_s: int
) -> Iterator:
    """Yield a record for each row: valid, called optimal, cost, seconds."""
    ask = TOOLS[tool](model, X, y, limit_s)
    decided = model.predict(X)
    for place in places:
        row, target = X.iloc[place], 1 - int(decided[place])
        began = time.process_time()
        try:
            answer, optimal = ask(row, target)
        except Exception as error:
            warnings.warn(f"{tool}: {type(error).__name__}: {error}"[:200], stacklevel=2)
            answer, optimal = None, False
        seconds = time.process_time() - began
        valid = answer is not None and bool(model.predict(answer.to_frame().T)[0] == target)
        cost = float(np.abs(answer - row).sum()) if valid else None
        yield {"row": place, "valid": valid, "optimal": optimal, "cost": cost, "seconds": seconds}


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each model and tool; costs are multiples of counterfolio's."""
    least = frame[frame["tool"].str.startswith("counterfolio")].set_index(["model", "row"])["cost"]
    frame = frame.join(least.rename("least"), on=["model", "row"])
    frame["ratio"] = frame["cost"] / frame["least"]
    frame["wrong"] = frame["optimal"] & ~(frame["ratio"] <= 1 + SAME)
    groups = frame.groupby(["model", "tool"], sort=False)
    return groups.agg(
        rows=("row", "size"),
        valid=("valid", "sum"),
        called_optimal=("optimal", "sum"),
        not_optimal=("wrong", "sum"),
        cost_median=("ratio", "median"),
        cost_largest=("ratio", "max"),
        seconds_median=("seconds", "median"),
        seconds_largest=("seconds", "max"),
    ).round(3)


def main() -> None:
    """Run the tools, append a record for each row, and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--limit", type=int, default=60, help="seconds for each row")
    parser.add_argument("--tools", default=",".join(TOOLS), help="empty to summarise only")
    parser.add_argument("--models", default="", help="part of their names")
    parser.add_argument("--out", type=Path, default=Path("comparison.jsonl"))
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    X, y = data()
    places = np.linspace(0, len(X) - 1, given.rows).astype(int).tolist()
    for tool in filter(None, given.tools.split(",")):
        version = importlib.metadata.version(NAMES.get(tool, tool))
        for name, model in models(X, y):
            if given.models not in name:
                continue
            for record in run(tool, model, X, y, places, given.limit):
                with given.out.open("a", encoding="utf-8") as file:
                    line = {"model": name, "tool": f"{tool} {version}"} | record
                    file.write(json.dumps(line) + "\n")
    sys.stdout.write(summarise(pd.read_json(given.out, lines=True)).to_string() + "\n")


if __name__ == "__main__":
    main()
