"""Makes pictures of the pages: ``python -m tests.docs.make_pictures``, with chromium there."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from counterfolio import (
    Becomes,
    Changes,
    Explainer,
    Fixed,
    Forbidden,
    Implies,
    Linear,
    MaxChanges,
    Range,
    Retraining,
    Rises,
    Within,
    plot_batch,
)
from portfolio.proofs.report import report
from portfolio.service.settings import Settings
from portfolio.service.sources import DemoModel
from tests.docs.pages import ROOT
from tests.docs.prelude import namespace
from tests.support.browser import open_browser, opened
from tests.support.served import served

DOCS = ROOT / "docs"
WIDTH, COLOURS = 760, 64
ROW = 13  # of the loans: refused, and granted after two changes
HARD = 5  # the same after three
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
    save(taken, "explanation/report.png")


def make_page() -> None:
    """The service's page with answers side by side, wide and on a telephone, light and dark."""
    settings = Settings(lambda: [DemoModel()], workers=1, reload_s=0)
    with served(settings) as (_, client), open_browser() as browser:
        for name, width, height, scheme in (
            ("reference/service.png", 1280, 1000, "light"),
            ("reference/service-dark.png", 1280, 1000, "dark"),
            ("reference/service-phone.png", 375, 1000, "light"),
            ("reference/service-phone-dark.png", 375, 1000, "dark"),
        ):
            view = {"width": width, "height": height}
            page = browser.new_page(viewport=view, color_scheme=scheme)
            page.goto(str(client.base_url))
            page.wait_for_selector("#features tbody tr")
            page.wait_for_selector("#decision td.number[title]")
            page.click("#ask")
            page.wait_for_selector("#status[class]:not([class=''])")
            page.get_by_role("button", name="Other answers").click()
            page.wait_for_selector("#comparison table")
            page.evaluate("scrollTo(0, 0)")
            if width < height:
                page.locator("#answer").scroll_into_view_if_needed()
                page.evaluate("document.querySelector('#answer').scrollIntoView()")
            save(page.screenshot(), name)
            page.close()


def save(taken: bytes, name: str) -> None:
    """A screenshot in few colours."""
    picture = Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS)
    picture.save(DOCS / name, optimize=True)


def make_figures() -> None:
    """Those of the reference pages, from what their blocks ask."""
    given = namespace()
    model, X, row = given["model"], given["X_train"], given["X_train"].loc[HARD]
    explainer = Explainer(model, X)
    result = explainer.explain(row, target="granted", strategy="plain-cp")
    refused = X[model.predict(X) == "refused"].head(60)
    frame = explainer.explain_batch(refused, target="granted")
    figures = {
        "changes": result.plot(),
        "bounds": result.plot("bounds"),
        "batch": plot_batch(frame, np.where(refused["sex"] == 1, "men", "women")),
        "diverse": explainer.diverse(given["row"], k=3, within=0.3, target="granted").plot(),
    }
    figures |= question_figures(given)
    mpl.rcParams["svg.hashsalt"] = "counterfolio"  # the same picture has the same text
    for name, figure in figures.items():
        figure.savefig(DOCS / "reference" / f"{name}.svg", metadata={"Date": None})


def question_figures(given: dict[str, Any]) -> dict[str, Figure]:
    """Return the figures of the pages about one question."""
    model, X, row = given["model"], given["X_train"], given["row"]
    explainer = Explainer(model, X)
    older = Explainer(model, X, features={"age": {"action": "increase"}})
    settled = Explainer(model, X, features=FEATURES)
    refused = X[model.predict(X) == "refused"].head(12)
    some = X.head(60)
    bands = pd.cut(some["age"], [0, 30, 50, 100], labels=["young", "middle", "old"])
    rules = [Fixed("housing"), Range("income", 15, 24), MaxChanges(2)]
    relations = [
        Linear({"rooms": 10, "income": -1}, "<=", 0),
        Implies(Changes("housing"), Rises("age", by=1)),
        Forbidden(Becomes("housing", "free"), Within("rooms", lower=4)),
    ]
    return {
        "relations": explainer.explain(row, "granted", constraints=relations).plot(),
        "why-not": older.why_not(row, "granted", constraints=rules).plot(),
        "region": older.explain(row, "granted").region().plot(),
        "robust": older.explain_robust(row, Retraining(0.9), "granted").plot(),
        "reasons": explainer.reasons(row).plot(),
        "reason-codes": explainer.reason_codes(row, target="granted", n=4).plot(),
        "robustness": explainer.robustness(row, norm="inf", scale="std").plot(),
        "front": explainer.front(
            row, by="probability", levels=[0.5, 0.6, 0.7, 0.8], target="granted"
        ).plot(),
        "audit": explainer.audit(some, by=bands, target="granted", reference="middle").plot(),
        "group": settled.explain_group(refused, actions=2, budget=0.6, target="granted").plot(),
    }


if __name__ == "__main__":
    make_report()
    make_page()
    make_figures()
