import pytest

from encoders.core.close_names import close_names


@pytest.mark.parametrize(
    "name, known, suggestion",
    [
        ("incme", ["age", "income"], ' Did you mean "income"?'),
        ("Income", ["age", "income"], ' Did you mean "income"?'),
        ("zip", ["age", "income"], ""),
        ("age", [], ""),
        (7, [10, 20], ""),
        (1234, [1235, "x"], ' Did you mean "1235"?'),
    ],
)
def test_the_closest_known_name_is_suggested(name, known, suggestion):
    assert close_names(name, known) == suggestion
