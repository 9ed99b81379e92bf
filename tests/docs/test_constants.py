"""docs/explanation/exactness.md has a row for every tolerance in the code, and no row that is out of date."""

from tests.docs.constants import in_code, on_the_page


def test_every_tolerance_of_the_code_is_on_the_page():
    known = on_the_page()
    missing = [
        f"{f}:{line} has {value:g}" for f, value, line in in_code() if (f, value) not in known
    ]
    assert not missing


def test_every_tolerance_on_the_page_is_in_the_code():
    outdated = on_the_page() - {(file, value) for file, value, _ in in_code()}
    assert not outdated
