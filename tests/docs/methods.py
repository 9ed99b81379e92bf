"""Source of the question methods of Explainer, which derives from the records of questions.

``python -m tests.docs.methods`` writes it.
"""

import ast
import inspect
import subprocess
import sys
import textwrap
from dataclasses import MISSING, Field, fields
from pathlib import Path

from portfolio.questions import records
from portfolio.questions.records import QUESTIONS, QuestionType, texts_of

ROOT = Path(__file__).parents[2]
PATH = ROOT / "portfolio" / "api" / "methods.py"
WIDTH = 100
# Order of the fields that several questions share; those of a question itself come first.
SHARED = (
    *("norm", "scale", "weights", "constraints", "margin", "bounds"),
    *("strategy", "tie_break", "time_limit_s", "threads", "seed"),
)
TABLE = "DataFrame or array of shape (n_rows, n_columns)"
VARIATIONS = (
    ("portfolio.questions.robust.nearby", "Around"),
    ("portfolio.questions.robust.retraining", "Retraining"),
)
HEAD = '''"""Question methods of an explainer, generated from :mod:`portfolio.questions.records`.

``python -m tests.docs.methods`` writes this file; do not edit it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from portfolio.questions import records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from portfolio.engine.ask import Asker
{imports}


class Questions:
    """Question methods that :class:`portfolio.api.explainer.Explainer` inherits.

    Examples
    --------
    >>> [answer.changed[0].feature for answer in explainer.several(row, k=3)]
    ['income', 'age', 'housing']
    """

    _asker: Asker

    def ask(
        self,
        x: Any,
        question: records.QuestionType,
        *,
        on_progress: Callable[..., None] | None = None,
    ) -> Any:
        """Answer a question that is given as a record.

        There is a method for each record in :mod:`portfolio.questions.records`. It takes the fields
        of the record as arguments and returns the same answer.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain; a table for questions about several rows.
        question : QuestionType
            Question with its settings.
        on_progress : callable, optional
            Function called with the progress, as in the method of the question.

        Returns
        -------
        Reasons, Several, Front or another answer
            Answer of the type that the method of the question returns.

        Raises
        ------
        InputError
            If the row or a field of the question is invalid.

        Examples
        --------
        >>> from portfolio.questions.records import SeveralQuestion
        >>> len(explainer.ask(row, SeveralQuestion(k=2)).answers)
        2
        """
        asker, question = self._asker.about(question)
        return question.solve(asker, x, on_progress)
'''


def source() -> str:
    """Return the source of all question methods; ``ruff format`` breaks its lines."""
    places = {_place(each.answer) for each in QUESTIONS.values()} | set(VARIATIONS)
    imports = [f"    from {module} import {name}" for module, name in sorted(places)]
    parts = [HEAD.format(imports="\n".join(imports)), *map(_method, QUESTIONS.values())]
    return "\n".join(parts)


def _method(question: type[QuestionType]) -> str:
    ordered, types = _ordered(question), _types(question)
    x = "X" if question.table else "x"
    needed = [each for each in ordered if each.default is MISSING]
    target = [each for each in ordered if each.name == "target"]
    rest = [each for each in ordered if each not in needed and each not in target]
    arguments = [f"{x}: Any", *(_argument(each, types) for each in needed + target), "*"]
    arguments += [_argument(each, types) for each in rest]
    arguments.append("on_progress: Callable[..., None] | None = None")
    passed = ", ".join(f"{each.name}={each.name}" for each in needed + target + rest)
    module, solver = _place(question.solver)
    return textwrap.indent(
        f"def {question.name}(self, {', '.join(arguments)}) -> {_place(question.answer)[1]}:\n"
        f"{_docstring(question, x, needed + target + rest)}"
        f"    from {module} import {solver}\n\n"
        f"    asker, question = self._asker.about(records.{question.__name__}({passed}))\n"
        f"    return {solver}(asker, {x}, question, on_progress)\n",
        "    ",
        lambda line: bool(line.strip()),
    )


def _place(text: str) -> tuple[str, str]:
    module, _, name = text.partition(":")
    return module, name


def _ordered(question: type[QuestionType]) -> list[Field]:
    """Return the fields of a question: its own ones first, then those that others share."""
    own = [each for each in fields(question) if each.name not in SHARED]
    names = {each.name: each for each in fields(question)}
    return own + [names[name] for name in SHARED if name in names]


def _argument(field: Field, types: dict[str, str]) -> str:
    default = "" if field.default is MISSING else f" = {_shown(field.default)}"
    return f"{field.name}: {types[field.name]}{default}"


def _shown(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _types(question: type[QuestionType]) -> dict[str, str]:
    """Return the type of each field as it is written in the module, without its documentation."""
    tree = ast.parse(inspect.getsource(records))
    aliases = {
        node.targets[0].id: _bare(node.value, {})
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    types: dict[str, str] = {}
    for base in reversed(question.__mro__[:-1]):
        for node in classes[base.__name__].body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                types[node.target.id] = _bare(node.annotation, aliases)
    return types


def _bare(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Annotated":
        assert isinstance(node.slice, ast.Tuple)
        return _bare(node.slice.elts[0], aliases)
    text = ast.unparse(node)
    return aliases.get(text, text)


def _docstring(question: type[QuestionType], x: str, ordered: list[Field]) -> str:
    """Return the docstring of a method: that of its record, with the parameters."""
    text = inspect.getdoc(question) or ""
    head, _, tail = text.partition("Returns\n-------")
    texts = texts_of(question)
    entries = [_entry(x, TABLE if question.table else records.ROW, question.subject)]
    for each in ordered:
        kind = texts[each.name].type + _default(each)
        entries.append(_entry(each.name, kind, texts[each.name].words))
    call = f"Function called with {question.progress}."
    entries.append(_entry("on_progress", "callable, optional", call))
    parameters = "Parameters\n----------\n" + "".join(entries)
    whole = f'"""{head}{parameters}\nReturns\n-------{tail}\n"""\n'
    return textwrap.indent(whole, "    ", lambda line: bool(line.strip()))


def _default(field: Field) -> str:
    if field.default is MISSING:
        return ""
    return ", optional" if field.default is None else f", default {_number(field.default)}"


def _number(default: object) -> str:
    whole = isinstance(default, float) and default.is_integer()
    return str(int(default)) if whole else _shown(default)


def _entry(name: str, kind: str, words: str) -> str:
    lines = textwrap.wrap(words, WIDTH - 12)
    return f"{name} : {kind}\n" + "".join(f"    {line}\n" for line in lines)


if __name__ == "__main__":
    PATH.write_text(source())
    subprocess.run([Path(sys.executable).with_name("ruff"), "format", "-q", PATH], check=True)
