"""What is known of backends by their names."""

from selector.candidates import colour_of, title_of


def test_titles_are_as_people_write_them():
    assert [title_of(name) for name in ("cp", "milp", "maxsat", "smt")] == [
        "CP", "MILP", "MaxSAT", "SMT",
    ]  # fmt: skip


def test_a_backend_that_is_not_registered_keeps_its_name():
    assert title_of("gone") == "gone" and colour_of("gone").startswith("#")
