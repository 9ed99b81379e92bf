"""Numbers of violations that are still allowed; they can only shrink."""

import json
from collections.abc import Iterable
from pathlib import Path

from tests.language.rules import RULES, Violation, violations_of

ROOT = Path(__file__).parents[2]
PLACES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "training_logs/README.md",
          "changes", "docs", "counterfolio", "encoders", "selector", "portfolio")  # fmt: skip
BASELINE = Path(__file__).with_name("baseline.json")
Counts = dict[str, dict[str, int]]


def project_violations() -> list[Violation]:
    """Return all violations in product code and pages."""
    files = [
        path
        for place in PLACES
        for path in [ROOT / place, *(ROOT / place).rglob("*")]
        if path.suffix in (".py", ".md") and path.is_file()
    ]
    return list(violations_of(sorted(files)))


def counts(violations: Iterable[Violation]) -> Counts:
    """Return the number of violations by rule and audience."""
    numbers = {rule: {"user": 0, "internal": 0} for rule in sorted(RULES, key=_number)}
    for violation in violations:
        numbers[violation.rule][violation.audience] += 1
    return numbers


def allowed() -> Counts:
    """Return the counts of the baseline."""
    numbers: Counts = json.loads(BASELINE.read_text())
    return numbers


def lower(numbers: Counts) -> None:
    """Write counts to the baseline where they are lower than there."""
    least = {
        rule: {audience: min(n, numbers[rule][audience]) for audience, n in by_audience.items()}
        for rule, by_audience in allowed().items()
    }
    BASELINE.write_text(json.dumps(least, indent=1) + "\n")


def _number(rule: str) -> int:
    """Return the number in an identifier of a rule."""
    return int(rule[1:])
