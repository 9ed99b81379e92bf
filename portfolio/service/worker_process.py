"""Program of a worker of the service, which answers questions about models."""

import traceback
from functools import partial
from typing import Any

from encoders.core.errors import CounterfolioError, InputError
from portfolio.api.explainer import Explainer
from portfolio.batch.exploration import EveryBackend
from portfolio.engine.warm_up import warm_up_all
from portfolio.service.asking import answer, answer_group, explore
from portfolio.service.messages import EXPLORE, GROUP, Refused, Reply
from portfolio.service.together import JointAnswers
from portfolio.workers.process import Link
from portfolio.workers.work import Caller, Task, in_a_sentence
from portfolio.workers.work_process import serve as serve_work

WRITING_S = 60.0  # maximum seconds to write the sentences of an answer


def serve(link: Link) -> None:
    """Compile for all questions, then answer some until the connection closes."""
    serve_work(link, warm_up_all)


class ModelWork:
    """Answers to questions about one model; see :class:`portfolio.workers.work.InteractiveWork`."""

    def __init__(self, explainer: Explainer) -> None:
        self._explainer = explainer

    def attach(self, caller: Caller) -> None:
        """See :class:`portfolio.workers.work.InteractiveWork`."""
        self._caller, self._every = caller, EveryBackend()

    def warm_up(self, task: Task) -> None:
        """Do nothing, as the process has compiled for all questions."""

    def together(self) -> JointAnswers:
        """See :class:`portfolio.workers.work.GatheringWork`."""
        return JointAnswers.of(self._explainer, self._caller.stop_of)

    def answer(self, task: Task) -> Reply | Refused:
        """See :class:`portfolio.workers.work.PreparedWork`."""
        try:
            return self._answer(task)
        except InputError as error:
            return Refused(str(error), code=error.code, arguments=error.arguments)
        except CounterfolioError as error:
            return Refused(str(error))
        except MemoryError as error:
            return Refused(in_a_sentence(error), "lost")
        except Exception:  # a bug: the process continues, and the server logs the traceback
            return Refused(traceback.format_exc(), "bug")

    def _answer(self, task: Task) -> Reply:
        ask: Any = task.payload
        explainer = self._explainer.until(self._caller.stop_of(task))
        on_bounds = partial(self._caller.report, task)
        if ask.question == EXPLORE:
            return explore(explainer, ask, self._every)
        if ask.question == GROUP:
            return answer_group(explainer, ask, on_bounds)
        return answer(explainer, ask, on_bounds, partial(self._caller.extend, WRITING_S))
