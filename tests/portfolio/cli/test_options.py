"""Options that several commands share, and what their text means."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from encoders.core.errors import InputError
from encoders.core.text_files import names_in
from encoders.query.goal import Beat, Less, More, Probability, Score
from portfolio import Decrease, Fixed, Increase, MaxChanges, Range
from portfolio.cli.options import QuestionOptions, spread
from portfolio.cli.targets import parse_goal, parse_target


@dataclass(frozen=True)
class Sizes:
    width: Annotated[int, typer.Option(min=1, help="Across.")]
    tall: Annotated[bool, typer.Option("--tall", help="High.")] = False


@pytest.fixture(scope="module")
def command():
    app = typer.Typer(add_completion=False)

    @app.command()
    @spread
    def draw(sizes: Sizes, colour: Annotated[str, typer.Option(help="Of it.")] = "red") -> None:
        """Draw it."""
        typer.echo(f"{sizes} {colour}")

    return lambda *words: CliRunner().invoke(app, list(words))


def test_a_dataclass_is_given_option_by_option(command):
    done = command("--width", "3", "--tall", "--colour", "blue")
    assert done.output.strip() == "Sizes(width=3, tall=True) blue"


def test_fields_with_a_default_may_be_left_out(command):
    assert command("--width", "3").output.strip() == "Sizes(width=3, tall=False) red"


@pytest.mark.parametrize("words", [(), ("--width", "0"), ("--width", "3", "--deep")])
def test_what_does_not_fit_a_field_is_refused(command, words):
    assert command(*words).exit_code == 2


def test_help_tells_of_the_command_and_of_each_field(command):
    told = command("--help").output
    assert all(words in told for words in ("Draw it.", "--width", "Across.", "--tall", "--colour"))


def test_text_becomes_constraints():
    asked = QuestionOptions(
        fix="sex, job", increase="age", decrease="debt", ranges=["a=1:2,b=:3"], max_changes=2
    )
    assert asked.constraints() == [
        Fixed("sex"), Fixed("job"), Increase("age"), Decrease("debt"), Range("a", 1, 2),
        Range("b", float("-inf"), 3), MaxChanges(2),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["age", "age=3", "age=x:y"])
def test_a_range_without_limits_is_told(text):
    with pytest.raises(InputError, match=r"cannot be read\. Write name=low:high"):
        QuestionOptions(ranges=[text]).constraints()


def test_a_target_is_the_label_that_is_written_so():
    assert parse_target("1", (0, 1)) == 1
    assert parse_target("maybe", (0, 1)) == "maybe"
    assert parse_target(None, (0, 1)) is None


def test_goals_are_written_with_limits():
    classes = ("granted", "refused")
    assert parse_goal("granted", "--probability", "0.8:", classes) == Probability("granted", 0.8)
    assert parse_goal("refused", "--probability", ":.2", classes) == Probability(
        "refused", None, 0.2
    )
    assert parse_goal(None, "--score", "-1:2.5", classes) == Score(-1, 2.5)
    assert parse_goal(None, "--less", "10", ()) == Less(by=10)
    assert parse_goal(None, "--more", "10%", ()) == More(percent=10)
    assert parse_goal(None, "--beat", '{"age": 30}', ()) == Beat({"age": 30})
    assert parse_goal("granted", "", None, classes) == "granted"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"probability": "0.8:"}, "Give --target, the class it applies to"),
        ({"probability": "0.8", "target": "1"}, "cannot be read. Write low:high"),
        ({"probability": "a:b", "target": "1"}, "cannot be read. Write low:high"),
        ({"score": "1:2", "target": "1"}, "--target and --score exclude each other"),
        ({"score": "1:2", "less": "3"}, "--score and --less exclude each other"),
        ({"more": "much"}, "cannot be read. Write 10 or 10%"),
        ({"beat": "{"}, "is not valid JSON"),
        ({"beat": "3"}, "--beat 3 is not a row"),
    ],
)
def test_goals_that_cannot_be_read_are_told(options, words):
    with pytest.raises(InputError, match=words):
        QuestionOptions(**options).words(SimpleNamespace(classes=(0, 1), outputs={}))


def test_lists_are_split_at_commas():
    assert names_in(" a, b,,c ") == ("a", "b", "c")


def strategy(**options):
    return QuestionOptions(**options).words(SimpleNamespace(classes=(), outputs={}))["strategy"]


def test_names_with_commas_race():
    assert strategy() == "auto"
    assert strategy(strategy="milp/highs:ocean") == "milp/highs:ocean"
    assert strategy(strategy="search, milp") == ("search", "milp")
