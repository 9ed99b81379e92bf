"""Makes pictures of the pages: ``python -m tests.docs.make_pictures``, with chromium there."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from counterfolio import Explainer, Fixed, MaxChanges
from portfolio.proofs.report import report
from tests.docs.pages import ROOT
from tests.docs.prelude import namespace
from tests.support.browser import open_browser, opened

DOCS = ROOT / "docs"
WIDTH, COLOURS = 760, 64
ROW = 13  # of the loans: refused, and a chance with two changes
FEATURES = {"age": {"action": "increase"}, "sex": {"action": "fixed"}}


def make_report() -> None:
    """The page of a record, down to what was allowed."""
    given = namespace()
    model, X = given["model"], given["X_train"]
    explainer = Explainer(model, X, features=FEATURES)
    result = explainer.explain(X.loc[ROW], "granted", constraints=[Fixed("job"), MaxChanges(2)])
    record = result.record(reasons=explainer.reason_codes(X.loc[ROW])).to_dict()
    with TemporaryDirectory() as folder, open_browser() as browser:
        path = Path(folder) / "report.html"
        path.write_text(report(record), encoding="utf-8")
        with opened(browser, path, width=WIDTH) as page:
            end = page.locator("section").last.bounding_box()["y"]
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": end}
            taken = page.screenshot(clip=clip, full_page=True)
    picture = Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS)
    picture.save(DOCS / "report.png", optimize=True)


if __name__ == "__main__":
    make_report()
