"""The Markdown pages of the project, and the fenced blocks in them."""

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)")
COMMENT = re.compile(r"^ *<!-- (?P<key>not run|waits for|file|prints)(: (?P<value>.+))? -->$")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes
    ----------
    line : of its first line of text, from 1
    told : what the comments right before it say, by key:
        "not run", why it is only read;
        "waits for", a dotted name that it needs and that may not be there yet, also one of a
        function with the parameter that it needs in parentheses;
        "file", the name under which others import it;
        "prints", that it is what the block before it prints, but for the digits
    """

    page: Path
    line: int
    language: str
    text: str
    told: Mapping[str, str]

    @property
    def place(self) -> str:
        """As in an error message."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order; comments on the line before tell how to take them."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        if opened is None:
            at += 1
            continue
        first = at + 1
        end = next(i for i in range(first, len(lines)) if lines[i].strip() == "```")
        indent = len(opened["indent"])
        yield Block(
            page=page,
            line=first + 1,
            language=opened["language"],
            text="\n".join(line[indent:] for line in lines[first:end]) + "\n",
            told=_comments(lines[: first - 1]),
        )
        at = end + 1


def _comments(before: Sequence[str]) -> dict[str, str]:
    """What the comments at the end of some lines say."""
    told = {}
    for line in reversed(before):
        found = COMMENT.match(line)
        if found is not None:
            told[found["key"]] = found["value"] or ""
        elif line.strip():
            break
    return told


def is_there(name: str) -> bool:
    """Whether a dotted name can be imported and, if it ends in "(parameter)", takes that."""
    dotted, _, parameter = name.rstrip(")").partition("(")
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
            for attribute in parts[split:]:
                found = getattr(found, attribute)
        except (ImportError, AttributeError):
            continue
        return not parameter or parameter in inspect.signature(found).parameters
    return False
