"""Users import one name, and get one sentence if a package of another project shadows it."""

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import counterfolio
import portfolio

ROOT = Path(counterfolio.__file__).parents[1]


def run(script, folder, path=()):
    code = f"import sys; sys.path[:0] = {[str(folder), *map(str, path)]!r}; {script}"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def installed(tmp_path):
    """The packages as an installation has them: side by side in a folder of their own."""
    home = tmp_path / "site-packages"
    for name in ("counterfolio", "encoders", "selector", "portfolio"):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    return home


def test_every_public_name_is_there():
    assert counterfolio.__all__ == portfolio.__all__
    for name in counterfolio.__all__:
        assert getattr(counterfolio, name) is getattr(portfolio, name)


def test_the_version_is_that_of_the_distribution():
    assert counterfolio.__version__ == version("counterfolio")


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Explainers'"):
        counterfolio.Explainers  # noqa: B018


@pytest.mark.parametrize("name", ["portfolio.py", "selector/__init__.py"])
def test_a_file_of_the_user_s_that_hides_a_part_is_named(tmp_path, installed, name):
    user = tmp_path / "user"
    (user / name).parent.mkdir(parents=True, exist_ok=True)
    (user / name).write_text("raise SystemExit('it was run')")
    done = run("from counterfolio import Fixed", user, [installed])
    assert f"{user / name} hides the package" in done.stderr and "Rename that file" in done.stderr


def test_a_script_of_a_part_s_name_is_told_of_itself(tmp_path, installed):
    script = tmp_path / "portfolio.py"
    script.write_text(
        f"import sys; sys.path.append({str(installed)!r}); from counterfolio import Fixed"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert f"{script} hides the package" in done.stderr


def test_a_part_that_was_overwritten_is_named(tmp_path, installed):
    (installed / "selector" / "__init__.py").write_text("raise SystemExit('it was run')")
    done = run("from counterfolio import Fixed", tmp_path, [installed])
    assert "has overwritten it" in done.stderr and "--force-reinstall" in done.stderr


def test_a_part_that_was_uninstalled_is_named(tmp_path, installed):
    (installed / "selector" / "__init__.py").unlink()
    script = (
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in str(f)]; "
        f"sys.path[:] = [p for p in sys.path if p != {str(ROOT)!r}]; from counterfolio import Fixed"
    )
    done = run(script, tmp_path, [installed])
    assert "'selector'" in done.stderr and "--force-reinstall" in done.stderr


def test_the_command_says_it_in_one_line(tmp_path, installed):
    (tmp_path / "portfolio.py").write_text("")
    script = "import runpy; runpy.run_module('counterfolio', run_name='__main__')"
    done = run(script, tmp_path, [installed])
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "from counterfolio import Explainer, FeatureSpace, Increase, Linear, Probability, Result",
        "from counterfolio.__main__ import main; sys.argv[1:] = ['--help']; main()",
    ],
    ids=["names", "help"],
)
def test_what_is_named_first_imports_nothing_heavy(script, tmp_path):
    heavy = "sorted({'numba', 'pandas', 'scipy', 'sklearn'} & set(sys.modules))"
    first = f"import atexit; atexit.register(lambda: print({heavy}))"
    told = run(f"{first}; {script}", tmp_path, [ROOT])
    assert told.stdout.endswith("[]\n"), told.stdout + told.stderr


def test_a_command_ends_without_collecting_all_objects(tmp_path):
    script = (
        "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 10_000)); "
        "sys.argv[1:] = ['--version']; from counterfolio.__main__ import main; main()"
    )
    assert run(script, tmp_path, [ROOT]).stdout.endswith("True\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_the_command_is_imported_ends_it_in_one_line(name, tmp_path):
    script = (
        "import os, signal; from importlib.abc import MetaPathFinder\n"
        "class AtFirst(MetaPathFinder):\n"
        "    def find_spec(self, fullname, path, target=None):\n"
        "        if fullname == 'portfolio.cli.app':\n"
        f"            os.kill(os.getpid(), signal.{name})\n"
        "sys.meta_path.insert(0, AtFirst()); sys.argv[1:] = ['--help']\n"
        "from counterfolio.__main__ import main; main()"
    )
    done = run(script, tmp_path, [ROOT])
    assert done.returncode == 130
    assert done.stdout == "" and done.stderr.startswith("Interrupted: ")
    assert done.stderr.count("\n") == 1
