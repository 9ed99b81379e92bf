"""Ctrl-C during ``explain``, with every backend: the best answer so far, and nothing left."""

import json
import signal
import subprocess
import sys
import textwrap

import pytest

from encoders.backends.registry import all_backends
from tests.support.checks import backend
from tests.support.processes import children, command

SCRIPT = """
    import json, sys, threading, time
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from portfolio import Explainer

    X, y = make_classification(1500, 60, n_informative=40, random_state=1)
    model = RandomForestClassifier(200, max_depth=7, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    explainer.explain(X[0], time_limit_s=0.1)  # what is compiled, is compiled
    bounds = []
    row = X[model.predict_proba(X)[:, 1].argmax()]

    def ready(*point):
        bounds.append(point)
        if len(bounds) == 1:
            print("ready", flush=True)

    pressed = []
    threading.Thread(target=lambda: pressed.append(sys.stdin.readline() and time.time())).start()
    result = explainer.explain(row, backend=sys.argv[1], on_progress=ready, time_limit_s=200)
    ended = time.time()
    verified = result.counterfactual is not None and model.predict([result.counterfactual])[0] == 0
    print(json.dumps({
        "status": result.status, "reason": result.stop_reason, "verified": bool(verified),
        "bound": result.lower_bound, "distance": result.distance, "late": ended - pressed[0],
    }), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("name", [b.name for b in all_backends()])
def test_ctrl_c_gives_the_best_answer_so_far(name):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):  # still at work
        process.wait(timeout=4)
    busy = children(process.pid)
    process.stdin.write("now\n")
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    answer = json.loads(process.stdout.readline())
    assert (answer["status"], answer["reason"]) == ("feasible", "interrupted")
    assert answer["verified"] and 0 <= answer["bound"] < answer["distance"]
    assert answer["late"] < 5.0  # 0.5 s and what a busy machine adds
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    assert len(busy) == backend(name).capability.isolated
    assert not any("solver_process" in command(pid) for pid in busy)
