"""Shipped machine code: loaded where it fits, and compiled anew where anything is otherwise."""

import importlib.util
import json
from collections import Counter
from types import SimpleNamespace

import numba
import pytest
from numba.core import event

from encoders.core.shipped_code import MANIFEST, ship, with_shipped

SOURCE = "def tripled(x):\n    return 3 * x\n"


class Compilations(event.Listener):
    """Counts what numba compiles, by name."""

    def __init__(self):
        self.names = Counter()

    def on_start(self, event):
        self.names[event.data["dispatcher"].py_func.__name__] += 1

    def on_end(self, event):
        pass


def compilations(function, *values):
    with event.install_listener("numba:compile", told := Compilations()):
        assert [function(value) for value in values] == [3 * value for value in values]
    return told.names["tripled"]


@pytest.fixture
def shipped(tmp_path):
    """A function, and a folder with its code for whole numbers."""
    path = tmp_path / "tripling.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("tripling", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for _ in range(2):  # compiled, then loaded
        kept = numba.njit(cache=True)(module.tripled)
        kept(1)
    ship([kept], (path,), (), tmp_path / "code")
    return SimpleNamespace(function=module.tripled, sources=(path,), folder=tmp_path / "code")


def taken(shipped):
    function = numba.njit()(shipped.function)
    return with_shipped(function, shipped.sources, shipped.folder)


def test_shipped_code_is_loaded_and_only_read(shipped):
    before = {path: path.stat().st_mtime_ns for path in shipped.folder.iterdir()}
    assert compilations(taken(shipped), 1, 2, 3) == 0
    assert {path: path.stat().st_mtime_ns for path in shipped.folder.iterdir()} == before


def test_other_types_are_compiled_and_kept_as_ever(shipped):
    with_cache = numba.njit(cache=True)(shipped.function)
    function = with_shipped(with_cache, shipped.sources, shipped.folder)
    assert compilations(function, 1, 0.5) == 1
    assert compilations(numba.njit(cache=True)(shipped.function), 0.5) == 0


def test_names_of_the_builders_folders_in_notes_on_types_are_left_out(shipped):
    (code,) = (path for path in shipped.folder.iterdir() if path.name != MANIFEST)
    assert str(shipped.folder.parent).encode() not in code.read_bytes()


def manifest_with(**changes):
    def spoil(shipped):
        manifest = json.loads((shipped.folder / MANIFEST).read_text())
        manifest["made_for"] |= changes.get("made_for", {})
        manifest["features"] += changes.get("features", [])
        (shipped.folder / MANIFEST).write_text(json.dumps(manifest))

    return spoil


def torn(place):
    def spoil(shipped):
        path = next(shipped.folder.glob(place))
        path.write_bytes(path.read_bytes()[:-20])

    return spoil


def flipped(shipped):
    path = next(shipped.folder.glob("*tripled"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


SPOILT = {
    "another numba": manifest_with(made_for={"numba": "0.1"}),
    "another Python": manifest_with(made_for={"python": "cpython-27"}),
    "another machine": manifest_with(made_for={"machine": "aarch64-unknown-linux-gnu"}),
    "a feature that is missing": manifest_with(features=["flies"]),
    "an edited source": lambda shipped: shipped.sources[0].write_text(SOURCE + "\n"),
    "a flipped bit": flipped,
    "a torn file": torn("*tripled"),
    "a torn manifest": torn(MANIFEST),
    "no manifest": lambda shipped: (shipped.folder / MANIFEST).unlink(),
    "a manifest of something else": lambda shipped: (shipped.folder / MANIFEST).write_text("[]"),
    "no file": lambda shipped: next(shipped.folder.glob("*tripled")).unlink(),
}


@pytest.mark.slow
@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_does_not_fit_is_compiled(shipped, spoil):
    spoil(shipped)
    assert compilations(taken(shipped), 1, 2) == 1


@pytest.mark.parametrize("said", ["+avx2", "-avx2"])
def test_who_forbids_a_feature_gets_code_without_it(shipped, monkeypatch, said):
    manifest_with(features=["avx2"])(shipped)
    monkeypatch.setattr(numba.config, "CPU_FEATURES", f"+sse2,{said}")
    assert compilations(taken(shipped), 1) == (said == "-avx2")
