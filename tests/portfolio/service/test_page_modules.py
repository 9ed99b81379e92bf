"""Modules of the page alone, called in a browser and compared with Python's own libraries."""

import ast
import csv
import io
import random
import re
from pathlib import Path
from typing import get_args

import pytest

import portfolio
from encoders.backends.interface import StopReason
from portfolio.service.messages import CODES
from portfolio.service.page_routes import FILES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_children")]

ROOT = Path(portfolio.__file__).parent.parent
# Place of the code among the arguments of errors.
RAISED = {"InputError": 1, "NothingAdmissibleError": 1, "Problem": 3}
NAMES = ["a", 'quoted "b"', "c,d", "line\nbreak", "ünï", "__proto__", " spaced "]
CELLS = ["", "1", "-2.5e3", "x y", 'say "hi"', "a,b;c\td", "two\nlines", "Ω", "  ", "True"]


def _sent(argument):
    return {"bytes": list(argument)} if isinstance(argument, bytes) else argument


@pytest.fixture(scope="module")
def call(browser, service):
    """A function that calls a function of a module with plain arguments."""
    page = browser.new_page()
    page.goto(f"{service[1].base_url}/")

    def run(module, name, *arguments):
        return page.evaluate(
            "async ([module, name, given]) => {"
            " given = given.map(each => each?.bytes ? new Uint8Array(each.bytes) : each);"
            " const member = (await import(`/page/${module}.js`))[name];"
            " return typeof member === 'function' ? member(...given) : member; }",
            [module, name, [_sent(each) for each in arguments]],
        )

    yield run
    page.close()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables_are_read_as_python_reads_them(call, separator, end):
    drawn = random.Random(separator + end)
    for _ in range(20):
        names = ["id", *drawn.sample(NAMES, 3)]
        rows = [["7", *drawn.choices(CELLS, k=3)] for _ in range(drawn.randint(1, 5))]
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator=end).writerows([names, *rows])
        read = list(csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=separator))
        lines = call("csv", "parseLines", text.getvalue())
        assert [[cell.replace("\r", "") for cell in line] for line in read] == lines


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no row"), ("a,b\n", "no row"), ("a,b\n1\n", "line 2 has 1 values"),
     ("a\n1\n2,3\n", "line 3 has 2 values")],
)  # fmt: skip
def test_a_damaged_table_is_refused_in_a_sentence(call, text, words):
    with pytest.raises(Exception, match=words):
        call("csv", "parseTable", text)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_of_a_table_keep_their_values(call, separator, decimal):
    drawn = random.Random(separator + decimal)
    other = "," if decimal == "." else "."
    for _ in range(10):
        numbers = [round(drawn.uniform(-2000, 2000), drawn.randint(1, 4)) for _ in range(12)]
        numbers.append(0.5)  # so that the decimal separator can be recognised
        texts = [f"{number:,}".replace(",", "t").replace(".", decimal) for number in numbers]
        texts = [text.replace("t", drawn.choice(["", other, " "])) for text in texts]
        text = io.StringIO()
        csv.writer(text, delimiter=separator).writerows([["a", "b"], *([t, "x"] for t in texts)])
        table = call("csv", "recognise", text.getvalue())
        assert (table["separator"], table["decimal"]) == (separator, decimal)
        done = call("csv", "converted", table)
        assert done["wrong"] is None
        assert [float(line[0]) for line in done["lines"][1:]] == numbers


@pytest.mark.parametrize(
    ("text", "decimal", "doubtful"),
    [
        ("a;b\n1,234;x\n", None, "1,234"),
        ("a;b\n1.234;x\n", None, "1.234"),
        ("a,b\n1.234,x\n", ".", None),
        ('a,b\n"1,234",x\n', None, "1,234"),
        ("a;b\n1,5;2.5\n", None, "1,5"),
        ("a;b\n1.234.567;x\n", ",", None),
        ("a;b\n0,234;x\n", ",", None),
        ("a;b\nx,y;1\n", ".", None),
    ],
)
def test_a_number_with_two_meanings_is_not_guessed(call, text, decimal, doubtful):
    table = call("csv", "recognise", text)
    assert (table["decimal"], table.get("doubtful")) == (decimal, doubtful)
    if decimal is None:
        with pytest.raises(Exception, match="two meanings"):
            call("csv", "parseTable", text)


def test_a_value_that_is_no_number_is_kept_and_named(call):
    names = {"names": ["a", "b"], "numbers": ["a"]}
    table = call("csv", "recognise", "a;b;c\n1,5;2,5;7,0\n1.5;1,5;NA\nNA;;\n", names)
    assert (table["separator"], table["decimal"]) == (";", None)
    done = call("csv", "converted", table | {"decimal": ","})
    assert done["wrong"] == {"row": 2, "name": "a", "value": "1.5"}
    assert done["lines"][1:] == [["1.5", "2,5", "7.0"], ["1.5", "1,5", "NA"], ["NA", "", ""]]
    for number, decimal, plain in (
        ("1.5", ",", None), ("1,5", ".", None), ("1,50", ".", None), ("1,500", ".", "1500"),
        ("-1e-3", ",", "-1e-3"), ("e5", ".", None), (".5", ".", ".5"), ("1'000,5", ",", "1000.5"),
        ("12,34,567", ".", None), ("0,123", ".", None), ("", ".", None),
    ):  # fmt: skip
        assert call("csv", "plainNumber", number, decimal) == plain, number


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
def test_encodings_are_recognised(call, encoding):
    text = "name;größe\r\n“Ä”;1,5\r\n"
    bom = b"\xfe\xff" if encoding == "utf-16-be" else b""
    found = call("csv", "decode", bom + text.encode(encoding))
    assert found["text"] == text
    assert found["encoding"][:5] == encoding.replace("cp1252", "windows-1252")[:5]


def test_a_fragment_keeps_every_text(call):
    drawn = random.Random(0)
    signs = 'aß"\\/+=&#%\n\u202e\U0001f600\u0000'
    for _ in range(30):
        text = "".join(drawn.choices(signs, k=drawn.randint(0, 40)))
        state = {"model": text, "features": {text: {"way": "fixed"}}, "x": {"a": None, text: 1.5}}
        fragment = call("keep", "toFragment", state)
        assert fragment.isascii() and set(fragment[3:]).isdisjoint('+/=&#%" ')
        assert call("keep", "fromFragment", fragment) == state
    assert call("keep", "fromFragment", "") is None
    for damaged in ("#q=", "#q=%", "#q=e30", "#q=bnVsbA", "#q=eyJtb2RlbCI6MX0"):
        with pytest.raises(Exception, match="damaged"):
            call("keep", "fromFragment", damaged)


def test_a_program_is_python_with_the_same_values(call):
    row = {"in'come": -1.5e-7, 'a"b': None, "ü\n": True, "d": "x\\", "e": 10}
    members = {"time_limit_s": 5, "target": {"Probability": ["granted", 0.8]}, "weights": {"e": 2}}
    limits = [{"Fixed": ["d"]}, {"Range": {"feature": "e", "lower": 1}}, {"Allowed": ["d", ["x"]]}]
    body = {"x": row, "constraints": limits, **members}
    program = call("keep", "asPython", "http://localhost:1", "credit", body)
    tree = ast.parse(program)
    assert ast.literal_eval(tree.body[1].value) == row
    asked = tree.body[2].body[0].value
    settings = {word.arg: ast.unparse(word.value) for word in asked.keywords}
    assert settings == {
        "time_limit_s": "5",
        "target": "Probability('granted', 0.8)",
        "weights": "{'e': 2}",
        "constraints": "[Fixed('d'), Range(feature='e', lower=1), Allowed('d', ['x'])]",
    }
    imported = {name.name for name in tree.body[0].names}
    assert imported == {"Client", "Probability", "Fixed", "Range", "Allowed"}


def test_a_program_of_several_outputs_imports_their_goals_and_reads_its_key(call):
    target = {"Price": {"AtLeast": [3]}}
    body = {"x": {"a": 1}, "constraints": [], "target": target}
    tree = ast.parse(call("keep", "asPython", "http://localhost:1", "two", body, True))
    imported = {name.name for line in tree.body[:2] for name in line.names}
    assert imported == {"os", "Client", "AtLeast"}
    client = tree.body[3].items[0].context_expr
    assert ast.unparse(client.keywords[0].value) == "os.environ['COUNTERFOLIO_KEY']"
    settings = tree.body[3].body[0].value.keywords
    assert [ast.unparse(each.value) for each in settings] == ["{'Price': AtLeast(3)}"]


def test_the_cost_of_a_proved_answer_is_short(call):
    answer = {"status": "optimal", "changes": [{}], "counterfactual": {}, "message": ""}
    costs = {"distance": 0.18540510335060903, "lower_bound": 0.18540510335060897}
    assert call("answer", "headline", answer | costs)[1].endswith("1 change, cost 0.185.")


def test_numbers_are_written_with_as_many_digits_as_they_need(call):
    assert call("dom", "short", 1123.4) == "1123"
    assert call("dom", "short", 0.0452974) == "0.0453"
    assert call("dom", "short", None) == "missing"
    assert call("dom", "distinct", 0.50001, 0.50002) == ["0.50001", "0.50002"]
    assert call("dom", "distinct", 2, 2) == ["2", "2"]
    drawn = random.Random(1)
    for _ in range(50):
        value = drawn.uniform(-1, 1) * 10 ** drawn.randint(-6, 8)
        shown = float(call("dom", "short", value))
        assert abs(shown - value) <= max(0.005 * abs(value), 0 if abs(value) < 100 else 0.5)
    assert call("dom", "toward", 26.2117, True, 4) == 26.22
    assert call("dom", "toward", 26.2117, False, 4) == 26.21
    for _ in range(50):
        value = drawn.uniform(-1, 1) * 10 ** drawn.randint(-6, 8)
        for upper in (True, False):
            near = call("dom", "toward", value, upper, 4)
            assert (near >= value) if upper else (near <= value)
            assert abs(near - value) <= 0.001 * abs(value)
    assert call("dom", "visible", "a\u202eevil\u0007") == "a\\u202eevil\\u0007"


@pytest.fixture(scope="module")
def coded():
    """Codes of errors that clients may word themselves, with the names of their arguments."""
    found: dict[str, set[str]] = {code: set() for code in CODES.values()}
    for path in [*(ROOT / "encoders").rglob("*.py"), *(ROOT / "portfolio").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or getattr(call.func, "id", "") not in RAISED:
                continue
            place = RAISED[call.func.id]
            by_name = [each.value for each in call.keywords if each.arg == "code"]
            for code in [*call.args[place : place + 1], *by_name]:
                if isinstance(code, ast.Constant):
                    names = {each.arg for each in call.keywords} - {"code"}
                    assert found.setdefault(code.value, names) == names, code.value
    return found


def test_each_language_has_every_text(call, service, coded):
    texts = {each: call(f"words-{each}", "default") for each in ("en", "de")}
    problems = {name: text for name, text in texts["de"].items() if name.startswith("problem.")}
    texts["de"] = {name: text for name, text in texts["de"].items() if name not in problems}
    assert {f"problem.{code}" for code in coded} == problems.keys()
    for code, arguments in coded.items():  # the server's own text is English
        assert set(re.findall(r"\{(\w+)\}", problems[f"problem.{code}"])) <= arguments
    assert texts["en"].keys() == texts["de"].keys()
    for name, english in texts["en"].items():
        places = [sorted(re.findall(r"\{\w+\}", texts[each][name])) for each in texts]
        assert places[0] == places[1], name
        assert english and texts["de"][name]
    html = (FILES / "index.html").read_text(encoding="utf-8")
    written = re.findall(r'data-say="([^"]+)">([^<]*)<', html)
    assert len(written) > 40
    for name, text in written:
        assert " ".join(text.split()) == texts["en"][name]
    scripts = "".join(path.read_text(encoding="utf-8") for path in FILES.glob("*.js"))
    assert {f"stop.{reason}" for reason in get_args(StopReason)} <= texts["en"].keys()
    named = set(re.findall(r'say\("([^"]+)"', scripts))
    assert named <= texts["en"].keys()


@pytest.mark.parametrize(
    ("feature", "least", "most", "unit"),
    [
        ({"lower": 18, "upper": 79, "kind": "ordinal"}, 18, 79, 1),
        ({"lower": 0, "upper": 100_000, "kind": "ordinal"}, 0, 100_000, 500),
        ({"lower": 6.981, "upper": 28.11, "kind": "numeric"}, 6.8, 28.2, 0.2),
        ({"lower": 0.05, "upper": 0.1634, "kind": "numeric"}, 0.05, 0.164, 0.001),
        ({"lower": -3.0, "upper": 7.0, "kind": "numeric", "step": 0.25}, -3, 7, 0.25),
        ({"lower": 2.5, "upper": 2.5, "kind": "numeric"}, None, None, None),
        ({"lower": None, "upper": None, "kind": "numeric"}, None, None, None),
    ],
)
def test_a_scale_contains_the_range_in_round_steps(call, feature, least, most, unit):
    scale = call("slider", "scaleOf", {"step": None, "values": [], "distribution": None} | feature)
    if unit is None:
        assert scale is None
    else:
        assert [scale[name] for name in ("least", "most", "unit")] == [least, most, unit]


def test_rows_that_miss_a_limit_are_named_in_words(call):
    words = [
        call("sentences", "goalWords", {kind: [3]}, None, True) for kind in ("AtLeast", "AtMost")
    ]
    assert words == ["a prediction below 3", "a prediction above 3"]
    assert call("sentences", "goalWords", None, "granted", True) == "not granted"
