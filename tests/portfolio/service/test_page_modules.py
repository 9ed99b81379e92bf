"""Tests of the page's modules that Node.js (``tests/page``) cannot run."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import portfolio
from encoders.backends.interface import StopReason
from portfolio.service.messages import CODES
from portfolio.service.page_routes import FILES

ROOT = Path(portfolio.__file__).parent.parent
# Place of the code among the arguments of errors.
RAISED = {"InputError": 1, "NothingAdmissibleError": 1, "Problem": 3}


@pytest.mark.slow
@pytest.mark.usefixtures("forked_children")
def test_encodings_are_recognised(browser, service):
    text = "name;größe\r\n“Ä”;1,5\r\n"
    written = {
        "utf-8": text.encode("utf-8-sig"),
        "utf-16le": text.encode("utf-16"),
        "utf-16be": b"\xfe\xff" + text.encode("utf-16-be"),
        "windows-1252": text.encode("cp1252"),  # Node.js 20 reads its quotes as control characters
    }
    page = browser.new_page()
    page.goto(f"{service[1].base_url}/")
    for encoding, content in written.items():
        found = page.evaluate(
            "async (given) => (await import('/page/csv.js')).decode(new Uint8Array(given))",
            list(content),
        )
        assert found == {"text": text, "encoding": encoding}
    page.close()


def coded():
    """Return codes of errors that clients may translate, with the names of their arguments."""
    found: dict[str, set[str]] = {code: set() for code in CODES.values()}
    for path in [*(ROOT / "encoders").rglob("*.py"), *(ROOT / "portfolio").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or getattr(call.func, "id", "") not in RAISED:
                continue
            place = RAISED[call.func.id]
            by_name = [each.value for each in call.keywords if each.arg == "code"]
            for code in [*call.args[place : place + 1], *by_name]:
                if isinstance(code, ast.Constant):
                    names = {each.arg for each in call.keywords} - {"code"}
                    assert found.setdefault(code.value, names) == names, code.value
    return found


def test_the_german_page_has_a_text_for_each_code_of_an_error():
    german = (FILES / "words-de.js").read_text(encoding="utf-8")
    problems = dict(re.findall(r'^  "problem\.([^"]+)": "(.*)",$', german, re.MULTILINE))
    codes = coded()
    assert problems.keys() == codes.keys()
    for code, arguments in codes.items():  # the server's own text is English
        assert set(re.findall(r"\{(\w+)\}", problems[code])) <= arguments


def test_the_page_has_a_text_for_each_reason_to_stop():
    english = (FILES / "words-en.js").read_text(encoding="utf-8")
    assert all(f'"stop.{reason}": "' in english for reason in get_args(StopReason))
