"""Batches' answers, and when two of them are the same."""

import json
import pickle

import pandas as pd

from portfolio.batch.answer_log import LINES

SETTLED = ["id", "status", "stop_reason", "distance", "target", "changed", "message"]


def same(frame, expected):
    """Equal but for times, and for what answered."""
    pd.testing.assert_frame_equal(frame[SETTLED], expected[SETTLED])
    found = [name for name in expected.columns if name.startswith("cf_")]
    pd.testing.assert_frame_equal(frame[found], expected[found])


def lines(folder):
    return [json.loads(line) for line in (folder / LINES).read_text().splitlines()]


def here(job, tasks):
    """A worker that needs no process, and gets what one would."""
    job = pickle.loads(pickle.dumps(job))
    for task in tasks:
        yield json.loads(json.dumps(job.answer(pickle.loads(pickle.dumps(task))), allow_nan=False))
