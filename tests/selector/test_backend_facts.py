"""What is known of backends by their names."""

from selector.candidates import colour_of, in_race_order, title_of


def test_titles_are_as_people_write_them():
    assert [title_of(name) for name in ("cp", "milp", "maxsat", "smt")] == [
        "CP", "MILP", "MaxSAT", "SMT",
    ]  # fmt: skip


def test_a_backend_that_is_not_registered_keeps_its_name():
    assert title_of("gone") == "gone" and colour_of("gone").startswith("#")


def test_maxsat_is_promising_where_leaves_vote():
    names = ["cp", "milp", "maxsat", "search"]
    assert in_race_order(names, votes=True) == ["search", "maxsat", "cp", "milp"]
    assert in_race_order(names, votes=False)[:3] == ["search", "milp", "cp"]


def test_who_is_not_registered_comes_last():
    assert in_race_order(["gone", "cp"], votes=False) == ["cp", "gone"]
