"""Texts and names of the project follow its language rules."""

from pathlib import Path

import pytest

from tests.language import baseline
from tests.language.rules import RULES, violations_in, violations_of
from tests.language.texts import Text, texts_of

BAD = {
    "L1": "The table told the seconds.",
    "L3": "A start. Of several classes the nearest comes first.",
    "L4": "Whoever closes the connection ends the request.",
    "L5": "The trees speak for their model.",
    "L6": "The bound is reckoned anew.",
    "L9": "This is no server.",
    "L11": "word " * 30 + "word.",
}


def rules_broken(content, kind="page"):
    return {violation.rule for violation in violations_in(Text(Path("x"), 1, kind, content))}


@pytest.mark.parametrize(("rule", "content"), BAD.items())
def test_each_rule_on_texts_finds_its_example(rule, content):
    assert rule in rules_broken(content)


def test_docstrings_open_with_verbs_and_describe_parameters_by_nouns():
    bad = "What is left.\n\nParameters\n----------\nport : of it"
    assert rules_broken(bad, "docstring") == {"L2", "L7"}
    good = "Return the rest.\n\nParameters\n----------\nport : int, TCP port to listen on"
    assert rules_broken(good, "docstring") == set()


def test_plain_text_and_quoted_code_break_no_rule():
    assert rules_broken("This is no longer slow. Use `told` or `is no` as names.") == set()
    assert rules_broken("word " * 29 + "word. " + "word " * 30) == set()


def test_names_and_class_names_are_checked(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("class Query:\n    pass\n\n\ndef solve(told):\n    solution = told\n")
    two.write_text("class Query:\n    pass\n")
    broken = [(each.rule, each.path, each.words) for each in violations_of([one, two])]
    assert broken == [("L8", one, "told"), ("L12", two, "Query")]


def test_texts_of_python_are_docstrings_strings_and_comments(tmp_path):
    path = tmp_path / "some.py"
    path.write_text('"""Some module."""\n\nX = "a string of several words"  # why it is needed\n')
    kinds = {(text.line, text.kind, text.audience) for text in texts_of(path)}
    assert kinds == {
        (1, "docstring", "internal"), (3, "string", "user"), (3, "comment", "internal")
    }  # fmt: skip


def test_code_blocks_of_pages_are_not_read(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# Title\n\n```python\ntold = 1\n```\n\nText.\n")
    (page,) = texts_of(path)
    assert "told" not in page.content and page.content.count("\n") == 7


@pytest.mark.slow
def test_the_baseline_can_only_shrink():
    violations = baseline.project_violations()
    numbers, allowed = baseline.counts(violations), baseline.allowed()
    assert set(allowed) == set(RULES)
    more = [
        str(violation)
        for violation in violations
        if numbers[violation.rule][violation.audience] > allowed[violation.rule][violation.audience]
    ]
    assert not more, "\n".join(["more violations than the baseline allows:", *more[:60]])
    assert numbers == allowed, "fewer violations: run `python -m tests.language --lower`"
