"""Which data sets a collection has, and which rows of them are asked about."""

import pytest

from encoders.core.errors import InputError
from portfolio import Explainer
from portfolio.data.collection import draw_queries, freed, names, one_dataset
from portfolio.data.datasets import read_dataset
from portfolio.data.trained_models import train


def test_without_a_folder_there_are_the_bundled_sets():
    assert names(None) == ["breast-cancer", "wine"]
    assert names(None, ("wine",)) == ["wine"]


def test_the_sets_of_a_folder_are_its_tables(loans):
    assert names(loans.parent) == ["loans"]
    assert one_dataset(loans.parent, "loans").name == "loans"


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="unknown data set 'nix'"):
        names(None, ("nix",))
    with pytest.raises(InputError, match=r"folder .*none does not exist"):
        names(tmp_path / "none")


@pytest.fixture(scope="module")
def drawn(loans):
    data = read_dataset(loans)
    explainer = Explainer(train(data, "forest", 5, 3, 0), data.X, freed(data.space))
    return explainer, [list(draw_queries(data, explainer, 10, seed)) for seed in (4, 4, 5)]


def test_a_seed_draws_the_same_rows(drawn):
    one, two, other = ([query.row for query in queries] for queries in drawn[1])
    assert one == two != other


def test_a_row_is_to_reach_another_class_than_its_own(drawn):
    explainer, draws = drawn
    assert all(explainer.predict(query.x) != query.target for query in draws[0])


def test_no_row_is_drawn_twice(loans, drawn):
    data = read_dataset(loans)
    rows = [query.row for query in draw_queries(data, drawn[0], 10_000, 0)]
    assert len(rows) == len(set(rows)) == len(data.X)


def test_all_features_are_free(drawn):
    assert {feature.action for feature in drawn[0].features.features} == {"free"}
