"""Tests in parts: a few of them always, the others with ``-m large``."""

import pytest


def few_and_large(few, all_of_them):
    """Numbers of parts for ``parametrize``."""
    large = range(few, all_of_them)
    return [*range(few), *(pytest.param(part, marks=pytest.mark.large) for part in large)]
