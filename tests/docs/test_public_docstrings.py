"""Docstrings of the public API are complete."""

import inspect
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from numpydoc.validate import validate

from tests.docs.public_api import public_names

ROOT = Path(__file__).parents[2]
PUBLIC = public_names(ROOT / "docs")
SUMMARY = {"GL08", "SS01", "SS02", "SS03", "SS04", "SS05", "SS06"}
DESCRIPTIONS = {f"PR{number:02}" for number in range(3, 11)} | {"RT03", "RT04", "RT05"}
PARAMETERS = {"PR01", "PR02"}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_docstring_is_complete(name):
    value = PUBLIC[name]
    checks = SUMMARY | DESCRIPTIONS
    if _has_parameters(value):
        checks |= PARAMETERS
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code in checks]
    assert not errors, f"{name}: {'; '.join(errors)}"


def _has_parameters(value):
    """Return whether it is called with parameters; those of a dataclass are its attributes."""
    if inspect.isfunction(value):
        return True
    protocol = getattr(value, "_is_protocol", False)
    return "__init__" in vars(value) and not (is_dataclass(value) or protocol)
