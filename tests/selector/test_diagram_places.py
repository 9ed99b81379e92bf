"""The diagram that is followed by default: the user's own, or the one that is shipped."""

import stat
from pathlib import Path

import pytest

from encoders.core.errors import InputError
from selector.diagram import Diagram, Leaf, diagram_of, load_diagram
from selector.diagram_places import SHIPPED, config_folder, default_place, go_back, promote
from selector.schedule import alone

CP, MILP = (Diagram((Leaf(alone(name)),)) for name in ("cp", "milp"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERFOLIO_CONFIG", str(tmp_path / "settings"))
    return tmp_path / "settings"


def test_the_shipped_diagram_is_the_default(folder):
    assert default_place() == SHIPPED
    assert diagram_of(None) == load_diagram(SHIPPED)


def test_a_promoted_diagram_is_the_default(folder):
    place, _ = promote(CP.to_json())
    assert default_place() == place == folder / "diagram.json"
    assert diagram_of(None) == CP


def test_what_was_the_default_is_kept_beside(folder):
    _, shipped = promote(CP.to_json())
    _, first = promote(MILP.to_json())
    assert diagram_of(None) == MILP
    assert load_diagram(shipped) == load_diagram(SHIPPED) and load_diagram(first) == CP
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["diagram.json", shipped.name, first.name]
    )


def test_promotion_leaves_the_package_alone(folder):
    before = SHIPPED.read_bytes()
    promote(CP.to_json())
    assert SHIPPED.read_bytes() == before


def test_the_standard_s_folder_comes_before_the_home_s(tmp_path, monkeypatch):
    monkeypatch.delenv("COUNTERFOLIO_CONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config_folder() == tmp_path / "xdg" / "counterfolio"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert config_folder() == tmp_path / ".config" / "counterfolio"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert config_folder() == tmp_path / ".config" / "counterfolio"


@pytest.mark.parametrize("text", ["{}", "not json", ""])
def test_a_broken_promoted_diagram_is_told_with_the_remedy(folder, text):
    folder.mkdir()
    (folder / "diagram.json").write_text(text)
    with pytest.raises(InputError) as caught:
        diagram_of(None)
    told = str(caught.value)
    place = folder / "diagram.json"
    assert told.startswith(f"{place} is not a decision diagram: ")
    remedy = f"It is the promoted diagram; delete {place} to go back to the shipped one."
    assert told.endswith(remedy)


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COUNTERFOLIO_CONFIG", str(tmp_path / "file"))
    with pytest.raises(InputError, match="Cannot write the default diagram"):
        promote(CP.to_json())


def test_a_promoted_diagram_can_be_read_by_its_user(folder):
    place, _ = promote(CP.to_json())
    assert place.stat().st_mode & stat.S_IRUSR


def test_promotions_are_undone_one_by_one(folder):
    promote(CP.to_json())
    promote(MILP.to_json())
    place, undone = go_back()
    assert place == folder / "diagram.json" and diagram_of(None) == CP
    assert load_diagram(undone) == MILP
    place, undone = go_back()
    assert place == default_place() == SHIPPED and load_diagram(undone) == CP
    with pytest.raises(InputError, match="No diagram was promoted"):
        go_back()


def test_all_promotions_are_undone_at_once(folder):
    promote(CP.to_json())
    promote(MILP.to_json())
    assert go_back(shipped=True)[0] == default_place() == SHIPPED


def test_a_diagram_of_which_nothing_is_kept_gives_way_to_the_shipped_one(folder):
    folder.mkdir()
    (folder / "diagram.json").write_text(CP.to_json())
    assert go_back()[0] == SHIPPED


def test_what_cannot_be_gone_back_from_stays(folder, monkeypatch):
    promote(CP.to_json())
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(InputError, match="Cannot restore the previous diagram"):
        go_back()
    assert diagram_of(None) == CP


def refuse(*given, **named):
    raise OSError(28, "no space left")
