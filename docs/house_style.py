"""For the API pages: our docstrings, as the site's parser of numpydoc wants them.

We write ``name : what it is`` and go on below, indented; the parser takes that line for a type.
"""

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(?P<indent> *)(Parameters|Attributes|Returns|Raises|Notes)$")
TITLES = ("Parameters", "Attributes")
ITEM = re.compile(r"^(?P<indent> *)(?P<names>\w+(, \w+)*) : (?P<text>.+)$")


def described(text: str) -> str:
    """Return the docstring with the description of each name on the line below it."""
    lines, rewritten = text.splitlines(), []
    inside, at = False, 0
    while at < len(lines):
        section = SECTION.match(lines[at])
        if section is not None:
            inside = lines[at].strip() in TITLES
        item = ITEM.match(lines[at]) if inside else None
        if item is None:
            rewritten.append(lines[at])
            at += 1
            continue
        words, at = item["text"], at + 1
        while at < len(lines) and lines[at].startswith(item["indent"] + "    "):
            ends = words.rstrip().endswith((".", ",", ";", ":", "("))
            joint = " " if ends or not lines[at].strip()[:1].isupper() else ". "
            words += joint + lines[at].strip()
            at += 1
        rewritten += [f"{item['indent']}{item['names']}", f"{item['indent']}    {words}"]
    return "\n".join(rewritten)


class HouseStyle(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **more: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = described(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **more: Any) -> None:
        """Let wildcard imports see the names of a stub, which the code imports lazily."""
        for member in pkg.members.values():
            member.runtime = True
