"""Compiled code: ready before any clock runs, once for each function, with or without a cache."""

import ast
import contextlib
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numba
import numpy as np
import pytest
from numba.core import event

import encoders
import portfolio.engine.warm_up
from encoders.backends.interface import Request
from encoders.core.compiled import NOWHERE, compile_notice, is_kept, kernel
from encoders.presolve import reduce
from encoders.search.backend import solve
from encoders.search.loop import run_slice
from encoders.testing.random_problems import random_problem
from portfolio.engine.warm_up import warm_up


def versions():
    """Return the number of compiled versions of each of our functions."""
    return {
        (name, attribute): len(value.signatures)
        for name, module in sys.modules.items()
        if name.startswith(encoders.__name__)
        for attribute, value in vars(module).items()
        if isinstance(value, numba.core.dispatcher.Dispatcher)
    }


def test_nothing_is_left_to_compile_after_warming_up():
    warm_up()
    before = versions()
    for seed in range(30):
        problem = random_problem(seed)
        reduce(problem, np.zeros((1, problem.n_axes), dtype=np.int64))
        solve(problem, Request(60.0, 1))
        solve(problem, Request(60.0, 1, cutoff=1.0))
    assert versions() == before
    # Other tests of the process may have compiled it for demands and for proofs.
    assert [sign[-2:] for sign in run_slice.signatures].count((numba.none, numba.none)) == 1


def test_without_a_folder_for_the_cache_functions_are_compiled_all_the_same():
    space = {}
    exec(compile("def twice(x):\n    return 2 * x\n", "<no file>", "exec"), space)
    twice = kernel(space["twice"])
    assert not is_kept(twice) and twice(3) == 6


def test_a_machine_without_any_folder_for_caches_can_import():
    code = (
        "from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []; "
        "import portfolio; from encoders.search.loop import run_slice; "
        "from encoders.core.compiled import is_kept; print(is_kept(run_slice))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_who_waits_for_the_compiler_is_told_once(caplog):
    with caplog.at_level(logging.WARNING, "counterfolio"), compile_notice(cached=False):
        for _ in range(3):
            with event.trigger_event("numba:compile"):
                pass
    assert [record.message.endswith(NOWHERE) for record in caplog.records] == [True]


@pytest.mark.slow
def test_code_kept_before_a_source_changed_is_compiled_anew(tmp_path):
    command = [
        sys.executable,
        "-c",
        "from encoders.presolve.incumbent import find_incumbent as f; print(f.__module__)",
    ]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    folder = next(path for path in tmp_path.rglob("*") if path.is_dir() and "presolve" in path.name)
    torn = folder / "incumbent._walk-1.py311.nbi"
    torn.write_bytes(b"of another version")
    os.utime(torn, (0.0, 0.0))
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert not torn.exists()


KERNELS = {"kernel", "inner", "inlined"}


def decorated(tree, names):
    """The functions of a module that are decorated so."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and names & {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    ]


@pytest.mark.slow
def test_python_calls_no_inner_kernel():
    """It has no wrapper: calling it from Python would end the process."""
    root = Path(encoders.__file__).parents[1]
    folders = ("encoders", "portfolio", "tests")
    texts = {path: path.read_text() for name in folders for path in root.glob(f"{name}/**/*.py")}
    inner = {
        (".".join(path.relative_to(root).with_suffix("").parts), node.name): path
        for path, text in texts.items()
        if "@inner" in text
        for node in decorated(ast.parse(text), {"inner"})
    }
    assert len(inner) > 20
    named = re.compile("|".join(rf"\b{name}\b" for _, name in inner))
    for path, text in texts.items():
        if not named.search(text):
            continue
        tree = ast.parse(text)
        own = {name for (_, name), home in inner.items() if home == path}
        own |= {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if (node.module, alias.name) in inner
        }
        allowed = {id(n) for f in decorated(tree, KERNELS) for n in ast.walk(f)}
        loaded = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in own]
        assert all(id(node) in allowed for node in loaded), path


def test_the_notice_is_left_to_the_first_part_of_the_code(monkeypatch):
    notices = []

    @contextlib.contextmanager
    def noted(kept):
        notices.append(kept)
        yield

    monkeypatch.setattr(portfolio.engine.warm_up, "compile_notice", noted)
    portfolio.engine.warm_up._once.__wrapped__()
    for part in get_args(portfolio.engine.warm_up.Part):
        portfolio.engine.warm_up._part_once.__wrapped__(part)
    assert len(notices) == 1
