"""Questions about a model as records: fields with types, defaults and one sentence each.

The methods of :class:`portfolio.api.explainer.Explainer`, batches of questions and their
documentation derive from these records. Run ``python -m tests.docs.methods`` after a change to
write the methods; the docstring of a record becomes that of its method, with the fields as
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.constraints import Constraint
from encoders.query.cost import Norm
from portfolio.engine.question import Options, strategy_name
from portfolio.engine.question import Question as Settings

if TYPE_CHECKING:
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining
else:
    Around = Retraining = Any

ROW = "DataFrame of one row, Series, mapping or array of shape (n_columns,)"


@dataclass(frozen=True)
class Text:
    """Documentation of a field: its type in words, and one sentence."""

    type: str
    words: str


Target = Annotated[
    Any,
    Text(
        "label or goal",
        "Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other "
        "class.",
    ),
]
Distance = Annotated[
    Norm,
    Text("number, str, callable or mapping", "Distance measure, as in :meth:`Explainer.explain`."),
]
Scale = Annotated[
    str,
    Text(
        '{"range", "std", "mad", "none"}',
        "Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.",
    ),
]
Weights = Annotated[
    Mapping[str, float] | Sequence[float] | None,
    Text(
        "mapping or sequence of float",
        "Cost factor of each feature, by name or in the model's order; 1 by default.",
    ),
]
Constraints = Annotated[
    Sequence[Constraint],
    Text(
        "sequence of Constraint",
        "Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.",
    ),
]
Margin = Annotated[
    float | None,
    Text("float", "Required lead over every other class, in units of the model's score."),
]
StrategyChoice = Annotated[
    str | Sequence[str] | None,
    Text(
        "str or sequence of str",
        "Backend selection, as in :meth:`Explainer.explain`; automatic by default.",
    ),
]
TieBreak = Annotated[
    bool,
    Text(
        "bool", "Whether to return the same one of several equally cheap answers with every solver."
    ),
]
Seconds = Annotated[float, Text("float", "Wall-clock limit in seconds.")]
Threads = Annotated[
    int | None,
    Text("int", "Number of solver threads; by default all cores that this process may use."),
]
Seed = Annotated[int, Text("int", "Random seed of the solvers.")]
FeatureNames = Sequence[str] | None
SpaceBounds = Annotated[
    Literal["features"] | None,
    Text(
        '{"features"} or None',
        "Whether perturbed rows stay within the bounds of the features; None allows any number.",
    ),
]


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionType:
    """Settings of every question, and what derives from its record.

    Attributes
    ----------
    name : str
        Name of the method.
    solver : str
        Module and name of the function that answers, called as (asker, x, question, on_progress).
    answer : str
        Module and name of the class of answers.
    table : bool
        Whether the question is about the rows of a table together.
    subject : str
        Sentence about the row or rows that the question is about.
    progress : str
        Arguments with which ``on_progress`` is called.
    """

    name: ClassVar[str]
    solver: ClassVar[str]
    answer: ClassVar[str]
    table: ClassVar[bool] = False
    subject: ClassVar[str] = "Row to explain."
    progress: ClassVar[str] = "(seconds, upper bound, lower bound), from solver threads"

    time_limit_s: Seconds = 60.0
    threads: Threads = None
    seed: Seed = 0

    @property
    def options(self) -> Options:
        """Strategy and limits, checked."""
        more = {name: value for name, value in vars(self).items() if name == "tie_break"}
        strategy = strategy_name(vars(self).get("strategy"))
        return Options(strategy, self.time_limit_s, self.threads, self.seed, **more)

    @property
    def settings(self) -> Settings:
        """Settings of the query of each row."""
        names = [each.name for each in fields(Settings)]
        return Settings(**{name: vars(self)[name] for name in names if name in vars(self)})

    def solve(self, asker: Any, x: Any, on_progress: Callable[..., None] | None = None) -> Any:
        """Return the answer about a row, or about rows."""
        return resolve_name(self.solver)(asker, x, self, on_progress)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecourseQuestion(QuestionType):
    """Settings of questions about counterfactuals and their cost."""

    target: Target = None
    norm: Distance = 1
    scale: Scale = "range"
    weights: Weights = None
    constraints: Constraints = ()
    margin: Margin = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ReasonsQuestion(QuestionType):
    """Find features whose values alone determine the prediction of a row.

    All other features may then take any value of the feature space: within their bounds,
    categories and value lists, or missing where missing values are allowed. Default actions are
    ignored.

    Returns
    -------
    Reasons
        The sufficient features, their values and what is proved.

    Raises
    ------
    InputError
        If the row, target, order or a limit is invalid.

    Examples
    --------
    >>> print(explainer.reasons(row))
    3 features are sufficient for 'refused' (proved; none can be left out).
    - age = 67
    - income = 19.207
    - housing = free
    """

    name: ClassVar[str] = "reasons"
    solver: ClassVar[str] = "portfolio.questions.reasons.reasons:find_reasons"
    answer: ClassVar[str] = "portfolio.questions.reasons.reasons:Reasons"
    progress: ClassVar[str] = "(seconds, size of the set, lower bound on the size)"

    target: Annotated[
        Any,
        Text(
            "label or goal",
            "Class or goal to explain: whether the row reaches it. By default the predicted class.",
        ),
    ] = None
    smallest: Annotated[
        bool,
        Text(
            "bool",
            "Whether to find a set with the fewest features, instead of any set that cannot be "
            "reduced.",
        ),
    ] = False
    order: Annotated[
        FeatureNames,
        Text(
            "sequence of str",
            "Features to leave out first if possible; by default the model's order.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False)
class RobustnessQuestion(QuestionType):
    """Find the smallest perturbation of a row that changes its prediction.

    All rows of the feature space are considered; default actions are ignored. A changed
    category or binary value costs 1, and so does filling in a missing value.

    Returns
    -------
    Robustness
        The nearest row with a different prediction, its distance and what is proved.

    Raises
    ------
    InputError
        If the row or a setting is invalid.

    Examples
    --------
    >>> print(explainer.robustness(row, norm=1, scale="range"))
    Robust below distance 0.1038, where a row flips the prediction (proved).
    - Increase income from 19.207 to at least 26.212.
    """

    name: ClassVar[str] = "robustness"
    solver: ClassVar[str] = "portfolio.questions.robust.robustness:find_robustness"
    answer: ClassVar[str] = "portfolio.questions.robust.robustness:Robustness"

    target: Annotated[
        Any,
        Text(
            "label or goal",
            "Class label or goal that the perturbed row has to reach; by default any other class.",
        ),
    ] = None
    norm: Distance = "inf"
    scale: Scale = "none"
    weights: Weights = None
    bounds: SpaceBounds = "features"
    strategy: StrategyChoice = None


@dataclass(frozen=True, kw_only=True, eq=False)
class VerifyQuestion(RobustnessQuestion):
    """Check whether all rows within a radius have the same prediction.

    The result is a proof or a row with a different prediction. Rows beyond the radius are not
    searched, so this is faster than :meth:`robustness`.

    Returns
    -------
    Robustness
        The result of the check; see :attr:`Robustness.robust`.

    Raises
    ------
    InputError
        If the row, the radius or a setting is invalid.

    Examples
    --------
    >>> explainer.verify(row, radius=0.1).robust
    True
    """

    name: ClassVar[str] = "verify"
    solver: ClassVar[str] = "portfolio.questions.robust.robustness:verify_radius"
    answer: ClassVar[str] = "portfolio.questions.robust.robustness:Robustness"

    radius: Annotated[
        float, Text("float", "Distance up to which rows are checked, inclusive; greater than 0.")
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class NecessaryQuestion(QuestionType):
    """Find features that every counterfactual has to change.

    If a necessary feature is fixed, nothing reaches the target. Default actions and constraints
    apply, as in :meth:`Explainer.explain`.

    Returns
    -------
    Necessary
        The necessary features, those that remain undecided and the best counterfactual.

    Raises
    ------
    InputError
        If the row, target, a constraint, a limit or the strategy is invalid.

    Examples
    --------
    >>> print(explainer.necessary(row))
    No single feature is necessary (proved).
    """

    name: ClassVar[str] = "necessary"
    solver: ClassVar[str] = "portfolio.questions.reasons.necessary:find_necessary"
    answer: ClassVar[str] = "portfolio.questions.reasons.necessary:Necessary"
    progress: ClassVar[str] = "(seconds, number of candidate features, number proved necessary)"

    target: Target = None
    constraints: Constraints = ()
    strategy: StrategyChoice = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ReasonCodesQuestion(QuestionType):
    """Rank the principal reasons for an adverse decision by proved cost.

    A feature whose change alone reaches the target is a reason; the cheaper the change, the
    higher its rank. If there are fewer than ``n``, features of the cheapest joint change of all
    others follow, the most expensive first. Default actions are ignored, constraints apply.

    Returns
    -------
    ReasonCodes
        The reasons in the order of their rank.

    Raises
    ------
    InputError
        If the row, ``n`` or a setting is invalid.

    Examples
    --------
    >>> print(explainer.reason_codes(row, n=2))
    Principal reasons (all costs proved):
    1. Increase income from 19.207 to at least 26.212. Enough alone, at cost 0.1038.
    2. Decrease age from 67 to 19. Enough alone, at cost 0.9412.
    """

    name: ClassVar[str] = "reason_codes"
    solver: ClassVar[str] = "portfolio.questions.reasons.reason_codes:find_reason_codes"
    answer: ClassVar[str] = "portfolio.questions.reasons.reason_codes:ReasonCodes"
    progress: ClassVar[str] = "(seconds, number of features done, number of features)"

    target: Target = None
    n: Annotated[int, Text("int", "Largest number of reasons.")] = 4
    norm: Distance = 1
    scale: Scale = "range"
    weights: Weights = None
    constraints: Constraints = ()
    strategy: StrategyChoice = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ContrastQuestion(QuestionType):
    """Find the fewest differences between two rows that explain their predictions.

    The result is the smallest set of values of ``y`` that, copied to ``x``, give ``x`` the
    prediction of ``y``. Intermediate values, default actions and bounds are ignored.

    Returns
    -------
    Contrast
        The sufficient differences and what is proved.

    Raises
    ------
    InputError
        If a row or a limit is invalid, or both rows are predicted as the same class.

    Examples
    --------
    >>> granted = X_train[model.predict(X_train) == "granted"].iloc[0]
    >>> print(explainer.contrast(row, granted))
    1 of 4 differences turns 'refused' into 'granted' (proved: no fewer do).
    - housing: own instead of free
    """

    name: ClassVar[str] = "contrast"
    solver: ClassVar[str] = "portfolio.questions.reasons.contrast:find_contrast"
    answer: ClassVar[str] = "portfolio.questions.reasons.contrast:Contrast"
    progress: ClassVar[str] = "(seconds, upper bound, lower bound) on the number of differences"

    y: Annotated[Any, Text(ROW, "Row to compare with; it is predicted as another class.")]
    strategy: StrategyChoice = None


@dataclass(frozen=True, kw_only=True, eq=False)
class WhyNotQuestion(RecourseQuestion):
    """Find demands that rule out every counterfactual, and how far to relax each.

    Demands are the constraints, default actions and bounds of features, the margin and
    plausibility. The result is a minimal conflicting set (MUS): demands are dropped one by one
    as long as the others still conflict, and each step is a proof.

    Returns
    -------
    WhyNot
        The conflicting demands and the smallest relaxation of each.

    Raises
    ------
    InputError
        If the row or a setting is invalid.

    Examples
    --------
    >>> from counterfolio import Fixed, Range
    >>> rules = [Range("income", 0, 20), Fixed("age"), Fixed("housing")]
    >>> explainer.why_not(row, constraints=rules).cheapest.words
    'income up to 26.212 instead of 20'
    """

    name: ClassVar[str] = "why_not"
    solver: ClassVar[str] = "portfolio.questions.why_not.why_not:find_why_not"
    answer: ClassVar[str] = "portfolio.questions.why_not.why_not:WhyNot"
    progress: ClassVar[str] = "(seconds, number of remaining demands, number proved necessary)"

    strategy: StrategyChoice = None


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionQuestion(QuestionType):
    """Find the largest box around a row in which the prediction stays the same.

    Features are widened one after another, upwards and then downwards, until the box would
    include a row with a different prediction. Features that come first therefore get more room.
    The box is within the feature space; default actions are ignored. See also
    :meth:`Result.region`.

    Returns
    -------
    Region
        The box, one :class:`Span` per feature.

    Raises
    ------
    InputError
        If the row, target, order or a limit is invalid, or the row does not reach the target.

    Examples
    --------
    >>> region = explainer.region(row)
    >>> region["income"].words
    'at most 24.2685'
    """

    name: ClassVar[str] = "region"
    solver: ClassVar[str] = "portfolio.questions.region.region:find_region"
    answer: ClassVar[str] = "portfolio.questions.region.region:Region"
    subject: ClassVar[str] = "Row inside the box."
    progress: ClassVar[str] = "(seconds, number of features done, number of features)"

    target: Annotated[
        Any,
        Text(
            "label or goal",
            "Goal that every row of the box reaches, as the row does; by default the predicted "
            "class.",
        ),
    ] = None
    order: Annotated[
        FeatureNames,
        Text("sequence of str", "Features to widen first; by default the model's order."),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False)
class RobustQuestion(RecourseQuestion):
    """Find the nearest counterfactual that holds if the model or the row varies.

    ``Retraining(confidence=0.9)`` requires so many votes of a forest that a retrained forest
    makes the same prediction. ``Around({"income": 50, "age": 1})`` requires that all rows
    within these radii of the answer reach the target. It solves repeatedly: rows near an answer
    that miss the target are excluded with the box around them, until there are none.

    Returns
    -------
    Robust
        The robust counterfactual and what is proved.

    Raises
    ------
    InputError
        If the row, a radius or a setting is invalid.
    UnsupportedModelError
        If ``against`` is Retraining and the model is not a supported forest.

    Examples
    --------
    >>> from counterfolio import Around
    >>> robust = explainer.explain_robust(row, Around({"income": 0.5}))
    >>> robust.status, round(robust.distance, 4)
    ('optimal', 0.1112)
    """

    name: ClassVar[str] = "explain_robust"
    solver: ClassVar[str] = "portfolio.questions.robust.robust:find_robust"
    answer: ClassVar[str] = "portfolio.questions.robust.robust:Robust"

    against: Annotated[
        Retraining | Around,
        Text("Retraining or Around", "Variation that the counterfactual has to withstand."),
    ]
    strategy: StrategyChoice = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SeveralQuestion(RecourseQuestion):
    """Find the ``k`` cheapest counterfactuals that differ, each proved.

    With ``different="features"`` no answer changes all features that an earlier answer changes,
    so none is an earlier one with more changes. With ``different="region"`` each answer is the
    cheapest outside the regions of the earlier ones; see :meth:`Result.region`.

    Returns
    -------
    Several
        The answers by ascending cost.

    Raises
    ------
    InputError
        If the row or a setting is invalid.

    Examples
    --------
    >>> several = explainer.several(row, k=2)
    >>> several.table()[["distance", "changes"]]
       distance    changes
    0  0.103825  (income,)
    1  0.941176     (age,)
    """

    name: ClassVar[str] = "several"
    solver: ClassVar[str] = "portfolio.questions.several.several:find_several"
    answer: ClassVar[str] = "portfolio.questions.several.several:Several"
    progress: ClassVar[str] = "(seconds, upper bound, lower bound) of the current answer"

    k: Annotated[int, Text("int", "Largest number of answers.")] = 5
    different: Annotated[
        Literal["features", "region"],
        Text('{"features", "region"}', "Criterion by which answers differ."),
    ] = "features"
    strategy: StrategyChoice = None
    tie_break: TieBreak = False


@dataclass(frozen=True, kw_only=True, eq=False)
class DiverseQuestion(RecourseQuestion):
    """Find the ``k`` most different counterfactuals among those of almost minimal cost.

    The smallest distance between two of them is maximised, with a proof. The distance between
    two answers is the cost of one of them if the other is the query.

    Returns
    -------
    Diverse
        The answers by ascending cost and what is proved of their distances.

    Raises
    ------
    InputError
        If the row or a setting is invalid.

    Examples
    --------
    >>> diverse = explainer.diverse(row, k=2, within=0.5)
    >>> len(diverse), diverse.status
    (2, 'optimal')
    """

    name: ClassVar[str] = "diverse"
    solver: ClassVar[str] = "portfolio.questions.several.diverse_finder:find_diverse"
    answer: ClassVar[str] = "portfolio.questions.several.diverse:Diverse"
    progress: ClassVar[str] = "(seconds, upper bound, lower bound) of the smallest distance"

    k: Annotated[int, Text("int", "Number of answers, from 2 to 20.")] = 3
    within: Annotated[
        float,
        Text("float", "Largest additional cost, as a share of the minimal cost: 0.1 for 10 %."),
    ] = 0.1
    norm: Annotated[
        Norm, Text('{0, 1, "inf"}', "Distance measure, also between any two answers.")
    ] = 1
    strategy: StrategyChoice = None


@dataclass(frozen=True, kw_only=True, eq=False)
class FrontQuestion(RecourseQuestion):
    """Trade off cost against changes, probability or plausibility, each level proved.

    Returns
    -------
    Front
        The cheapest answer at each level.

    Raises
    ------
    InputError
        If the row, a level or a setting is invalid.

    Examples
    --------
    >>> print(explainer.front(row, by="probability", levels=[0.5, 0.6]))
    Probability of at least 0.5: distance 0.1038 (proved), changing income.
    Probability of at least 0.6: distance 0.1608 (proved), changing income.
    """

    name: ClassVar[str] = "front"
    solver: ClassVar[str] = "portfolio.questions.several.front:find_front"
    answer: ClassVar[str] = "portfolio.questions.several.front:Front"
    progress: ClassVar[str] = "(seconds, upper bound, lower bound) of the current level"

    target: Annotated[
        Any,
        Text(
            "label or goal",
            "Class label or goal to reach, as in :meth:`Explainer.explain`. With "
            '``by="probability"`` a class, by default the other one of two.',
        ),
    ] = None
    by: Annotated[
        Literal["changes", "probability", "plausibility"],
        Text(
            '{"changes", "probability", "plausibility"}',
            "Quantity of the levels: largest number of changes, or smallest probability of the "
            'target. "plausibility" is the smallest ``score_samples`` of the isolation forest.',
        ),
    ] = "changes"
    levels: Annotated[
        Sequence[float] | None,
        Text(
            "sequence of float",
            "Numbers of changes, probabilities or scores. Default numbers of changes are all from "
            "that of the cheapest answer to the fewest possible. Default probabilities are 0.5, "
            "0.6, 0.7, 0.8, 0.9 and 0.95. Default scores are the forest's threshold times 1, 0.95, "
            "..., 0.75.",
        ),
    ] = None
    strategy: StrategyChoice = None
    tie_break: TieBreak = False


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupQuestion(RecourseQuestion):
    """Find a few actions that give recourse to as many rows as possible.

    An action is a set of steps, at most one per feature. A step raises a number to at least a
    limit, lowers it to at most a limit, or changes a category. Rows that already meet a step
    keep their value. An action serves a row if all its steps are admissible, its cost is within
    the budget and the model then predicts the target. Limits may be any numbers.

    Returns
    -------
    GroupRecourse
        The actions, the rows that each serves and what is proved.

    Raises
    ------
    InputError
        If a row or a setting is invalid.

    Examples
    --------
    >>> group = explainer.explain_group(X, actions=1)
    >>> group.covered, group.status
    (4, 'optimal')
    """

    name: ClassVar[str] = "explain_group"
    solver: ClassVar[str] = "portfolio.questions.groups.group_finder:find_group"
    answer: ClassVar[str] = "portfolio.questions.groups.group:GroupRecourse"
    table: ClassVar[bool] = True
    subject: ClassVar[str] = (
        "Rows that need recourse; rows that already reach the target are left out."
    )
    progress: ClassVar[str] = "(seconds, upper bound on the rows served, rows served)"

    target: Annotated[
        Any,
        Text(
            "label or goal",
            "Class label or goal to reach; by default the other one of two classes.",
        ),
    ] = None
    actions: Annotated[int, Text("int", "Largest number of actions.")] = 1
    budget: Annotated[
        float | None,
        Text(
            "float",
            "Largest cost of an action for each row that takes it; no limit by default.",
        ),
    ] = None
    norm: Annotated[
        Norm, Text('number or "inf"', 'Distance measure, a power from 0 to 100 or "inf".')
    ] = 1
    constraints: Annotated[
        Sequence[Constraint],
        Text(
            "sequence of Constraint",
            "Constraints that apply to each row: ``Fixed``, ``Increase``, ``Decrease``, ``Range``, "
            "``Allowed``, ``Precedence`` and ``MaxChanges``.",
        ),
    ] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class AlternativesQuestion(RecourseQuestion):
    """Find the cheapest counterfactual for each way in which one feature may change.

    A number stays, increases or decreases; a category stays or becomes one of the others. With
    ``AllowMissing`` a value may also become missing. Ways that constraints or the bounds of the
    feature rule out are left out.

    Returns
    -------
    Alternatives
        The cheapest counterfactual of each way.

    Raises
    ------
    InputError
        If the row, the feature or a setting is invalid.

    Examples
    --------
    >>> ways = explainer.alternatives_of(row, "income").ways
    >>> [(each.way, round(each.result.distance, 4)) for each in ways]
    [('stays', 0.9412), ('increases', 0.1038), ('decreases', 0.9412)]
    """

    name: ClassVar[str] = "alternatives_of"
    solver: ClassVar[str] = "portfolio.questions.alternatives:find_alternatives"
    answer: ClassVar[str] = "portfolio.questions.alternatives:Alternatives"
    progress: ClassVar[str] = "(seconds, upper bound, lower bound) of the current way"

    feature: Annotated[str, Text("str", "Name of the feature whose ways to change are compared.")]
    strategy: StrategyChoice = None


QUESTIONS: dict[str, type[QuestionType]] = {
    each.name: each
    for each in (
        ReasonsQuestion,
        RobustnessQuestion,
        VerifyQuestion,
        NecessaryQuestion,
        ReasonCodesQuestion,
        ContrastQuestion,
        WhyNotQuestion,
        RegionQuestion,
        RobustQuestion,
        SeveralQuestion,
        DiverseQuestion,
        FrontQuestion,
        GroupQuestion,
        AlternativesQuestion,
    )
}


def texts_of(question: type[QuestionType]) -> dict[str, Text]:
    """Return the documentation of each field of a question."""
    hints = get_type_hints(question, include_extras=True)
    return {each.name: hints[each.name].__metadata__[0] for each in fields(question)}


def question_named(name: str) -> type[QuestionType]:
    """Return the record of a question; raise InputError if the name is unknown."""
    if name not in QUESTIONS:
        names = ", ".join(sorted(QUESTIONS))
        raise InputError(
            f"unknown question {name!r}.{close_names(name, QUESTIONS)} Use one of {names}."
        )
    return QUESTIONS[name]
