"""What can't be asked of a batch is told before anybody is asked."""

import subprocess
import sys

import numpy as np
import pytest

from encoders.core.errors import InputError
from encoders.query.constraints import Fixed
from portfolio.workers.local_executor import LocalExecutor


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"norm": lambda feature, before, after: 1.0, "executor": LocalExecutor(1)},
            "can't be sent to workers",
        ),
        ({"resume": True}, "without the folder"),
        ({"executor": "cloud"}, "'local', 'ray'"),
        ({"strategy": "nobody"}, "unknown backend 'nobody'"),
        ({"target": "maybe"}, "unknown target"),
        ({"out": 5}, "out must be the path of a folder, got 5"),
        ({"out": ""}, "out must be the path of a folder, got ''"),
        ({"deadline_s": -1}, "above 0"),
        ({"out": "/proc/nothing"}, "can't write to /proc/nothing"),
    ],
)
def test_bad_settings_are_told_in_a_sentence(explainer, rows, options, message):
    with pytest.raises(InputError, match=message):
        explainer.explain_batch(rows, **options)


def test_other_columns_are_refused(explainer, rows):
    with pytest.raises(InputError, match="lacks 'age'"):
        explainer.explain_batch(rows.drop(columns="age"))
    with pytest.raises(InputError, match="takes 6"):
        explainer.explain_batch(np.zeros((3, 5)))


def test_settings_are_refused_before_anyone_is_asked(explainer, rows, tmp_path):
    for wrong in ({"norm": "x"}, {"scale": "x"}, {"weights": [1]}, {"constraints": [Fixed("x")]}):
        with pytest.raises(InputError):
            explainer.explain_batch(rows, out=tmp_path, **wrong)
    with pytest.raises(InputError, match="can't write logs"):
        explainer.explain_batch(rows, log="/proc/nothing")
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_functions_of_a_script_are_refused_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "from portfolio import Explainer, InputError\n"
        "from portfolio.workers.local_executor import LocalExecutor\n"
        "def cost(feature, before, after): return abs(after - before)\n"
        "if __name__ == '__main__':\n"
        "    X = np.arange(20.0).reshape(10, 2)\n"
        "    e = Explainer(DecisionTreeClassifier().fit(X, [0, 1] * 5), X)\n"
        "    try: e.explain_batch(X, norm=cost, executor=LocalExecutor(1))\n"
        "    except InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert "in a module that workers can import" in done.stdout, done.stderr
