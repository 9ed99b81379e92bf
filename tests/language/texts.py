"""Extraction of texts from Python and Markdown files."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FEWEST_WORDS = 4  # shorter strings and comments are mostly keys and section marks
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.M | re.S)


@dataclass(frozen=True)
class Text:
    """A text and its place.

    Attributes
    ----------
    path : Path
        File of the text.
    line : int
        First line, from 1.
    kind : str
        "page", "string", "docstring" or "comment".
    content : str
        The text itself.
    """

    path: Path
    line: int
    kind: str
    content: str

    @property
    def audience(self) -> str:
        """The readers: "user" for pages and strings, "internal" for docstrings and comments."""
        return "user" if self.kind in ("page", "string") else "internal"


@lru_cache(maxsize=1)
def _parsed(path: Path) -> tuple[str, ast.Module]:
    """Return the source and the syntax tree of a Python file, parsed once for three functions."""
    source = path.read_text(encoding="utf-8")
    return source, ast.parse(source)


def texts_of(path: Path) -> Iterator[Text]:
    """Yield all texts of a Markdown or Python file."""
    if path.suffix == ".md":
        page = path.read_text(encoding="utf-8")
        yield Text(path, 1, "page", CODE.sub(lambda block: "\n" * block[0].count("\n"), page))
        return
    docstrings = set()
    source, tree = _parsed(path)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
            docstrings.add(id(node.body[0].value))  # type: ignore[attr-defined]
            yield Text(path, node.body[0].lineno, "docstring", docstring)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) not in docstrings and len(node.value.split()) >= FEWEST_WORDS:
            yield Text(path, node.lineno, "string", node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        words = token.string.lstrip("# ")
        if token.type == tokenize.COMMENT and len(words.split()) >= FEWEST_WORDS:
            yield Text(path, token.start[0], "comment", words)


def names_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of each variable that is assigned, and of each parameter."""
    for node in ast.walk(_parsed(path)[1]):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def classes_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of each class at the top level of a module."""
    for node in _parsed(path)[1].body:
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name
