"""Response bodies of the service; OpenAPI describes them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from portfolio.questions.groups.audit import Audit
from portfolio.questions.groups.group import GroupRecourse
from portfolio.service.messages import Bounds
from portfolio.service.record_schemas import Described


class Document(BaseModel):
    """A response body; further members are allowed."""

    model_config = ConfigDict(extra="allow")


class ModelId(Document):
    """Name and digest of a model."""

    name: str
    digest: str


class ModelVersion(ModelId):
    """Name of a model, its digest, and the digest of its decision diagram."""

    diagram: str


class AppliedLimits(Document):
    """Limits of a request after the server has applied its own."""

    time_limit_s: float
    threads: NonNegativeInt
    clipped: list[str]


class QuestionAnswer(Document):
    """The answer to a question about a row."""

    answer: dict[str, Any] = Field(
        description="The answer of the Explainer method, as to_dict() returns it."
    )
    model: ModelVersion
    question: str
    request: str
    limits: AppliedLimits


class FailedModel(Document):
    """A model that cannot be loaded, and the reason."""

    name: str
    detail: str


class Health(Document):
    """State of the process."""

    status: Literal["ok"] = "ok"


class Ready(Document):
    """State of the workers."""

    status: Literal["ready"] = "ready"
    failed: list[FailedModel]


class FeatureDistribution(Document):
    """Distribution of a feature in the training data.

    ``shares`` are those of bins between the first and the last of the ``quartiles``, or of the
    categories or values; ``missing`` is the share of missing values.
    """

    shares: list[float]
    missing: float
    quartiles: list[float] | None = None


class FeatureDescription(Document):
    """A feature of a model."""

    name: str
    kind: str
    columns: list[str]
    lower: float | None
    upper: float | None
    values: list[Any]
    labels: list[Any]
    action: str
    missing: Any
    truth: Any
    step: float | None
    unit: str | None
    distribution: FeatureDistribution | None


class TimeLimits(Document):
    """Largest and usual time limit of a question in seconds."""

    time_limit_s: float
    usual_s: float


class ModelDescription(ModelVersion):
    """Description of a model for clients: classes, columns, features, example."""

    classes: list[Any]
    outputs: dict[str, list[Any]]
    columns: list[str]
    features: list[FeatureDescription]
    strategies: list[str]
    probabilities: bool
    plausible: bool
    boundary: bool
    jobs: bool
    rows: bool
    limits: TimeLimits
    example: dict[str, Any]
    ready: bool


class ModelList(Document):
    """All models, and those that cannot be loaded."""

    models: list[ModelDescription]
    failed: list[FailedModel]


class PredictionAnswer(Document):
    """The model's own prediction for a row, and its probabilities; by output if it has several."""

    model: ModelVersion
    prediction: Any
    probabilities: Any = Field(description="Pairs of a class and its probability, or null.")


class FoundRow(Document):
    """A training row, its place in the table, and the model's prediction."""

    index: NonNegativeInt
    row: dict[str, Any]
    prediction: Any


class FoundRows(Document):
    """A page of training rows, and the number of rows that were found."""

    model: ModelVersion
    total: NonNegativeInt
    rows: list[FoundRow]


class JobState(Document):
    """State of a job."""

    id: str
    model: ModelId
    question: str
    created: str = Field(description="Time of the request, RFC 3339.")
    state: Literal["queued", "running", "done", "cancelled", "failed"]
    answered: NonNegativeInt
    rows: NonNegativeInt | None
    bounds: Bounds | None
    message: str
    code: str = Field(description="Identifier of the message, empty if it has none.")
    arguments: dict[str, str | float] = Field(description="Names and values in the message.")
    resumable: bool


class JobList(Document):
    """A page of jobs, oldest first."""

    jobs: list[JobState]
    offset: NonNegativeInt
    total: NonNegativeInt


class JobAnswers(Document):
    """A page of answers of a job."""

    job: JobState
    offset: NonNegativeInt
    rows: list[dict[str, Any]]


class ChangedFeature(Document):
    """A feature, and the number of answers that change it."""

    feature: str
    answers: NonNegativeInt


class SegmentBurden(Document):
    """Burden of recourse of the rows with a value of a column, or with a number in a band.

    ``adverse`` rows do not reach the target; the next three members count some of them. ``median``
    and ``p90`` are those of the costs of rows with an answer; ``mean`` includes the rows that reach
    the target already, at cost 0.
    """

    name: Any
    least: float | None
    largest: float | None
    rows: NonNegativeInt
    adverse: NonNegativeInt
    answered: NonNegativeInt
    proved: NonNegativeInt
    infeasible: NonNegativeInt
    median: float | None
    p90: float | None
    mean: float | None
    changes: list[ChangedFeature]


class JobSegments(Document):
    """Burden of recourse of the rows of a job in each segment.

    ``columns`` are the features and further columns that ``by`` supports.
    """

    job: JobState
    by: str | None
    columns: list[str]
    settings: dict[str, Any]
    segments: list[SegmentBurden]


class GroupAnswer(Document):
    """The answer about a group of rows, or of an audit."""

    answer: Annotated[dict[str, Any], Described(GroupRecourse | Audit)] = Field(
        description="The answer, as to_dict() returns it."
    )
    text: str
