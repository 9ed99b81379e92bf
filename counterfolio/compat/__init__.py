"""Interfaces in the shape of other libraries."""

from counterfolio.parts import check_parts

check_parts()
