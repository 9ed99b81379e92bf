"""The tables of constants have a row for every tolerance in the code, and no outdated row."""

import pytest

from tests.docs.constants import in_code, on_the_pages


@pytest.mark.slow
def test_every_tolerance_of_the_code_is_documented():
    known = on_the_pages()
    missing = [
        f"{f}:{line} has {value:g}" for f, value, line in in_code() if (f, value) not in known
    ]
    assert not missing


@pytest.mark.slow
def test_every_documented_tolerance_is_in_the_code():
    outdated = on_the_pages() - {(file, value) for file, value, _ in in_code()}
    assert not outdated
