"""Data sets of many columns that need no file."""

import numpy as np
import pytest

from portfolio.data.collection import WIDE, names, one_dataset, wide_table


@pytest.mark.parametrize("name", sorted(WIDE))
def test_a_wide_table_is_the_same_each_time(name):
    one, other = wide_table(name), wide_table(name)
    assert one.name == name
    assert one.X.equals(other.X) and np.array_equal(one.y, other.y)


@pytest.mark.parametrize("name", sorted(WIDE))
def test_a_wide_table_has_many_columns_and_classes_of_about_one_size(name):
    data = wide_table(name)
    assert data.X.shape[1] >= 40 and len(data.space.features) == data.X.shape[1]
    shares = np.bincount(data.y) / len(data.y) * (10 if name == "digits" else 2)
    assert len(shares) == (10 if name == "digits" else 2)
    assert shares.min() >= 0.8 and shares.max() <= 1.2


def test_what_was_drawn_is_what_logs_are_about():
    data = wide_table("frequencies")
    assert data.X.shape == (4000, 57) and int(data.y.sum()) == 1615
    assert (data.X == 0).to_numpy().mean() > 0.7


def test_wide_tables_are_taken_where_they_are_named_alone(loans):
    assert names(None, ("spectra",)) == ["spectra"]
    assert names(loans.parent, ("loans", "spectra")) == ["loans", "spectra"]
    assert names(loans.parent) == ["loans"]
    assert one_dataset(loans.parent, "spectra").X.shape == (2000, 60)


def test_a_file_goes_before_a_wide_table_of_its_name(loans, tmp_path):
    (tmp_path / "spectra.csv").write_bytes(loans.read_bytes())
    assert one_dataset(tmp_path, "spectra").X.shape[1] < 40
