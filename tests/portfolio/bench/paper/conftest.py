"""Runs that the tests of this room share."""

import pandas as pd
import pytest

from portfolio.engine.question import Question
from selector import logs
from tests.support.records import record

USUAL = {"mode": "plain", "constraints": Question().digest}


@pytest.fixture
def frame_of(tmp_path):
    """Records as they are read, of (query, backend, seconds, more); questions as the paper's."""

    def frame(*told: tuple[str, str, float | None, dict[str, object]]) -> pd.DataFrame:
        logs.append(tmp_path, [record(q, b, s, **{**USUAL, **more}) for q, b, s, more in told])
        return logs.read(tmp_path)

    return frame
