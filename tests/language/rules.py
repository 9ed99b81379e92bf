"""Patterns of the language rules.

Identifiers of rules: L1 tell and told are for people. L2 a docstring opens with a verb or a noun.
L3 no sentence opens with "Of". L4 name the actor. L5 no metaphors for mechanisms. L6 everyday
words. L7 a parameter description opens with a noun phrase. L8 names are nouns or verbs. L9 negate
the verb. L11 at most 30 words in a sentence. L12 each class name occurs once.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.language.texts import Text, classes_of, names_of, texts_of

LONGEST = 30  # words of a sentence
ANYWHERE = {
    "L1": r"\b(tells?|told|telling)\b",
    "L3": r"(?-i:(?:^|[.:;!?]\s+)Of\s+\w+)",
    "L4": r"\b(whoever|nobody|somebody|anybody|everybody|whom)\b|(?-i:(?:^|[.:;]\s+)Who\b)",
    "L5": (
        r"\b(lends?|lent|debtors?|owed|owes|bur(?:y|ied)|hurry|tales?|doorway|speaks? for|"
        r"ha(?:ve a|s a) say|last word|put by|goes? without|no room for|(?:are|is) shut|"
        r"to please|pleases)\b"
    ),
    "L6": (
        r"\b(anew|dear(?:er|est)?|mend(?:ed|s)?|reckon(?:ed)?|besides|to and fro|as ever|"
        r"h[eo]ld against|at hand|so much as|in want of|thereof|nought|beforehand|"
        r"otherwise decided|decides? otherwise|come to an end|came about|of its own|for good)\b"
    ),
    "L9": r"\b(is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b)\w+",
}
IN_DOCSTRINGS = {
    "L2": (
        r"\A(What|Whether|How|Where|Who|Whom|Of|As|That|One|The same|Those|None|All that|Others?)\b"
    ),
    "L7": (r"^\s*\w[\w, *]* : (of|as|that|to|by|whose|where|with|in|for|from|after|before) .*"),
}
PARTICIPLES = frozenset(
    ["own", "told", "asked", "held", "given", "left", "found", "known", "said", "made", "kept"]
) | {"lent", "taken", "wanted", "its"}
RULES = (*ANYWHERE, *IN_DOCSTRINGS, "L8", "L11", "L12")
_ANYWHERE = {rule: re.compile(pattern, re.I) for rule, pattern in ANYWHERE.items()}
_IN_DOCSTRINGS = {rule: re.compile(pattern, re.M) for rule, pattern in IN_DOCSTRINGS.items()}
_CODE_SPAN = re.compile(r"``.*?``|`[^`]*`", re.S)
_NO_SENTENCES = re.compile(r"^\s*([|#>*-]|:::).*$", re.M)  # tables, headings, lists, directives
_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")  # of a sentence or a paragraph


@dataclass(frozen=True)
class Violation:
    """A place that breaks a rule.

    Attributes
    ----------
    rule : str
        Identifier of the rule, such as "L1".
    audience : str
        "user" or "internal".
    path : Path
        File of the place.
    line : int
        Line at which the text starts, from 1.
    words : str
        The words that break the rule.
    """

    rule: str
    audience: str
    path: Path
    line: int
    words: str

    def __str__(self) -> str:
        """Return one line with place, rule and words."""
        return f"{self.path}:{self.line}: {self.rule} {' '.join(self.words.split())[:90]}"


def violations_in(text: Text) -> Iterator[Violation]:
    """Yield the violations of rules on texts."""
    prose = _CODE_SPAN.sub(" ", text.content)
    for rule, pattern in _ANYWHERE.items():
        for match in pattern.finditer(prose):
            around = prose[max(0, match.start() - 30) : match.end() + 30]
            yield _violation(rule, text, around)
    if text.kind == "docstring":
        for rule, pattern in _IN_DOCSTRINGS.items():
            for match in pattern.finditer(text.content):
                yield _violation(rule, text, match.group())
    for sentence in _END.split(_NO_SENTENCES.sub(" ", text.content)):
        if len(sentence.split()) > LONGEST:
            yield _violation("L11", text, sentence)


def violations_of(paths: Iterable[Path]) -> Iterator[Violation]:
    """Yield the violations of all rules in Markdown and Python files."""
    places = defaultdict(list)
    for path in paths:
        for text in texts_of(path):
            yield from violations_in(text)
        if path.suffix == ".py":
            for line, name in names_of(path):
                if name in PARTICIPLES:
                    yield Violation("L8", "internal", path, line, name)
            for line, name in classes_of(path):
                places[name].append((path, line))
    for name, found_at in places.items():
        for path, line in found_at[1:]:
            yield Violation("L12", "internal", path, line, name)


def _violation(rule: str, text: Text, words: str) -> Violation:
    """Return the violation of a rule in a text."""
    return Violation(rule, text.audience, text.path, text.line, words)
