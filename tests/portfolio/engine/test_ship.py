"""Code for many machines against code compiled for this one: the same answers, bit by bit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import portfolio

ROOT = Path(portfolio.__file__).parents[1]
ANSWERS = """
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier
from encoders.backends.interface import Request
from encoders.search.backend import solve
from encoders.search.listing import every_choice
from encoders.presolve.bounds.row_prices import row_prices
from encoders.problem.flat_problem import tabulate
from encoders.presolve import reduce
from encoders.testing.random_problems import random_problem
from portfolio import Explainer

def told(*values):
    bits = [v.tobytes().hex() if isinstance(v, np.ndarray) else v for v in values]
    print(*[v.hex() if isinstance(v, float) else v for v in bits])

for seed in range(300):
    problem = random_problem(seed, 9, 12)
    small = reduce(problem, np.zeros((1, problem.n_axes), dtype=np.int64)).problem
    outcome = solve(problem, Request(60.0, 1))
    choices, all_told = every_choice(problem, 3.0, 50, lambda found: False)
    prices = row_prices(tabulate(problem), 3.0, 2.0**-20).prices
    told("nothing left" if small is None else small.cost, choices, all_told)
    told(outcome.status, outcome.lower, *outcome.choices)
    told(*prices)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
kinds = XGBClassifier(n_estimators=100, max_depth=5), RandomForestClassifier(100, max_depth=5)
for model in kinds:
    explainer = Explainer(model.set_params(random_state=0).fit(X, y), X)
    for i in range(20):
        result = explainer.explain(X.iloc[[i]], strategy="search")
        told(i, result.status, float(result.distance), float(result.lower_bound))
        told(result.counterfactual.to_numpy())

small = Explainer(RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y), X)
for answer in small.several(X.iloc[[0]], k=5).answers:
    told(float(answer.distance))
for point in small.front(X.iloc[[0]], by="changes").points:
    told(point.level, float(point.result.distance))
for i in range(20):
    told(small.explain(X.iloc[[i]]).record().to_dict()["proof"])
"""


def answers(folder, cache):
    done = subprocess.run(
        [sys.executable, "-c", ANSWERS],
        cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.mark.large
def test_shipped_code_answers_as_compiled_code_does(tmp_path):
    checkout = tmp_path / "checkout"
    for package in ("counterfolio", "encoders", "selector", "portfolio"):
        shutil.copytree(
            ROOT / package,
            checkout / package,
            ignore=shutil.ignore_patterns("__pycache__", "machine_code"),
        )
    subprocess.run([sys.executable, "-m", "portfolio.engine.ship"], cwd=checkout, check=True)
    shipped = answers(checkout, tmp_path / "untouched")
    assert not list((tmp_path / "untouched").rglob("*.nb?"))  # nothing was compiled
    shutil.rmtree(checkout / "encoders" / "machine_code")
    assert answers(checkout, tmp_path / "kept") == shipped
    assert list((tmp_path / "kept").rglob("*.nbi"))
    assert shipped.count("optimal") > 100
