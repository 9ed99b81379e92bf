"""Files that are written whole, or not at all."""

import pytest

from encoders.core.whole_files import replace_whole, write_all


class Narrow:
    """A raw file that takes three bytes at a time."""

    def __init__(self):
        self.content = b""

    def write(self, part):
        self.content += bytes(part[:3])
        return min(3, len(part))


def test_a_file_that_takes_little_at_a_time_gets_all():
    file = Narrow()
    write_all(file, b"ten bytes.")
    assert file.content == b"ten bytes."


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "table.json"
    for text in ("old", "new"):
        replace_whole(path, lambda to, text=text: to.write_text(text))
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_on_the_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.json"
    path.write_text("old")

    def torn(to):
        to.write_text("ne")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        replace_whole(path, torn)
    assert path.read_text() == "old"
