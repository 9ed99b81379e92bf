"""The pages about the paper are generated from the shipped logs, byte by byte."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.bench.paper.page import PICTURES, draw_pictures, evidence_of, pages_of, write_page
from portfolio.bench.paper.published import TIMINGS, published
from portfolio.bench.paper.rules import RULES
from portfolio.cli.app import app
from selector import logs

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs" / "internals"
FOLDER = DOCS / "paper"
NAMES = {picture.name for picture in PICTURES.values()}


@pytest.fixture(scope="module")
def evidence():
    return evidence_of(logs.read(ROOT / "training_logs"))


@pytest.mark.slow
def test_the_pages_are_made_from_the_shipped_logs(evidence):
    shipped = {path.stem: f"paper/{path.name}" for path in sorted(FOLDER.glob("*.svg"))}
    assert set(shipped) == NAMES
    pages = pages_of(evidence, shipped, "paper")
    assert {page.stem for page in DOCS.glob("paper*.md")} == set(pages)
    for name, text in pages.items():
        assert text == (DOCS / f"{name}.md").read_text(encoding="utf-8"), (
            "write it again: counterfolio paper training_logs --out docs/internals/paper.md"
        )


@pytest.mark.slow
def test_its_pictures_are_made_from_the_shipped_logs(evidence, tmp_path):
    drawn_by = re.search(r"Matplotlib v([\d.]+)", (FOLDER / "cactus.svg").read_text())
    if drawn_by is None or drawn_by.group(1) != mpl.__version__:
        pytest.skip("they were drawn by another matplotlib")
    assert set(draw_pictures(evidence, tmp_path)) == NAMES
    for name in NAMES:
        shipped, anew = (folder / f"{name}.svg" for folder in (FOLDER, tmp_path))
        assert anew.read_text() == shipped.read_text()


@pytest.mark.slow
def test_the_shipped_logs_have_nothing_wrong():
    assert logs.check(logs.read(ROOT / "training_logs")) == []


def test_every_claim_has_a_rule_a_part_and_a_name_of_its_own():
    paper = published()
    names = [claim.name for claim in paper.claims]
    assert len(set(names)) == len(names)
    for claim in paper.claims:
        assert claim.rule in RULES and claim.part in paper.parts and claim.timing in TIMINGS
        assert claim.theirs.format(**paper.figures())


def test_figures_that_follow_from_the_papers_tables_are_computed():
    # By hand from table 2: the middle two of ten quotients, 4.20 and 4.49.
    assert published().figures()["cp_longer"] == pytest.approx(4.34, abs=0.01)


def test_logs_without_published_formulations_are_refused(frame_of, tmp_path):
    frame = frame_of(("q", "cp", 1.0, {"mode": "solo"}))
    with pytest.raises(InputError, match="published formulation"):
        write_page(frame, tmp_path / "page.md")


@pytest.mark.slow
def test_a_few_logs_make_a_page_that_says_what_is_missing(frame_of, tmp_path):
    frame = frame_of(("q", "cp", 1.0, {"dataset": "AD"}), ("q", "milp", 2.0, {"dataset": "AD"}))
    write_page(frame, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| as measured in the paper | 0 | 0 |" in text and "](page-scaling.md)" in text
    assert "norms.svg" not in (tmp_path / "page-scaling.md").read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_is_told_first(tmp_path):
    done = CliRunner().invoke(app, ["paper", str(tmp_path), "--out", str(tmp_path / "no" / "p.md")])
    assert isinstance(done.exception, InputError) and "does not exist. Create it first" in str(
        done.exception
    )
