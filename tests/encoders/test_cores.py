"""Cores are counted where the system has no affinity, as macOS has none."""

import os

import pytest

from encoders.cores import usable_cores


@pytest.fixture
def _without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert usable_cores() == 3


@pytest.mark.usefixtures("_without_affinity")
@pytest.mark.parametrize(("told", "cores"), [(6, 6), (None, 1)])
def test_without_affinity_all_cores_count_and_at_least_one(monkeypatch, told, cores):
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: told)
    assert usable_cores() == cores


@pytest.mark.usefixtures("_without_affinity")
def test_what_python_3_13_tells_comes_first(monkeypatch):
    monkeypatch.setattr(os, "process_cpu_count", lambda: 4, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert usable_cores() == 4
