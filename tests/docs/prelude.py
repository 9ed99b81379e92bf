"""What the pages' code takes as given: a table, a small model, rows, and files in a folder."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

KINDS = {
    "age": "D,INC", "sex": "B,FIXED", "income": "N,FREE", "rooms": "D,FREE", "housing": "C,FREE",
    "job": "B,FREE",
}  # fmt: skip
CONSTRAINTS = '[{"Linear": [{"rooms": 10, "income": -1}, "<=", 100]}]'
FEATURES = '{"age": {"kind": "ordinal", "bounds": [18, 99]}}'


def table(n_rows: int = 240, seed: int = 7) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """Loans: the raw columns, the columns of a model, and who was granted one."""
    rng = np.random.default_rng(seed)
    raw = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n_rows),
            "sex": rng.integers(0, 2, n_rows),
            "income": np.round(rng.lognormal(3, 0.5, n_rows), 3),
            "rooms": rng.integers(1, 6, n_rows),
            "housing": rng.choice(["free", "own", "rent"], n_rows),
            "job": rng.integers(0, 2, n_rows),
        }
    )
    score = raw["income"] / 20 + raw["job"] + (raw["housing"] == "own")
    y = np.where(score + rng.normal(0, 0.3, n_rows) > 2.2, "granted", "refused")
    X = pd.get_dummies(raw, columns=["housing"], dtype=float).astype(float)
    return raw, X, y


def write_files(folder: Path) -> None:
    """The files that pages name."""
    raw, X, y = table()
    label = (y == "granted").astype(int)
    types, actions = zip(*(kind.split(",") for kind in KINDS.values()), strict=True)
    lines = [*KINDS, "Class"], [*types, "B"], [*actions, "PREDICT"]
    body = raw[[*KINDS]].assign(Class=label).to_csv(index=False, header=False)
    head = "".join(",".join(line) + "\n" for line in lines)
    (folder / "loans.csv").write_text(head + body, encoding="utf-8")
    raw[[*KINDS]].head(4).to_parquet(folder / "rows.parquet")
    raw[[*KINDS]].head(1).to_csv(folder / "row.csv", index=False)
    (folder / "features.json").write_text(FEATURES, encoding="utf-8")
    (folder / "constraints.json").write_text(CONSTRAINTS, encoding="utf-8")
    (folder / "service.toml").write_text("most-rows = 5000\n", encoding="utf-8")
    XGBClassifier(n_estimators=5, max_depth=3).fit(X, label).save_model(folder / "model.ubj")
    skops.io.dump(RandomForestClassifier(5, max_depth=3).fit(X, y), folder / "model.skops")


def namespace() -> dict[str, Any]:
    """The names that a page's first block finds."""
    raw, X, y = table()
    columns = make_column_transformer((OneHotEncoder(), ["housing"]), remainder="passthrough")
    pipeline = make_pipeline(columns, RandomForestClassifier(8, max_depth=4, random_state=0))
    model = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y)
    refused = X[model.predict(X) == "refused"]
    return {
        "__name__": "__main__",
        "loans": raw,
        "pipeline": pipeline.fit(raw, y),
        "model": model,
        "forest": model,
        "X_train": X,
        "y": y,
        "X": refused.head(4),
        "row": refused.iloc[0],
    }
