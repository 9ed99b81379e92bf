"""Cores are counted where the system has no affinity, as macOS has none."""

import os

import pytest

from encoders.core.cores import usable_cores


@pytest.fixture(autouse=True)
def _without_quota(monkeypatch, tmp_path):
    monkeypatch.setattr("encoders.core.cores.CGROUP", tmp_path)


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


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({}, 3),
    ],
)
def test_cpu_quota_of_a_container_limits_the_cores(monkeypatch, tmp_path, files, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("encoders.core.cores.CGROUP", tmp_path)
    assert usable_cores() == cores
