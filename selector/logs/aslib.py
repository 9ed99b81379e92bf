"""Logs as an ASlib scenario (Bischl et al., 2016), which algorithm-selection tools read."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd

from encoders.core.errors import InputError
from encoders.problem.descriptors import Shape
from selector.descriptors import EnsembleDescriptors
from selector.logs.record import LEFT, PROOFS
from selector.logs.summary import whole_runs

FEATURES = [f.name for f in fields(EnsembleDescriptors)] + [LEFT + f.name for f in fields(Shape)]
OK = {True: "ok", False: "timeout"}


def export(frame: pd.DataFrame, out: str | Path) -> int:
    """Write a scenario; the number of its instances.

    Its files are description.txt, algorithm_runs.arff, feature_values.arff, feature_costs.arff and
    cv.arff (a fold per data set).

    Instances are queries with solo runs on what reduction left; the measure is total seconds.
    """
    out = Path(out)
    runs = whole_runs(frame[(frame["mode"] == "solo") & (frame["backend"] != "reduce")])
    if runs.empty:
        raise InputError("the logs hold no run of a backend alone, of which scenarios are made.")
    out.mkdir(parents=True, exist_ok=True)
    runs = runs.drop_duplicates(["query", "backend"])
    first = runs.drop_duplicates("query").set_index("query")
    described = first[FEATURES].astype("float64").replace(np.inf, np.nan)
    _write(
        out / "algorithm_runs.arff",
        "ALGORITHM_RUNS",
        {"instance_id": "STRING", "repetition": "NUMERIC", "algorithm": "STRING",
         "runtime": "NUMERIC", "runstatus": "{ok, timeout, memout, not_applicable, crash, other}"},
        [[r.query, 1, r.backend, r.total_s, OK[r.status in PROOFS]] for r in runs.itertuples()],
    )  # fmt: skip
    _write(
        out / "feature_values.arff",
        "FEATURE_VALUES",
        {"instance_id": "STRING", "repetition": "NUMERIC", **dict.fromkeys(FEATURES, "NUMERIC")},
        [
            [query, 1, *values]
            for query, values in zip(described.index, described.to_numpy().tolist(), strict=True)
        ],
    )
    _write(
        out / "feature_costs.arff",
        "FEATURE_COSTS",
        {"instance_id": "STRING", "repetition": "NUMERIC", "all": "NUMERIC"},
        [[query, 1, float(first.loc[query, "describe_s"])] for query in described.index],
    )
    folds = {name: i + 1 for i, name in enumerate(sorted(first["dataset"].unique()))}
    _write(
        out / "cv.arff",
        "CV",
        {"instance_id": "STRING", "repetition": "NUMERIC", "fold": "NUMERIC"},
        [[query, 1, folds[name]] for query, name in first["dataset"].items()],
    )
    (out / "description.txt").write_text(_description(runs), encoding="utf-8")
    return len(first)


def _description(runs: pd.DataFrame) -> str:
    backends = sorted(runs["backend"].unique())
    lines = [
        "scenario_id: counterfolio",
        "performance_measures: runtime",
        "maximize: false",
        "performance_type: runtime",
        f"algorithm_cutoff_time: {runs['limit_s'].max():g}",
        "algorithm_cutoff_memory: '?'",
        "features_cutoff_time: '?'",
        "features_cutoff_memory: '?'",
        "number_of_feature_steps: 1",
        "default_steps: [all]",
        "feature_steps:",
        "  all:",
        "    provides:",
        *(f"      - {name}" for name in FEATURES),
        "features_deterministic:",
        *(f"  - {name}" for name in FEATURES),
        "features_stochastic: []",
        "metainfo_algorithms:",
        *(f"  {name}:\n    configuration: ''\n    deterministic: true" for name in backends),
    ]
    return "\n".join(lines) + "\n"


def _write(path: Path, relation: str, columns: dict[str, str], rows: list[list[object]]) -> None:
    head = [f"@RELATION {relation}", "", *(f"@ATTRIBUTE {k} {v}" for k, v in columns.items())]
    body = [",".join(_cell(value) for value in row) for row in rows]
    path.write_text("\n".join([*head, "", "@DATA", *body]) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "?" if np.isnan(value) else f"{value:.9g}"
    return str(value)
