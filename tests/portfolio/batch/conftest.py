"""Rows of the credit frame, and what a batch answers to them."""

import pytest


@pytest.fixture(scope="package")
def rows(credit):
    return credit[1].iloc[:40]


@pytest.fixture(scope="package")
def expected(explainer, rows):
    return explainer.explain_batch(rows)
