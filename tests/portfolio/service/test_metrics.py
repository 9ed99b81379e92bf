"""Names of the metrics follow the conventions of Prometheus, and the page lists each of them."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.docs.pages import ROOT

pytestmark = pytest.mark.usefixtures("forked_children")

PAGE = ROOT / "docs" / "how-to" / "operate-a-service.md"
LISTED = re.compile(r"^\| (`(?:counterfolio|process)_[^|]*) \|", flags=re.MULTILINE)
UNITS = ("_seconds", "_bytes")
# Numbers of things have no unit; these are all that the service has.
COUNTS = {
    "counterfolio_queued_requests",
    "counterfolio_workers",
    "counterfolio_workers_warm",
    "counterfolio_workers_busy",
    "process_max_fds",
    "process_open_fds",
}


@pytest.fixture
def families(client, row):
    client.post("/v1/models/credit/explain", json={"x": row})
    text = client.get("/metrics").text
    return [
        each for each in text_string_to_metric_families(text) if not each.name.endswith("_created")
    ]


def test_names_end_with_the_unit_and_counters_with_total(families):
    names = {"histogram": set(), "counter": set(), "gauge": set()}
    for family in families:
        assert re.fullmatch(r"(counterfolio|process)_[a-z_]+", family.name) and family.documentation
        names[family.type].add(family.name)
    assert all(name.endswith(UNITS) for name in names["histogram"])
    assert {name for name in names["gauge"] if not name.endswith(UNITS)} == COUNTS
    counted = [each for each in families if each.type == "counter"]
    for sample in (sample for family in counted for sample in family.samples):
        assert sample.name.endswith(("_total", "_created"))


def test_the_page_lists_the_metrics(families):
    cells = LISTED.findall(PAGE.read_text(encoding="utf-8"))
    listed = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    served = {each.name + "_total" * (each.type == "counter") for each in families}
    own = {name for name in served if name.startswith("counterfolio_")}
    assert own == {name for name in listed if name.startswith("counterfolio_")}
    assert listed <= served
