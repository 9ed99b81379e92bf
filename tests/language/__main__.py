"""Command that lists or counts violations of the language rules.

``python -m tests.language [RULE ...]`` lists the violations of some rules, or counts all;
``python -m tests.language --lower`` writes lower counts to the baseline.
"""

import sys

from tests.language.baseline import counts, lower, project_violations


def main(arguments: list[str]) -> None:
    """List violations of the given rules, print counts of all, or lower the baseline."""
    violations = project_violations()
    if arguments == ["--lower"]:
        lower(counts(violations))
    elif arguments:
        print(*(each for each in violations if each.rule in arguments), sep="\n")
    else:
        for rule, by_audience in counts(violations).items():
            print(rule, *(f"{audience}: {n}" for audience, n in by_audience.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
