"""Pages that compare the paper with logs: tables, verdicts and pictures, from records alone."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd

from encoders.core.errors import InputError
from encoders.core.whole_files import write_text
from portfolio.bench.anytime import optima_of
from portfolio.bench.figures import draw_one
from portfolio.bench.paper import tables
from portfolio.bench.paper.accuracy import judged, leaves
from portfolio.bench.paper.published import TIMINGS, Claim, Published, published
from portfolio.bench.paper.rules import FALLS, HOLDS, NO_LOGS, UNDECIDED, Finding, judge
from portfolio.bench.paper.runs import described, runs_of
from portfolio.bench.paper.words import finding
from portfolio.bench.tables import markdown_table as table

COLUMNS = {"total": "plain, total", "solver": "plain, solver only", "reduced": "reduced, total"}
VERDICTS = (HOLDS, FALLS, UNDECIDED, NO_LOGS)
NEXT_PAGE = re.compile(r"\n<!-- page: (\w+) -->\n\n")  # in the template page.md


@dataclass(frozen=True)
class Picture:
    """A figure of :data:`portfolio.bench.figures.FIGURES` on a page.

    Attributes
    ----------
    name : name of the figure and of its file
    part, where : conditions that select its records
    words : description
    """

    name: str
    part: str
    where: str
    words: str


# Published formulations, and ours: our own search after reduction, or reduction alone.
BOTH = "mode == 'plain' or mode == 'solo' and backend in ('search', 'reduce')"
PICTURES = {
    "1": Picture("cactus", "default", BOTH, "Share of queries proved over time, 100 trees"),
    "2": Picture("anytime", "usual", "mode == 'plain' and backend in ('cp', 'milp')",
                 "Mean normalised error of the best answer over time"),
    "3": Picture("trees", "trees", BOTH, "Seconds by number of trees, depth 5"),
    "4": Picture("norms", "norms", f"({BOTH}) and kind == 'soft' and rounds == 20",
                 "Seconds by norm, soft voting, 20 trees"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Evidence:
    """Data of all pages.

    Attributes
    ----------
    paper : published numbers and claims
    records : log records with the columns of :func:`portfolio.bench.paper.runs.described`
    runs : their outcomes, see :func:`portfolio.bench.paper.runs.runs_of`
    optima : proved optimal costs by query
    """

    paper: Published
    records: pd.DataFrame
    runs: pd.DataFrame
    optima: dict[str, float]

    def part(self, name: str) -> pd.DataFrame:
        """Return the runs of a part that the paper's data name."""
        return self.runs.query(self.paper.parts[name])

    def found(self, claim: Claim) -> dict[str, Finding]:
        """Return the verdicts on a claim by timing."""
        part = self.part(claim.part)
        return {
            timing: judge(claim, part[part["timing"] == timing], self.optima) for timing in TIMINGS
        }


def evidence_of(frame: pd.DataFrame) -> Evidence:
    """Return the data of the pages from log records."""
    runs = runs_of(frame)
    if not (runs["timing"] == "total").any():
        raise InputError(
            "the logs hold no run of a published formulation; see training_logs/paper.toml."
        )
    return Evidence(published(), described(frame), runs, optima_of(runs))


def write_page(frame: pd.DataFrame, out: Path) -> None:
    """Write the pages ``NAME.md`` and ``NAME-TOPIC.md``, and their pictures in the folder NAME."""
    evidence = evidence_of(frame)
    folder = out.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw_pictures(evidence, folder)
    pictures = {name: f"{folder.name}/{name}.svg" for name in drawn}
    for name, text in pages_of(evidence, pictures, out.stem).items():
        write_text(out.with_name(f"{name}{out.suffix}"), text)


def draw_pictures(evidence: Evidence, folder: Path) -> list[str]:
    """Draw each picture with data to ``NAME.svg``; return their names."""
    names = []
    for picture in PICTURES.values():
        records = evidence.records.query(evidence.paper.parts[picture.part]).query(picture.where)
        if draw_one(records.assign(trees=records["rounds"]), picture.name,
                    folder / f"{picture.name}.svg"):  # fmt: skip
            names.append(picture.name)
    return names


def pages_of(evidence: Evidence, pictures: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the texts of the pages by name, the overview first."""
    paper, frame = evidence.paper, evidence.records
    found = {claim.name: evidence.found(claim) for claim in paper.claims}
    parts = {
        "name": name,
        "summary": _summary(paper, found),
        "setup": tables.setup(paper, frame, evidence.runs),
        "backends": tables.by_backend(evidence.part("usual")),
        "anytime": tables.anytime(evidence.part("usual"), evidence.optima),
        "sizes": tables.by_size(evidence.part("sizes")),
        "norms": tables.by_norm(evidence.part("norms")),
        "isolation": tables.isolation(paper, evidence.part("isolation")),
        "shares": tables.shares(paper, leaves(frame)),
        "diagrams": tables.diagram(paper, judged(frame)),
        "datasets": tables.datasets(paper, frame),
    }
    for number in dict.fromkeys(claim.name[0] for claim in paper.claims):
        parts[f"claims_{number}"] = _claims(paper, number, found)
    for number, picture in PICTURES.items():
        path = pictures.get(picture.name)
        parts[f"picture_{number}"] = f"![{picture.words}]({path})" if path else ""
    text = files("portfolio.bench.paper").joinpath("page.md").read_text(encoding="utf-8")
    overview, *others = NEXT_PAGE.split(text.format(**parts))
    pages = {f"{name}-{topic}": page for topic, page in zip(others[::2], others[1::2], strict=True)}
    return {name: overview} | pages


def _summary(paper: Published, found: Mapping[str, Mapping[str, Finding]]) -> str:
    """Return the number of claims by verdict, and the claims that fall."""
    counted = {
        "as measured in the paper": Counter(found[c.name][c.timing].verdict for c in paper.claims),
        "with presolve": Counter(found[c.name]["reduced"].verdict for c in paper.claims),
    }
    rows = [(words, *(str(of[verdict]) for verdict in VERDICTS)) for words, of in counted.items()]
    falls = [
        f"* {claim.name}. {claim.says}"
        for claim in paper.claims
        if found[claim.name][claim.timing].verdict == FALLS
    ]
    listed = ["These claims fall, as measured in the paper:", "\n".join(falls)] if falls else []
    return "\n\n".join([table(("claims", *VERDICTS), rows), *listed])


def _claims(paper: Published, number: str, found: Mapping[str, Mapping[str, Finding]]) -> str:
    """Return the table of the claims whose names start with a number."""
    figures = paper.figures()
    rows = [
        (
            f"{claim.name}. {claim.says} ({claim.source})",
            claim.theirs.format(**figures),
            *(finding(found[claim.name][t], own=t == claim.timing) for t in TIMINGS),
        )
        for claim in paper.claims
        if claim.name.startswith(number)
    ]
    return table(("claim", "the paper", *(COLUMNS[timing] for timing in TIMINGS)), rows)
