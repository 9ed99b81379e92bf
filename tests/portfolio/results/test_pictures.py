"""What pictures show: the numbers behind them, for every eye and on any ground."""

import io
import math
from dataclasses import replace

import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from sklearn.tree import DecisionTreeClassifier

from counterfolio import Explainer, Fixed, InputError, MaxChanges, Range, Retraining, plot_batch
from portfolio.results.plots import ink
from portfolio.results.plots.batch import parts_of
from portfolio.results.plots.result import Step, steps
from tests.support.browser import contrast

PICTURES = (
    "changes",
    "bounds",
    "answers",
    "batch",
    "region",
    "reason codes",
    "reasons",
    "necessary",
    "contrast",
    "robustness",
    "robust",
    "why not",
    "group",
    "front",
)
STYLES = ["default", "dark_background"]
DOLLARS = r"$a_$ & $\frac$"  # mathtext can't parse it


@pytest.fixture(scope="module")
def result(explainer, refused):
    return explainer.explain(refused, "granted", constraints=[Fixed("employed"), Fixed("home")])


@pytest.fixture(scope="module")
def several(explainer, refused):
    return explainer.several(refused, k=3, target="granted")


@pytest.fixture(scope="module")
def batch():
    """As explain_batch gives it."""
    return pd.DataFrame(
        {
            "status": ["optimal", "optimal", "feasible", "infeasible", "unknown"],
            "distance": [0.2, 0.5, 0.8, np.inf, np.inf],
            "changed": ["age, income", "income", "income", "", ""],
            "seconds": [0.3, 0.1, 9.0, 0.2, 9.0],
        }
    )


def drawn(figure):
    """Drawn in full, which is when what can't be drawn is seen."""
    figure.savefig(io.BytesIO(), format="png")
    return figure


def names_of(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_changes_begin_where_the_last_one_ended():
    assert steps([("a", 0.25), ("b", 0.5)], 0.75) == [
        Step("a", 0.0, 0.25),
        Step("b", 0.25, 0.75),
        Step("distance", 0.0, 0.75),
    ]


def test_where_the_largest_change_counts_all_begin_at_nothing():
    assert [(s.begin, s.end) for s in steps([("a", 0.25), ("b", 0.5)], 0.5)] == [
        (0.0, 0.25),
        (0.0, 0.5),
        (0.0, 0.5),
    ]


def test_what_pairs_cost_on_top_is_a_bar_of_its_own():
    assert steps([("a", 0.25), ("b", 0.5)], 1.0)[2] == Step("joint costs", 0.75, 1.0)


def test_a_result_is_a_waterfall_of_its_costs(result):
    axes = drawn(result.plot()).axes[0]
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    ends = np.cumsum([change.cost for change in result.changed])
    assert len(bars) == len(result.changed) + 1 >= 3
    assert [begin for begin, _ in bars] == pytest.approx([0.0, *ends[:-1], 0.0])
    assert [width for _, width in bars] == [*(c.cost for c in result.changed), result.distance]
    for name, change in zip(names_of(axes), result.told, strict=False):
        assert name.startswith(f"{change.feature}\n") and name.endswith(change.reached)
    assert not [line for line in axes.lines if line.get_linestyle() == "--"]


def test_bars_are_joined_only_where_costs_add_up(explainer, refused, result):
    assert len(result.plot().axes[0].lines) == len(result.changed) >= 2
    rules = [Fixed("employed"), Fixed("home")]
    largest = explainer.explain(refused, "granted", norm="inf", constraints=rules)
    axes = drawn(largest.plot()).axes[0]
    assert [bar.get_x() for bar in axes.patches] == [0.0] * (len(largest.changed) + 1)
    last = largest.changed[-1].cost == largest.distance
    assert len(largest.changed) >= 2 and len(axes.lines) == int(last)


def test_what_is_not_proved_is_told_by_a_line(result):
    cut = replace(result, status="feasible", lower_bound=result.distance / 2)
    axes = drawn(cut.plot()).axes[0]
    (line,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert set(line.get_xdata()) == {result.distance / 2}


def test_bounds_close_in_until_the_end(result):
    trace = ((0.1, math.inf, 0.0), (0.2, 2.0, 0.5), (0.3, 1.0, 0.5))
    timed = replace(
        result,
        trace=trace,
        timings=replace(result.timings, total=0.4),
        distance=1.0,
        lower_bound=1.0,
    )
    upper, lower = drawn(timed.plot("bounds")).axes[0].lines
    assert list(upper.get_xdata()) == [0.1, 0.2, 0.3, 0.4] == list(lower.get_xdata())
    assert list(upper.get_ydata())[1:] == [2.0, 1.0, 1.0] and math.isnan(upper.get_ydata()[0])
    assert list(lower.get_ydata()) == [0.0, 0.5, 0.5, 1.0]
    assert upper.get_linestyle() != lower.get_linestyle()
    assert upper.get_marker() != lower.get_marker()


def test_where_there_is_no_answer_the_bounds_say_so(explainer, refused):
    names = [feature.name for feature in explainer.features.features]
    none = explainer.explain(refused, "granted", constraints=[Fixed(name) for name in names])
    told = drawn(none.plot("bounds")).axes[0].get_legend().get_texts()
    assert "infeasible (proved)" in [text.get_text() for text in told]
    with pytest.raises(
        InputError, match=r"needs a counterfactual, and none was found\. Use plot\('bounds'\)"
    ):
        none.plot()
    with pytest.raises(
        InputError, match=r"unknown plot 'costs'\. Use one of 'changes', 'bounds'\."
    ):
        none.plot("costs")


def test_answers_stand_beside_each_other(several):
    axes = drawn(several.plot()).axes[0]
    names = names_of(axes)
    assert set(names) == {change.feature for answer in several for change in answer.changed}
    cells = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    assert len(cells) == len(names) * len(several)
    for at, answer in enumerate(several):
        told = {change.feature: change.reached for change in answer.told}
        assert [cells[at, line] for line in range(len(names))] == [
            told.get(name, "·") for name in names
        ]
    heads = [label.get_text() for label in axes.get_xticklabels()]
    assert heads == [f"{answer.distance:.4g}" for answer in several]
    dense = {
        bar.get_alpha(): c.cost for bar, c in zip(axes.patches, all_changes(several), strict=True)
    }
    assert [dense[key] for key in sorted(dense)] == sorted(dense.values())


def all_changes(answers):
    return [change for answer in answers for change in sorted_as_drawn(answers, answer)]


def sorted_as_drawn(answers, answer):
    names = [*dict.fromkeys(change.feature for each in answers for change in each.changed)]
    return sorted(answer.changed, key=lambda change: names.index(change.feature))


def test_answers_that_are_not_proved_are_told(several):
    last = replace(several[-1], status="feasible")
    cut = replace(several, status="feasible", answers=(*several[:-1], last))
    heads = [label.get_text() for label in cut.plot().axes[0].get_xticklabels()]
    assert ["not proved" in head for head in heads] == [False] * (len(several) - 1) + [True]
    with pytest.raises(InputError, match="cannot draw answers: none was found"):
        replace(several, answers=()).plot()


def test_a_batch_is_counted_by_group(batch):
    (whole,) = parts_of(batch)
    assert whole.rows == 5 and list(whole.distances) == [0.2, 0.5, 0.8]
    assert dict(whole.changed) == {"income": 1.0, "age": pytest.approx(1 / 3)}
    assert list(whole.proved_s) == [0.1, 0.2, 0.3]
    men, women = parts_of(batch, pd.Series(["w", "m", "w", "m", "m"]))
    assert (men.name, men.rows, list(men.distances)) == ("m", 3, [0.5])
    assert dict(men.changed) == {"income": 1.0} and list(women.proved_s) == [0.3]


def test_a_batch_is_drawn_in_three_panels(batch):
    far, which, soon = drawn(plot_batch(batch, [0, 1, 0, 1, 1])).axes
    assert names_of(far) == ["0\n2 of 2 rows", "1\n1 of 3 rows"]
    assert names_of(which) == ["income", "age"]
    assert [bar.get_width() for bar in which.patches] == [1.0, 0.5, 1.0, 0.0]
    assert [list(line.get_ydata()) for line in soon.lines] == [[0.5], [1 / 3, 2 / 3]]
    assert [text.get_text() for text in soon.get_legend().get_texts()] == ["0", "1"]


def test_a_batch_without_answers_is_drawn(batch):
    drawn(plot_batch(batch.assign(status="unknown", distance=np.inf, changed="")))


@pytest.mark.parametrize(
    ("change", "group", "words"),
    [
        (lambda f: f.drop(columns="seconds"), None, "column 'seconds' is missing"),
        (lambda f: f.head(0), None, "it has no rows"),
        (lambda f: f.assign(**{"cf_a, b": 1.0}), None, "must not contain ', '"),
        (lambda f: f, [1, 2], "2 values for 5 rows"),
        (lambda f: pd.concat([f, f]), range(10), "10 different values, but at most 6"),
        (lambda f: 3, None, "column 'status' is missing"),
    ],
)
def test_what_can_t_be_drawn_of_a_batch_is_told(batch, change, group, words):
    with pytest.raises(InputError, match=words):
        plot_batch(change(batch), group)


def marked(figure):
    """The lines of a picture by what its marks mean."""
    axes = drawn(figure).axes[0]
    names = names_of(axes)
    return {line.get_label(): {names[int(at)] for at in line.get_ydata()} for line in axes.lines}


def test_features_that_decide_are_marked(explainer, refused, credit):
    why = explainer.reasons(refused)
    marks = marked(why.plot())
    assert marks == {
        "together sufficient for 'refused'": set(why.features),
        "any value": {"others"},
    }
    needed = explainer.necessary(refused, target="granted", constraints=[Fixed("home")])
    told = replace(needed, features=("age",), undecided=("home",))
    marks = marked(told.plot())
    assert marks["changed by every answer"] == {"age"} and marks["undecided"] == {"home"}
    rest = {change.feature for change in needed.best.changed} - {"age", "home"}
    assert marks.get("by some answers only", set()) == rest
    granted = credit[1][credit[0].predict(credit[1]) == "granted"].iloc[0]
    apart = explainer.contrast(refused, granted)
    marks = marked(apart.plot())
    assert marks["enough for 'granted'"] == set(apart.features)
    assert set().union(*marks.values()) == set(apart.differences)
    none = replace(needed, best=replace(needed.best, distance=math.inf))
    with pytest.raises(InputError, match="no counterfactual was found"):
        none.plot()


def test_demands_are_drawn_with_what_loosening_them_costs(explainer, refused):
    why = explainer.why_not(refused, "granted", constraints=[MaxChanges(0), Range("age", 0, 99)])
    axes = drawn(why.plot()).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [r.distance for r in why.relaxations]
    assert names_of(axes) == [ink.short(r.words) for r in why.relaxations]
    told = replace(why, relaxations=())
    axes = drawn(told.plot()).axes[0]
    assert {text.get_text().strip() for text in axes.texts} == {"not enough alone"}
    with pytest.raises(InputError, match="cannot draw a conflict: none was found"):
        replace(why, conflict=()).plot()


def test_a_radius_is_drawn_between_what_is_safe_and_what_is_not(explainer, refused):
    firm = explainer.robustness(refused, scale="std")
    axes = drawn(firm.plot()).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [firm.distance]
    (other,) = axes.lines
    assert list(other.get_xdata()) == [firm.distance]
    cut = replace(firm, result=replace(firm.result, lower_bound=firm.distance / 4))
    bars = drawn(cut.plot()).axes[0].patches
    assert [bar.get_width() for bar in bars] == [firm.distance / 4, 0.75 * firm.distance]
    held = explainer.verify(refused, firm.distance / 2, scale="std")
    (line,) = drawn(held.plot()).axes[0].lines
    assert line.get_label() == "radius" and set(line.get_xdata()) == {firm.distance / 2}


def test_actions_are_drawn_with_the_rows_that_they_serve(explainer, credit):
    model, X = credit
    few = X[model.predict(X) == "refused"].head(5)
    found = explainer.explain_group(few, actions=2, budget=0.4, target="granted")
    axes = drawn(found.plot()).axes[0]
    served = [len(action.rows) for action in found.actions]
    more = [found.covered] if len(served) > 1 else []
    assert [bar.get_width() for bar in axes.patches] == served + more
    assert [set(line.get_xdata()) for line in axes.lines] == [{found.bound}]
    with pytest.raises(InputError, match="cannot draw actions: none was found"):
        replace(found, actions=()).plot()


@pytest.fixture(scope="module")
def pictures(credit, refused, batch):
    """What draws each picture, over names that look like formulas."""
    model, X = credit
    X = X.rename(columns={"income": DOLLARS, "age": f"{DOLLARS} {'long' * 30}"})
    row = refused.set_axis(X.columns)
    renamed = type(model)(8, max_depth=4, random_state=0).fit(X, credit[0].predict(credit[1]))
    explainer = Explainer(renamed, X)
    result = explainer.explain(row, "granted")
    few = X[renamed.predict(X) == "refused"].head(4)
    granted = X[renamed.predict(X) == "granted"].iloc[0]
    frame = batch.assign(changed=[DOLLARS, "age", "age", "", ""])
    return {
        "changes": result.plot,
        "bounds": lambda: replace(result, status="feasible", lower_bound=0.1).plot("bounds"),
        "answers": explainer.several(row, k=2, target="granted").plot,
        "batch": lambda: plot_batch(frame, [DOLLARS, "other", *"bbb"]),
        "region": result.region().plot,
        "reason codes": explainer.reason_codes(row).plot,
        "reasons": explainer.reasons(row).plot,
        "necessary": explainer.necessary(row, target="granted").plot,
        "contrast": explainer.contrast(row, granted).plot,
        "robustness": explainer.verify(row, 0.1).plot,
        "robust": explainer.explain_robust(row, Retraining(0.6), "granted").plot,
        "why not": explainer.why_not(row, "granted", constraints=[MaxChanges(0)]).plot,
        "group": explainer.explain_group(few, actions=2, budget=0.5, target="granted").plot,
        "front": explainer.front(row, target="granted").plot,
    }


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_read_in_light_and_dark(pictures, name, style):
    with matplotlib.style.context(style):
        figure = drawn(pictures[name]())
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    assert texts
    for text in texts:
        assert contrast(rgb(text.get_color()), rgb(figure.get_facecolor())) >= 4.5, text
    for axes in figure.axes:
        for mark in (*axes.lines, *axes.patches):
            seen = mark.get_color() if hasattr(mark, "get_color") else mark.get_edgecolor()
            if mark.get_alpha() is None and mark.get_visible():
                assert contrast(rgb(seen), rgb(figure.get_facecolor())) >= 3, mark
    assert figure._repr_png_().startswith(b"\x89PNG")


def rgb(colour):
    red, green, blue = (round(255 * part) for part in to_rgb(colour))
    return f"rgb({red}, {green}, {blue})"


def test_words_in_cells_are_read_on_the_densest_one(several):
    for style in STYLES:
        with matplotlib.style.context(style):
            figure = drawn(several.plot())
        back = np.array(to_rgb(figure.get_facecolor()))
        for bar in figure.axes[0].patches:
            share = bar.get_alpha()
            cell = share * np.array(to_rgb(bar.get_facecolor())) + (1 - share) * back
            for text in figure.axes[0].texts:
                assert contrast(rgb(text.get_color()), rgb(cell)) >= 4.5


def test_groups_differ_in_more_than_colour():
    for looks in (ink.COLOURS, ink.MARKS, ink.HATCHES, ink.LINES):
        assert len(set(looks)) == len(ink.COLOURS)


def test_no_reasons_are_not_drawn():
    X = pd.DataFrame({"a": np.arange(20.0)})
    model = DecisionTreeClassifier(max_depth=1).fit(X, X["a"] >= 10)
    codes = Explainer(model, X).reason_codes(X.iloc[0], target=True, constraints=[Fixed("a")])
    assert codes.status == "infeasible"
    with pytest.raises(InputError, match="none was found"):
        codes.plot()
