"""Printed answers of every question fit a terminal and round proved bounds to the safe side."""

import math
import re
from dataclasses import replace

import pytest

from portfolio import Around, MaxChanges
from portfolio.questions.groups.audit_statistics import Estimate
from portfolio.results.printing import WIDTH, unwrapped

QUESTIONS = {
    "explain": lambda e, X, row: e.explain(row, "granted"),
    "several": lambda e, X, row: e.several(row, k=3, target="granted"),
    "several regions": lambda e, X, row: e.several(row, k=2, target="granted", different="region"),
    "diverse": lambda e, X, row: e.diverse(row, k=3, target="granted", within=0.8),
    "front": lambda e, X, row: e.front(row, target="granted", by="probability"),
    "robustness": lambda e, X, row: e.robustness(row),
    "robust": lambda e, X, row: e.explain_robust(row, Around({"income": 1.0}), target="granted"),
    "reasons": lambda e, X, row: e.reasons(row),
    "reason codes": lambda e, X, row: e.reason_codes(row, n=4),
    "necessary": lambda e, X, row: e.necessary(row, target="granted"),
    "why not": lambda e, X, row: e.why_not(row, "granted", constraints=[MaxChanges(0)]),
    "region": lambda e, X, row: e.region(row),
    "group": lambda e, X, row: e.explain_group(X.head(12), actions=2, target="granted"),
    "audit": lambda e, X, row: e.audit(X.head(20), "employed", target="granted"),
}


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_lines_fit_a_terminal(explainer, credit, refused, question):
    answer = QUESTIONS[question](explainer, credit[1], refused)
    lines = str(answer).splitlines()
    assert lines and max(map(len, lines)) <= WIDTH
    for number in re.findall(
        r"(?:distance|cost of|at cost|Probability of \S+:) ([\d.]+\d)", str(answer)
    ):
        assert len(number.replace(".", "").lstrip("0")) <= 4


def test_ranges_are_rounded_outwards():
    estimate = Estimate(0.123456, 0.234561, 0.111119, 0.987611)
    assert str(estimate) == "0.1234 to 0.2346 (0.1111 to 0.9877)"


def test_the_limit_of_diverse_answers_excludes_none_of_them(explainer, refused):
    answers = explainer.diverse(refused, k=3, target="granted", within=0.8)
    farthest = max(answer.distance for answer in answers.answers)
    for limit in (farthest, answers.limit, farthest * 1.00001):
        shown = re.search(r"at distance (\S+) or less", str(replace(answers, limit=limit)))
        assert farthest <= float(shown[1]) <= limit


def test_a_proved_distance_is_rounded_down(explainer, refused):
    answer = explainer.robustness(refused)
    nearest = replace(answer, result=replace(answer.result, distance=0.123456789))
    assert "Robust below distance 0.1234," in str(nearest)
    proved = replace(answer.result, status="infeasible", distance=math.inf)
    within = replace(answer, result=proved, radius=0.123456)
    (radius,) = re.findall(r"within distance (\S+) have", unwrapped(str(within)))
    assert within.robust and radius == "0.1234"
