"""Lines of the log: what they contain about a request, as JSON and as text."""

import hashlib
import json
import logging
import sys

import pytest

from encoders.core.errors import InputError
from portfolio.service.app import create_app
from portfolio.service.log_lines import JsonLines, Repetitions, TextLines, log_as_lines, log_request
from portfolio.service.settings import Settings
from tests.support.served import Unserved, served

pytestmark = pytest.mark.usefixtures("forked_children")

KEY = "a-key-of-twenty-signs"
HEADERS = {"authorization": f"Bearer {KEY}", "x-request-id": "mine-7"}
LOG = "counterfolio.service"
PATH = "/v1/models/credit"


@pytest.fixture
def settings(source, tmp_path):
    return Settings(lambda: [source], workers=1, reload_s=0, keys=frozenset({KEY}), jobs=tmp_path)


@pytest.mark.slow
def test_a_line_names_key_model_question_and_answer(settings, row, caplog):
    caplog.set_level(logging.INFO, LOG)
    batch = {"rows": [row], "question": "front", "settings": {}}
    with served(settings) as (_, client):
        client.post(f"{PATH}/explain", json={"x": row}, headers=HEADERS)
        client.post(f"{PATH}/reasons/stream", json={"x": row}, headers=HEADERS)
        client.post(f"{PATH}/batch", json=batch, headers=HEADERS)
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    explained, streamed, started = [each for each in lines if each.get("request") == "mine-7"]
    assert explained["key"] == hashlib.sha256(KEY.encode()).hexdigest()[:12]
    assert explained["model"] == streamed["model"] == started["model"] == "credit"
    assert (explained["question"], explained["answer"]) == ("explain", "optimal")
    assert explained["status"] == 200 and explained["backend"] and explained["seconds"] > 0
    assert streamed["question"] == "reasons" and streamed["answer"]
    assert started["question"] == "front" and started["status"] == 202 and "answer" not in started
    assert KEY not in json.dumps(lines)


def test_a_refused_request_has_no_key_and_no_question(settings, row, caplog):
    caplog.set_level(logging.INFO, LOG)
    client = Unserved(create_app(settings))
    client.post(f"{PATH}/explain", json={"x": row}, headers={"x-request-id": "mine-8"})
    (line,) = [r.members for r in caplog.records if getattr(r, "members", {})]
    assert line["request"] == "mine-8" and line["status"] == 401
    assert line["key"] == "" and "question" not in line


def record(message, members=None, exc_info=None):
    made = logging.LogRecord(LOG, logging.INFO, __file__, 0, message, (), exc_info)
    made.members = members or {}
    return made


def test_text_is_one_line_without_control_characters():
    line = TextLines().format(record("a\nb\x1b[1m", {"path": "/\nx", "status": 200}))
    time, level, rest = line.split(" ", 2)
    assert level == "INFO" and len(time) == len("2026-01-01T00:00:00+0000")
    assert rest == 'a\\nb\\x1b[1m path="/\\nx" status=200'


def test_both_forms_contain_the_traceback():
    try:
        raise ValueError("wrong")
    except ValueError:
        made = record("failed", exc_info=sys.exc_info())
    assert TextLines().format(made).endswith("ValueError: wrong")
    assert json.loads(JsonLines().format(made))["traceback"].endswith("ValueError: wrong")


@pytest.mark.parametrize(("form", "begin"), [("json", '{"time": "2'), ("text", "2")])
def test_the_form_is_chosen(form, begin, capsys):
    name = f"counterfolio.{form}-lines"
    log_as_lines(name, form=form)
    log_request(logging.getLogger(name), {"request": "mine-9"})
    line = capsys.readouterr().err
    assert line.startswith(begin) and "mine-9" in line and line.count("\n") == 1


def test_a_repeated_error_is_logged_once_a_minute():
    filtered = Repetitions()

    def lines(message, level, *seconds):
        for second in seconds:
            made = record(message)
            made.created, made.levelno = second, level
            if filtered.filter(made):
                yield made.getMessage()

    full = [*lines("full", logging.ERROR, 0.0, 1.0, 59.0), *lines("away", logging.WARNING, 59.0)]
    assert full == ["full", "away"]
    assert [*lines("full", logging.ERROR, 60.0, 61.0)] == ["full (omitted 2 times)"]
    assert [*lines("full", logging.ERROR, 120.0)] == ["full (omitted 1 times)"]
    assert len([*lines("request", logging.INFO, 0.0, 0.0)]) == 2


def test_an_unknown_form_is_refused(source):
    with pytest.raises(InputError, match=r"unknown log format 'xml'\. Use json or text\."):
        Settings(lambda: [source], log_format="xml")
