"""The system's chromium, without a network, and what can be measured of a page in it."""

import os
import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Of each element with text of its own: the text, its colour, and the first ground below it.
TEXTS = """() => {
  const seen = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].filter(node => node.nodeType === Node.TEXT_NODE);
    const text = own.map(node => node.textContent.trim()).join("");
    if (!text || !element.checkVisibility({visibilityProperty: true, opacityProperty: true}))
      continue;
    let below = element, ground = "";
    do {
      ground = getComputedStyle(below).backgroundColor;
      below = below.parentElement;
    } while (below && ground === "rgba(0, 0, 0, 0)");
    seen.push([text, getComputedStyle(element).color, ground]);
  }
  return seen;
}"""


@contextmanager
def open_browser():
    """A headless chromium; where there is none the test is skipped."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (extra 'test')"
    )
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no chromium (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=found, args=options)
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, width=900, scheme="light", media=None):
    """A page of a file, with ``asked``, the addresses that it tried to load from.

    Parameters
    ----------
    browser : of :func:`open_browser`
    path : of an HTML file
    width : of the window, in pixels
    scheme : "light" or "dark"
    media : "print" to look at what paper gets; None for the screen
    """
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.emulate_media(media=media, color_scheme=scheme)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("dialog", lambda dialog: page.asked.append(dialog.message))
    page.goto(path.as_uri())
    yield page
    context.close()


def contrasts(page, ground=None):
    """Of each text of a page, the contrast with what it stands on, and the text.

    Parameters
    ----------
    page : opened
    ground : a colour that takes the place of all grounds, as on paper
    """
    told = [(contrast(ink, ground or own), text) for text, ink, own in page.evaluate(TEXTS)]
    assert told, "the page has no text"
    return told


def contrast(one, other):
    """From 1 to 21, as WCAG 2 has it.

    Parameters
    ----------
    one, other : colours without transparency, as ``rgb(0, 0, 0)``
    """
    dark, bright = sorted((_luminance(one), _luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour):
    assert colour.startswith("rgb("), f"{colour} is not seen through"
    shares = [float(part) / 255 for part in colour[4:-1].split(",")]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(factor * s for factor, s in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def wider_than_its_window(page):
    """Whether one has to scroll sideways.

    Parameters
    ----------
    page : opened
    """
    return page.evaluate(
        "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
