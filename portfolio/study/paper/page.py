"""The page that sets the paper beside logs: tables, verdicts and pictures, from records alone."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd

from encoders.errors import InputError
from encoders.whole_files import replace_whole
from portfolio.study.figures import draw_one
from portfolio.study.paper import tables
from portfolio.study.paper.accuracy import judged, leaves
from portfolio.study.paper.anytime import optima_of
from portfolio.study.paper.published import TIMINGS, Claim, Published, published
from portfolio.study.paper.rules import FALLS, HOLDS, NO_LOGS, UNDECIDED, Finding, judge
from portfolio.study.paper.runs import described, runs_of
from portfolio.study.paper.words import finding, table

COLUMNS = {"total": "plain, total", "solver": "plain, solver only", "reduced": "reduced, total"}
VERDICTS = (HOLDS, FALLS, UNDECIDED, NO_LOGS)


@dataclass(frozen=True)
class Picture:
    """A figure of :data:`portfolio.study.figures.FIGURES` on the page.

    Attributes
    ----------
    name : of the figure, and of its file
    part, where : which records it is of
    words : what it shows
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
    """All that the page is made of.

    Attributes
    ----------
    paper : theirs
    records : with the columns of :func:`portfolio.study.paper.runs.described`
    runs : what became of them, see :func:`portfolio.study.paper.runs.runs_of`
    optima : least costs by query, as far as anyone proved them
    """

    paper: Published
    records: pd.DataFrame
    runs: pd.DataFrame
    optima: dict[str, float]

    def part(self, name: str) -> pd.DataFrame:
        """Runs of a part that the paper's data name."""
        return self.runs.query(self.paper.parts[name])

    def found(self, claim: Claim) -> dict[str, Finding]:
        """What runs say of a claim, by timing."""
        part = self.part(claim.part)
        return {
            timing: judge(claim, part[part["timing"] == timing], self.optima) for timing in TIMINGS
        }


def evidence_of(frame: pd.DataFrame) -> Evidence:
    """What logs hold of what the paper is about."""
    runs = runs_of(frame)
    if not (runs["timing"] == "total").any():
        raise InputError(
            "the logs hold no run of a published formulation; see training_logs/paper.toml."
        )
    return Evidence(published(), described(frame), runs, optima_of(runs))


def write_page(frame: pd.DataFrame, out: Path) -> None:
    """The page, and its pictures in a folder beside it that has its name."""
    evidence = evidence_of(frame)
    folder = out.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw_pictures(evidence, folder)
    text = page_of(evidence, {name: f"{folder.name}/{name}.svg" for name in drawn})
    replace_whole(out, lambda path: path.write_text(text, encoding="utf-8"))


def draw_pictures(evidence: Evidence, folder: Path) -> list[str]:
    """Names of the pictures that the logs have data for, each drawn to ``NAME.svg``."""
    names = []
    for picture in PICTURES.values():
        records = evidence.records.query(evidence.paper.parts[picture.part]).query(picture.where)
        if draw_one(records.assign(trees=records["rounds"]), picture.name,
                    folder / f"{picture.name}.svg"):  # fmt: skip
            names.append(picture.name)
    return names


def page_of(evidence: Evidence, pictures: Mapping[str, str]) -> str:
    """The page as text."""
    paper, frame = evidence.paper, evidence.records
    found = {claim.name: evidence.found(claim) for claim in paper.claims}
    told = {
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
        told[f"claims_{number}"] = _claims(paper, number, found)
    for number, picture in PICTURES.items():
        path = pictures.get(picture.name)
        told[f"picture_{number}"] = f"![{picture.words}]({path})" if path else ""
    text = files("portfolio.study.paper").joinpath("page.md").read_text(encoding="utf-8")
    return text.format(**told)


def _summary(paper: Published, found: Mapping[str, Mapping[str, Finding]]) -> str:
    """How many claims hold, as the paper measured, and after reduction."""
    counted = {
        "as the paper has it": Counter(found[c.name][c.timing].verdict for c in paper.claims),
        "after reduction": Counter(found[c.name]["reduced"].verdict for c in paper.claims),
    }
    rows = [(words, *(str(of[verdict]) for verdict in VERDICTS)) for words, of in counted.items()]
    sentences = [
        f"* **{verdict}**: {claim.name}. {claim.says}"
        for verdict in (HOLDS, FALLS)
        for claim in paper.claims
        if found[claim.name][claim.timing].verdict == verdict
    ]
    told = ["As the paper has it:", "\n".join(sentences)] if sentences else []
    return "\n\n".join([table(("claims", *VERDICTS), rows), *told])


def _claims(paper: Published, number: str, found: Mapping[str, Mapping[str, Finding]]) -> str:
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
