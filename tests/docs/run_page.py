"""Run the Python blocks of one page, in order and in one namespace."""

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

from tests.docs.pages import Block, blocks, is_there
from tests.docs.prelude import namespace


def run_page(page: Path) -> None:
    """Run it in the current folder, which holds the files of the prelude.

    Raises
    ------
    AssertionError
        A block prints other words than the page says.
    """
    names, printed = namespace(), ""
    for block in blocks(page):
        if block.language == "text" and "prints" in block.told:
            ours, said = _words(printed), _words(block.text)
            assert ours == said, f"{block.place}: it prints\n{printed}"
        elif block.language == "python" and _can_run(block):
            if "file" in block.told:
                Path(block.told["file"]).write_text(block.text, encoding="utf-8")
            printed = _run(block, names)


def _can_run(block: Block) -> bool:
    return "not run" not in block.told and is_there(block.told.get("waits for", "sys"))


def _run(block: Block, names: dict[str, Any]) -> str:
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(code, names)
    return told.getvalue()


def _words(text: str) -> list[str]:
    """Digits depend on the versions of libraries."""
    return re.sub(r"[-+]?\d[\d.,e+-]*", "#", text).split()


if __name__ == "__main__":
    sys.path.insert(0, "")
    run_page(Path(sys.argv[1]))
