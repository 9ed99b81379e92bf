"""The notebooks of examples/ run as they stand, and what is stored in them is their output."""

import json

import pytest

from tests.docs.pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def named(path):
    return path.name


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (extra 'test')")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (extra 'test')")
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    for module in notebook.metadata.get("counterfolio", {}).get("needs", ()):
        pytest.importorskip(module, reason=f"{module} is not installed (an extra of counterfolio)")
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_a_notebook_is_stored_with_its_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs and not [o for o in outputs if o["output_type"] == "error"]
    assert path.stat().st_size < 50_000
