"""The questions of :class:`portfolio.explainer.Explainer` asked of whole tables."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from encoders.errors import InputError
from encoders.query.cost import Norm
from portfolio.batch.rows import read_batch
from portfolio.batch.run import run_batch
from portfolio.batch.settings import BatchSettings, OnAnswer
from portfolio.goals import wanted_of
from portfolio.model.frames import as_kind, as_pandas
from portfolio.question import Options, Question, strategy_name
from portfolio.questions.every_row import Bounds, every_row
from portfolio.running.work import Answers
from portfolio.solving.ask import Asker

OF_A_QUESTION = ("target", "norm", "scale", "weights", "constraints", "margin")


class BatchQuestions:
    """Methods that an explainer inherits."""

    _asker: Asker

    def ask_batch(
        self,
        question: str,
        X: Any,
        per_query_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        on_answer: OnAnswer = lambda answered, rows: None,
        **settings: Any,
    ) -> Any:
        """Ask any question about a row of every row of a table, with worker processes.

        Parameters
        ----------
        question : name of the method that asks it of one row: "reasons", "several", "why_not", ...
        X, per_query_limit_s, deadline_s, threads, seed, executor, out, resume, on_answer : as for
            :meth:`Explainer.explain_batch`
        **settings : the method's own arguments, such as ``target`` or ``smallest``

        Returns
        -------
        DataFrame
            Of pandas, or of the kind that ``X`` is. One row per query: id, status, stop_reason,
            seconds, all that the answer's ``to_dict()`` has (a list of names as text with commas,
            what has parts of its own as JSON), message, and text, which is the answer in sentences.

        Raises
        ------
        InputError
            No such question or setting, bad settings, or columns other than the model's.
        BatchError
            The folder can't be written to any more; holds what was answered.
        """
        from portfolio.questions.batch_job import QuestionJob, settings_of

        known = settings_of(question)
        if unknown := sorted(settings.keys() - known):
            raise InputError(
                f"{question} takes no {unknown[0]!r} in a batch; its settings are "
                f"{', '.join(sorted(known))}."
            )
        batch = BatchSettings(
            per_query_limit_s, deadline_s, threads, executor, out, resume, on_answer
        )
        asked = Question(**{name: settings[name] for name in OF_A_QUESTION if name in settings})
        name = strategy_name(settings.get("strategy"))
        Options(name, per_query_limit_s, threads, seed)
        model = self._asker.model
        rows = read_batch(self._asker, asked, X)
        if "y" in settings:  # a second row, of whatever kind, is told by its values
            settings["y"] = self._asker.read(settings["y"])
        identity = model.identity_for(wanted_of(model, asked.target) is not None)
        job = QuestionJob(self._asker, question, settings | {"threads": threads, "seed": seed})
        whole = (identity, question, settings, threads, seed, per_query_limit_s)
        return as_kind(run_batch(rows, job, whole, batch), as_pandas(X)[1])

    def robustness_batch(
        self,
        X: Any,
        radius: float | None = None,
        target: Any = None,
        norm: Norm = "inf",
        scale: str = "none",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        bounds: Bounds = "features",
        per_query_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        strategy: str | Sequence[str] | None = None,
    ) -> Any:
        """The smallest perturbation of every row of a table, with worker processes.

        Parameters
        ----------
        X : as for :meth:`Explainer.explain_batch`
        radius : adds a column ``robust``: whether it holds for the row, missing where that is not
            known
        target, norm, scale, weights, bounds : as for :meth:`robustness`
        per_query_limit_s, deadline_s, threads, seed, executor, out, resume, strategy : as for
            :meth:`Explainer.explain_batch`

        Returns
        -------
        DataFrame
            As of :meth:`Explainer.explain_batch`; ``distance`` is the robustness, ``bound`` what
            is proved of it.

        Raises
        ------
        InputError
            Bad settings, or columns other than the model's.
        """
        from portfolio.questions.robust.robustness import check_radius, check_scale, judged

        check_scale(norm, scale, bounds)
        if radius is not None:
            check_radius(radius)
        answers = self._about(every_row(self._asker, bounds)).explain_batch(
            X,
            target,
            norm,
            scale,
            weights,
            per_query_limit_s=per_query_limit_s,
            deadline_s=deadline_s,
            threads=threads,
            seed=seed,
            executor=executor,
            out=out,
            resume=resume,
            strategy=strategy,
        )
        return judged(answers, radius)

    def _about(self, asker: Asker) -> Any:
        """The same explainer about other rows."""
        other: Any = copy.copy(self)
        other._asker, other._model = asker, asker.model
        return other
