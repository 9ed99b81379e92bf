"""The parsed model, and everything else that is the same for all queries."""

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, frozen
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.formulation.additive import Additive, additive
from encoders.formulation.encodings import Encodings
from encoders.formulation.goal_rows import link_of
from encoders.formulation.starting_points import Reference, make_reference
from encoders.query.features import FeatureSpace
from encoders.query.goal import ClassGoal, Goal, ValueGoal
from encoders.readers.isolation import at_threshold, longest
from encoders.readers.kinds import is_pipeline, kind_of, last_step, unwrapped
from encoders.readers.outputs import outputs_of
from encoders.trees.cells import Cells, cut
from encoders.trees.ensemble import Companion, Ensemble
from encoders.trees.joining import accompanied
from portfolio.model.evidence import check_against_model, check_boxes
from portfolio.model.fingerprint import fingerprint
from portfolio.model.fitted_state import FittedState
from portfolio.model.native import NativeModel
from portfolio.model.oracle import Oracle
from portfolio.model.plausibility import Plausibility, decides_alike, is_forest
from portfolio.model.readings import Features, Reading, over_columns, read_alone
from portfolio.model.sample import representative
from portfolio.model.step_kinds import Said

Derived = TypeVar("Derived")
INLIER = 1  # class index of an isolation forest


@dataclass(frozen=True, eq=False)
class Wanted:
    """Companion model with the classes that it must predict.

    Attributes
    ----------
    alone : model with its trees over its own input columns.
    classes : class indices that it must predict, see :class:`encoders.trees.ensemble.Companion`.
    always : class index that it must predict for every target; None for further models.
    """

    alone: Reading
    classes: tuple[int, ...] = ()
    always: int | None = None

    def of(self, ensemble: Ensemble) -> Companion:
        """Return the companion for trees over the user's columns."""
        return Companion(ensemble, 0, self.classes, self.always)


@dataclass(frozen=True, eq=False)
class Companions:
    """All companions of a model.

    Attributes
    ----------
    every : tuple of distinct companions.
    of_class : positions in ``every`` for each class of the model (one entry for a regressor).
    """

    every: tuple[Wanted, ...]
    of_class: tuple[tuple[int, ...], ...]


def companions_of(
    main: Reading, plausibility: Plausibility | None, also: Sequence[Any]
) -> Companions:
    """Return the companions of a model: isolation forests per class, and further models."""
    labels = main.native.classes or (None,)
    forests = [] if plausibility is None else [plausibility.forest_of(label) for label in labels]
    distinct = {id(forest): forest for forest in forests if not _accepts_all(forest)}
    every = [
        Wanted(_read(forest, "the isolation forest"), always=INLIER) for forest in distinct.values()
    ]
    place = {key: at for at, key in enumerate(distinct)}
    every += [_further(model, at, main) for at, model in enumerate(also)]
    shared = tuple(range(len(distinct), len(every)))
    if not forests:
        return Companions(tuple(every), (shared,) * len(labels))
    per_class = [(place[id(forest)],) if id(forest) in place else () for forest in forests]
    return Companions(tuple(every), tuple(first + shared for first in per_class))


def _read(model: Any, name: str) -> Reading:
    try:
        return read_alone(model, name)
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"{name}: {error}") from error


def _accepts_all(forest: Any) -> bool:
    """Return whether a forest accepts every row; raise InputError if it rejects every row."""
    if not is_forest(forest):
        raise UnsupportedModelError(
            "plausibility needs a fitted IsolationForest or a fitted Pipeline that ends with one, "
            f"got {type(forest).__name__}."
        )
    alike = decides_alike(forest)
    if alike is False:
        last = last_step(forest) if is_pipeline(forest) else forest
        raise InputError(
            f"the isolation forest rejects every row (offset_={last.offset_:g}). Fit it with a "
            "contamination of at most 0.5."
        )
    return alike is not None


def _further(model: Any, at: int, main: Reading) -> Wanted:
    """Return a further model under which answers must hold."""
    name = f"also[{at}] ({type(model).__name__})"
    reading = _read(model, name)
    if reading.ensemble.regression != main.ensemble.regression:
        kinds = "classifier", "regressor"
        explained, further = kinds[main.ensemble.regression], kinds[reading.ensemble.regression]
        raise InputError(
            f"{name} is a {further}, but the explained model is a {explained}. Pass only "
            f"{explained}s in also."
        )
    if reading.ensemble.blend is not None:
        raise UnsupportedModelError(
            f"{name} combines several score sums (as soft voting of boosted models does), which is "
            "supported for the explained model only. Explain this model, and pass the other in "
            "also."
        )
    if reading.ensemble.regression:
        return Wanted(reading, classes=(0,))
    missing = [label for label in main.native.classes if not _knows(reading, label)]
    if missing:
        raise InputError(
            f"{name} does not know the class {missing[0]!r}, only "
            f"{', '.join(map(repr, reading.native.classes))}. Fit it on the same labels."
        )
    return Wanted(reading, tuple(reading.native.class_index(each) for each in main.native.classes))


def _knows(reading: Reading, label: Any) -> bool:
    try:
        reading.native.class_index(label)
    except InputError:
        return False
    return True


NEAREST = 50  # starting rows if no training row reaches the goal


@dataclass(frozen=True, eq=False)
class ClassView:
    """Trees that decide about one target class, cut into cells."""

    ensemble: Ensemble  # the model's trees, with those of its companions
    cells: Cells  # the same trees, as intervals of each column
    reference: Reference  # training rows by class, as starting points of searches
    companions: tuple[Oracle, ...] = ()  # oracles of the ensemble's companions, in the same order
    encodings: Encodings = field(default_factory=Encodings)  # those of earlier queries

    @property
    def forests(self) -> tuple[Oracle, ...]:
        """Isolation forests that answers must satisfy, if plausibility is required."""
        pairs = zip(self.ensemble.companions, self.companions, strict=True)
        return tuple(oracle for companion, oracle in pairs if companion.always is not None)

    def keeping(self, keep: Callable[[Companion], bool]) -> "ClassView":
        """Return the same view with some of its companions."""
        every = self.ensemble.companions
        pairs = zip(every, self.companions, strict=True)
        return replace(
            self,
            ensemble=replace(
                self.ensemble, companions=tuple(companion for companion in every if keep(companion))
            ),
            companions=tuple(oracle for companion, oracle in pairs if keep(companion)),
        )

    def near(self, goal: Goal) -> IntArray:
        """Return training rows as starting points, int64 (n, n_columns), see :class:`Reference`."""
        if isinstance(goal, ClassGoal):
            return self.reference.rows[goal.target]
        rows, sums = self._all_rows
        low, high = link_of(self.ensemble, goal).limits(sums, goal.output, 0.0)
        missing = np.maximum(goal.low - high, low - goal.high)
        reaching = rows[missing <= 0]
        return reaching if len(reaching) else rows[np.argsort(missing, kind="stable")[:NEAREST]]

    @cached_property
    def additive(self) -> Additive | None:
        """Tables of an additive model, None for any other."""
        return additive(self.ensemble, self.cells)

    @cached_property
    def _all_rows(self) -> tuple[IntArray, FloatArray]:
        return np.concatenate(self.reference.rows), np.concatenate(self.reference.sums)


@dataclass(frozen=True, eq=False)
class ModelOutput:
    """Output of a model, alone and as a companion of other outputs.

    Attributes
    ----------
    model : the output alone, whose levels are those of all outputs.
    companion : trees of the output among those of all outputs.
    """

    model: "ExplainedModel"
    companion: Companion


@dataclass(frozen=True, eq=False)
class ExplainedModel:
    """Model as trees, with its features and the user's own object for verification.

    Attributes
    ----------
    ensemble : the model's trees alone.
    space : features of the columns.
    native : the user's own object, which verifies every answer.
    views : one :class:`ClassView` per target class, or one for a regressor; they differ only with
        plausibility.
    seconds : time for reading the model.
    file_digest : SHA-256 of the model file in hex, or None.
    state : fitted state of the model and its companions, or None if it is not watched.
    outputs : each output of a model of several outputs, by name; empty for one output.
    aim : targets of several outputs by name, if the model must reach them; None for one output.
    output_names : names of all outputs of the model of which this is one.
    representative : positions of training rows that represent all, int64 (n,); see
        :func:`portfolio.model.sample.representative`.
    """

    ensemble: Ensemble
    space: FeatureSpace
    native: NativeModel
    views: tuple[ClassView, ...]
    seconds: float
    file_digest: str | None = None
    state: FittedState | None = None
    outputs: Mapping[Any, "ModelOutput"] = field(default_factory=dict)
    aim: Mapping[Any, Any] | None = None
    output_names: tuple[Any, ...] = ()
    representative: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def check_unchanged(self) -> None:
        """Raise ModelChangedError if the model, or a companion, has changed since it was read."""
        if self.state is not None:
            self.state.check()

    def check_decisions(self, rows: FloatArray) -> None:
        """Raise an error if native predictions of rows contradict the parsed trees.

        This detects changes that replace no object, such as an edited array.
        """
        if not len(rows):
            return
        number = ValueGoal(0, "prediction", 0, -math.inf, math.inf)
        goal = number if self.ensemble.regression else ClassGoal(0)
        Oracle(self.ensemble, self.native).check_unchanged(rows, goal)

    @cached_property
    def identity(self) -> str:
        """Digest of everything that a decision depends on, except the query."""
        joined = [view.ensemble for view in self.views if view.companions]
        blends = [] if self.ensemble.blend is None else [self.ensemble.blend]
        limited = [
            each.ensemble.link
            for each in self.views[0].ensemble.companions
            if isinstance(each.goal, ValueGoal)
        ]
        parts = self.ensemble, self.space, self.native.classes, joined
        return fingerprint(*parts, *blends, *limited)

    def identity_for(self, numbers: bool) -> Any:
        """Return a digest of everything that answers depend on."""
        links = [self.ensemble.link, *(oracle.ensemble.link for oracle in self.also)]
        return fingerprint(self.identity, *links) if numbers else self.identity

    def once(self, derive: Callable[["ExplainedModel"], Derived]) -> Derived:
        """Return what a function derives from the model, computed at its first use."""
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        derived: Derived = self._derived[derive]
        return derived

    def oracle(self, target: int) -> Oracle:
        """Return the oracle that decides whether a row reaches a target class."""
        view = self.views[target]
        return Oracle(view.ensemble, self.native, view.companions)

    @cached_property
    def input_type(self) -> np.dtype[Any]:
        """Narrowest input type of the model and its companions, which must represent all values."""
        every = [
            self.ensemble,
            *(trees.ensemble for view in self.views for trees in view.companions),
        ]
        return min((trees.dtype for trees in every), key=lambda dtype: dtype.itemsize)

    @property
    def plausible(self) -> bool:
        """True if answers must be plausible."""
        return any(view.forests for view in self.views)

    @property
    def also(self) -> tuple[Oracle, ...]:
        """Further models under which answers must hold."""
        first = self.views[0]
        return tuple(oracle for oracle in first.companions if oracle not in first.forests)

    def without_plausibility(self) -> "ExplainedModel":
        """Return the same model without its isolation forests."""
        return self._keeping(lambda companion: companion.always is None)

    def without_also(self) -> "ExplainedModel":
        """Return the same model without the further ones."""
        return self._keeping(lambda companion: companion.always is not None)

    def _keeping(self, keep: Callable[[Companion], bool]) -> "ExplainedModel":
        if all(keep(companion) for view in self.views for companion in view.ensemble.companions):
            return self
        # Views that differ only in dropped companions become one, so that they share cells.
        views: dict[tuple[Oracle, ...], ClassView] = {}
        each = [view.keeping(keep) for view in self.views]
        return replace(self, views=tuple(views.setdefault(view.companions, view) for view in each))


def read(
    model: Any,
    X_train: Any,
    features: Features,
    voting: str | None,
    plausibility: Plausibility | None = None,
    declarations: Mapping[str, Said] | None = None,
    also: Sequence[Any] = (),
    names: Sequence[Any] | None = None,
) -> ExplainedModel:
    """Read a model, describe its features, and check the parsed trees against its own predict.

    ``names`` are those of the outputs, by default their indices.
    """
    began = time.perf_counter()
    outputs = outputs_of(model)
    names = _names_of(outputs, names)
    if outputs:
        _refuse_beside_outputs(voting, plausibility, also)
        pairs = zip(outputs, names, strict=True)
        main, *rest = (_read(each, f"output {name!r}") for each, name in pairs)
        every = tuple(Wanted(each) for each in rest)
        shared = tuple(range(len(every)))
        companions = Companions(every, (shared,) * max(len(main.native.classes), 1))
    else:
        main = read_alone(_with_voting(model, voting))
        companions = companions_of(main, plausibility, also)
    readings = over_columns(
        [main, *(wanted.alone for wanted in companions.every)],
        X_train,
        features,
        declarations or {},
    )
    state = FittedState([model, *also, *(own.native.model for own in readings.models)])
    main, space, values = readings.models[0], readings.space, readings.values
    ensemble, native = main.ensemble, main.native
    oracles = [Oracle(reading.ensemble, reading.native) for reading in readings.models[1:]]
    views: dict[tuple[int, ...], ClassView] = {}
    for places in companions.of_class:
        if places not in views:
            joined = accompanied(
                ensemble, [companions.every[at].of(oracles[at].ensemble) for at in places]
            )
            cells = cut(joined)
            check_boxes(joined, cells, values)
            reference = make_reference(joined, cells, space, values)
            views[places] = ClassView(joined, cells, reference, tuple(oracles[at] for at in places))
    for reading in readings.models[1:]:
        with reading.named():
            check_against_model(
                reading.ensemble, cut(reading.ensemble), reading.native, values, space
            )
    if len(native.classes) != 1:
        cells = cut(ensemble) if readings.models[1:] else views[()].cells
        check_against_model(ensemble, cells, native, values, space)
    every_view = tuple(views[places] for places in companions.of_class)
    state = state.settled()
    seconds = time.perf_counter() - began
    some = representative(values, native.table)
    read = ExplainedModel(
        ensemble, space, native, every_view, seconds, state=state, representative=some
    )
    return replace(read, outputs=_by_name(read, names)) if outputs else read


def _names_of(outputs: Sequence[Any], names: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the names of the outputs; InputError unless there is a distinct one for each."""
    if names is None:
        return tuple(range(len(outputs)))
    if not outputs:
        raise InputError("outputs names the outputs of a model, but this model has one. Omit it.")
    every = tuple(names)
    if isinstance(names, str) or len(set(every)) != len(outputs) or len(every) != len(outputs):
        raise InputError(
            f"outputs must be {len(outputs)} different names, one per output of the model, got "
            f"{names!r}."
        )
    return every


def _refuse_beside_outputs(
    voting: str | None, plausibility: Plausibility | None, also: Sequence[Any]
) -> None:
    """Raise InputError for settings that a model of several outputs does not support."""
    settings = {"voting": voting, "plausibility": plausibility, "also": also or None}
    for name, setting in settings.items():
        if setting is not None:
            raise InputError(
                f"{name} does not support models of several outputs. Omit it, or fit one model "
                "per output."
            )


def _by_name(model: ExplainedModel, names: Sequence[Any]) -> dict[Any, ModelOutput]:
    """Return each output of a model alone, by name."""
    view = model.views[0]
    companions = (Companion(model.ensemble, 0), *view.ensemble.companions)
    of_all: Any = {"seconds": model.seconds, "state": model.state, "output_names": tuple(names)}
    return {
        name: ModelOutput(replace(alone, **of_all), companion)
        for name, alone, companion in zip(names, one_by_one(model), companions, strict=True)
    }


def _with_voting(model: Any, voting: str | None) -> Any:
    from encoders.trees.voting import HardVotingClassifier

    if voting not in (None, "soft", "hard"):
        raise InputError(f"voting must be 'soft', 'hard' or None, got {voting!r}.")
    hard = isinstance(unwrapped(model), HardVotingClassifier)
    if voting == "soft" and hard:
        raise InputError(
            "voting='soft' does not apply to a HardVotingClassifier. Pass its forest instead."
        )
    if voting != "hard" or hard:
        return model
    model = unwrapped(model)
    if kind_of(model).name not in ("RandomForestClassifier", "ExtraTreesClassifier"):
        raise UnsupportedModelError(
            "voting='hard' supports random forests and extra trees only, got "
            f"{type(model).__name__}. Omit voting."
        )
    return HardVotingClassifier.from_fitted(model)


def one_by_one(model: ExplainedModel) -> tuple[ExplainedModel, ...]:
    """Return the model, and each of its further ones, as separate models.

    They share the cells of all, so that levels have the same meaning for each of them.
    """
    view = model.views[0]
    pairs = zip(view.ensemble.companions, view.companions, strict=True)
    return (
        model.without_also(),
        *(_alone(model, view, companion, oracle) for companion, oracle in pairs),
    )


def _alone(
    model: ExplainedModel, view: ClassView, companion: Companion, oracle: Oracle
) -> ExplainedModel:
    """Return a further model in which only its own leaves have scores."""
    every = view.ensemble
    score = np.zeros((every.column.size, companion.ensemble.score.shape[1]))
    score[companion.first : companion.first + companion.ensemble.column.size] = (
        companion.ensemble.score
    )
    ensemble: Ensemble = replace(
        companion.ensemble,
        root=every.root,
        column=every.column,
        last_left=every.last_left,
        left=every.left,
        right=every.right,
        score=frozen(score),
        dtype=every.dtype,
        default_left=every.default_left,
        sets=every.sets,
        unsure=every.unsure,
        companions=(),
    )
    cells = replace(view.cells, score_of_node=ensemble.score)
    classes = max(len(oracle.native.classes), 1)
    # The further model's classes of these rows are not known yet, so each class gets all rows.
    rows = np.concatenate(view.reference.rows)
    sums = np.zeros((len(rows), score.shape[1]))
    alone = ClassView(ensemble, cells, Reference((rows,) * classes, (sums,) * classes))
    return ExplainedModel(ensemble, model.space, oracle.native, (alone,) * classes, 0.0)


def least_score(model: ExplainedModel) -> float:
    """Return the score that rows need in a model's isolation forests, the largest of several."""
    if not model.plausible:
        raise InputError(
            "a front by plausibility needs isolation forests. Pass a Plausibility to the Explainer."
        )
    if not all(view.forests for view in model.views):
        raise InputError(
            "a front by plausibility needs isolation forests that score rows differently, but that "
            "of one class gives all rows the same score. Fit it on more rows."
        )
    return max(float(_forest(oracle).offset_) for view in model.views for oracle in view.forests)


def requiring(model: ExplainedModel, score: float) -> ExplainedModel:
    """Return a copy of the model whose isolation forests accept rows of at least this score.

    Trees and cells stay. scikit-learn compares scores with a forest's ``offset_``, which is
    replaced in a copy of the user's object.
    """
    forests = {
        id(oracle): _with_offset(oracle, score) for view in model.views for oracle in view.forests
    }
    views = {id(view): _view(view, forests) for view in model.views}
    return replace(model, views=tuple(views[id(view)] for view in model.views))


def score_of(model: ExplainedModel, target: int, row: FloatArray) -> float:
    """Return the least native score of a row in the isolation forests of a class."""
    natives = [oracle.native for oracle in model.views[target].forests]
    scores = [native.isolation(row[None, :])[0] for native in natives]
    return float(min(scores))


def _forest(oracle: Oracle) -> Any:
    model = oracle.native.model
    return last_step(model) if is_pipeline(model) else model


def _with_offset(oracle: Oracle, score: float) -> Oracle:
    forest = copy.copy(_forest(oracle))
    forest.offset_ = np.float64(score)
    model = forest
    if is_pipeline(oracle.native.model):
        model = copy.copy(oracle.native.model)
        model.steps = [*model.steps[:-1], (model.steps[-1][0], forest)]
    assert longest(forest) > 0  # forests with equal scores for all rows are not companions
    ensemble = at_threshold(oracle.ensemble, forest)
    return replace(oracle, ensemble=ensemble, native=replace(oracle.native, model=model))


def _view(view: ClassView, forests: dict[int, Oracle]) -> ClassView:
    oracles = tuple(forests.get(id(oracle), oracle) for oracle in view.companions)
    pairs = zip(view.ensemble.companions, oracles, strict=True)
    companions: tuple[Companion, ...] = tuple(
        replace(companion, ensemble=oracle.ensemble) for companion, oracle in pairs
    )
    return replace(view, ensemble=replace(view.ensemble, companions=companions), companions=oracles)
