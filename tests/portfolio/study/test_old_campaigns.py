"""A campaign that version 0.1 (commit dfd63ad) made goes on here: no run is made twice."""

import shutil
from pathlib import Path

import pytest

from portfolio.study.campaign import run_campaign
from portfolio.study.protocol import load_protocol

OLD = Path(__file__).parents[2] / "data" / "campaign_of_0_1"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(OLD / "logs", tmp_path / "logs")


def asked_by(folder):
    """Configurations that the campaign asks workers about."""
    asked = []

    def workers(job, tasks):
        for task in tasks:
            asked.append(task.payload)
            yield job.lost(task, "nobody is there")

    protocol = load_protocol(str(OLD / "protocol.toml"))
    run_campaign(protocol, None, folder, workers, None, lambda done, total, wrong: None)
    return asked


def test_what_is_logged_is_not_run_again(folder):
    assert asked_by(folder) == []


def test_a_configuration_that_lacks_a_run_is_asked(folder):
    records = folder / "records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    records.write_text("".join(line for line in lines if '"session"' not in line))
    assert {configuration.norm for configuration in asked_by(folder)} == {"0", "1"}
