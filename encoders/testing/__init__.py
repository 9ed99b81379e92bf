"""Conformance tests for authors of backends.

>>> from encoders.testing import check_backend
>>> check_backend(MY_BACKEND)  # doctest: +SKIP
"""

from encoders.testing.answers import check_outcome
from encoders.testing.conformance import check_backend
from encoders.testing.enumeration import optimum
from encoders.testing.named_problems import NAMED, Named
from encoders.testing.random_problems import random_problem

__all__ = ["NAMED", "Named", "check_backend", "check_outcome", "optimum", "random_problem"]
