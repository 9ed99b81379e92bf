"""Figures with intervals."""

import numpy as np
import pytest

from portfolio.bench.paper.estimates import LEAST, median, share


def test_six_that_agree_are_the_fewest_that_decide_about_half():
    assert share(LEAST, LEAST).low > 0.5 > share(LEAST - 1, LEAST - 1).low


def test_the_interval_of_a_share_is_the_exact_one():
    # Published for 3 of 10, two-sided, 95 %.
    found = share(3, 10)
    assert found.value == 0.3
    assert found.low == pytest.approx(0.0667, abs=1e-4)
    assert found.high == pytest.approx(0.6525, abs=1e-4)


def test_nothing_has_no_share_and_no_median():
    assert share(0, 0).count == median(np.array([])).count == 0


def test_a_median_lies_in_its_interval_and_is_the_same_each_time():
    values = np.geomspace(0.1, 10, 31)
    found = median(values)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(1.0) and found == median(values)


def test_a_few_infinite_values_do_no_harm():
    assert median(np.array([1.0, 1.0, 1.0, 1.0, np.inf])).value == 1.0
