"""Files of records: written by several processes, torn by crashes, read as one table."""

import json
import multiprocessing
import os
from pathlib import Path

import pandas as pd
import pytest

from encoders.core.errors import InputError
from selector import logs
from selector.logs.record import SCHEMA
from tests.support.records import record

SHIPPED = Path(__file__).parents[3] / "training_logs" / "logs.parquet"


@pytest.mark.parametrize("schema", [1, SCHEMA + 1])
def test_records_of_another_schema_are_refused(line, tmp_path, schema):
    row = json.loads(line) | {"schema": schema}
    (tmp_path / "other.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=f"schema {schema}; this version reads schema {SCHEMA}"):
        logs.read(tmp_path)


@pytest.mark.slow
def test_the_shipped_logs_are_read_and_hold_nothing_wrong():
    frame = logs.read(SHIPPED)
    assert len(frame) == 4577 and frame["thresholds_total"].min() > 0
    assert logs.check(frame) == []


def torn(folder, tmp_path):
    """A file of this process whose last line is not whole, and the number of whole ones."""
    whole = next(folder.glob("*.jsonl")).read_bytes()
    path = tmp_path / f"{os.uname().nodename}-{os.getpid()}.jsonl"
    path.write_bytes(whole[:-200])
    return path, whole.count(b"\n") - 1


def test_torn_lines_are_skipped_and_told(folder, tmp_path):
    _, count = torn(folder, tmp_path)
    with pytest.warns(UserWarning, match="1 torn"):
        assert len(logs.read(tmp_path)) == count


def test_who_goes_on_writing_closes_a_torn_line_first(folder, tmp_path):
    _, count = torn(folder, tmp_path)
    logs.append(tmp_path, [record("new", "cp", 1.0)])
    with pytest.warns(UserWarning, match="1 torn"):
        assert len(logs.read(tmp_path)) == count + 1


def test_lines_that_lack_fields_are_skipped_and_told(line, tmp_path):
    (tmp_path / "x.jsonl").write_text(line + '\n{"schema": 3, "run": "a"}\n')
    with pytest.warns(UserWarning, match="1 torn"):
        assert len(logs.read(tmp_path)) == 1


def test_tables_that_lack_columns_are_refused(tmp_path):
    pd.DataFrame({"schema": [SCHEMA]}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(InputError, match="lacks the column"):
        logs.read(tmp_path / "y.parquet")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="does not contain logs"):
        logs.read(tmp_path / "nothing")


def test_a_folder_that_cannot_be_written_to_is_told():
    with pytest.raises(InputError, match="can't write logs to /proc/nothing"):
        logs.append("/proc/nothing", [record("a", "cp", 1.0)])


def write(folder, number):
    """A process that appends records one by one."""
    for i in range(500):
        logs.append(folder, [record(f"{number}-{i}", "cp", 1.0)])


@pytest.fixture(scope="module")
def written_by_four(tmp_path_factory):
    folder = tmp_path_factory.mktemp("four")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(folder, i)) for i in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return folder


@pytest.mark.slow
def test_four_writers_lose_nothing(written_by_four):
    frame = logs.read(written_by_four)
    assert len(list(written_by_four.glob("*.jsonl"))) == 4
    assert len(frame) == 2000 and frame["run"].is_unique


def test_compacting_keeps_all_records_and_the_lines(written_by_four, tmp_path):
    frame = logs.read(written_by_four)
    path = logs.compact(written_by_four, tmp_path / "logs.parquet")
    pd.testing.assert_frame_equal(
        logs.read(path).sort_values("run", ignore_index=True),
        frame.sort_values("run", ignore_index=True),
    )
    assert len(list(written_by_four.glob("*.jsonl"))) == 4


def test_merging_keeps_each_run_once(folder, frame, tmp_path):
    assert logs.merge([folder, folder], tmp_path / "a.parquet") == len(frame)
    assert logs.merge([tmp_path / "a.parquet", folder], tmp_path / "b.parquet") == len(frame)
    pd.testing.assert_frame_equal(
        logs.read(tmp_path / "a.parquet"), logs.read(tmp_path / "b.parquet")
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("total_s", "abc", "total_s must be a number"),
        ("limit_s", "1.5", "limit_s must be a number"),
        ("upper", {}, "upper must be a number"),
        ("left_rows", [1], "left_rows must be a number"),
        ("trees", 10**400, "trees must be a number"),
        ("verified", "yes", "verified must be true or false"),
        ("verified", None, "verified must be true or false"),
        ("query", 5, "query must be text"),
        ("backend", {"a": 1}, "backend must be text"),
    ],
)
def test_a_value_of_another_type_is_told(line, name, value, words, tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps(json.loads(line) | {name: value}) + "\n")
    with pytest.raises(InputError, match=words):
        logs.read(tmp_path)


def test_lines_that_are_no_records_are_skipped(line, tmp_path):
    others = ["null", "42", "[]", *(json.dumps({"schema": own}) for own in ("3", [3], {}))]
    (tmp_path / "x.jsonl").write_text("\n".join([line, *others]) + "\n")
    with pytest.warns(UserWarning, match=r"6 torn line"):
        assert len(logs.read(tmp_path)) == 1
