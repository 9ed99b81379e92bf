"""Datasets of Ray: the answers of a batch, in one schema, although an actor is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import ray
import yaml

from counterfolio.ray import CounterfolioUDF, explain_dataset
from encoders.core.errors import InputError
from portfolio import Explainer, Fixed, RayExecutor
from tests.support.answers import SETTLED

KUBERAY = Path(__file__).parents[3] / "deploy" / "kuberay"


@pytest.fixture(scope="module")
def cluster():
    ray.init("local", num_cpus=3, include_dashboard=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def rows(credit):
    return credit[1].head(100)


def same(answers, expected):
    """Equal but for times, for types, and for the order of the rows."""
    found = answers.to_pandas().sort_values("id", ignore_index=True)
    assert list(found.columns) == list(expected.columns)
    answered = [name for name in expected.columns if name.startswith("cf_")]
    pd.testing.assert_frame_equal(
        found[[*SETTLED, *answered]], expected[[*SETTLED, *answered]], check_dtype=False
    )


def test_batches_of_each_format_have_the_answers_of_explain_batch(explainer, rows):
    some = rows.head(20).reset_index(names="number")
    expected = explainer.explain_batch(rows.head(20), "granted")
    udf = CounterfolioUDF(explainer, id="number", target="granted")
    for batch in (some, pa.Table.from_pandas(some), {name: some[name].array for name in some}):
        same(udf(batch), expected)


def test_the_schema_is_that_of_the_model(trades):
    model, X = trades
    udf = CounterfolioUDF(Explainer(model, X))
    schema = udf(X.head(5)).schema
    kinds = {"target": "int64", "cf_region": "string", "cf_size": "double", "changed": "string"}
    assert {name: str(schema.field(name).type) for name in kinds} == kinds
    broken = X.head(3).assign(size=np.inf)  # rows without answers, and a batch without rows
    assert udf(broken).schema == udf(X.head(0)).schema == schema
    assert udf(broken).column("stop_reason").to_pylist() == ["error"] * 3


def test_a_batch_may_have_no_row_with_an_answer(explainer, refused):
    frame = pd.DataFrame([refused])
    fixed = [Fixed(feature.name) for feature in explainer.features.features]
    answers = CounterfolioUDF(explainer, target="granted", constraints=fixed)(frame).to_pandas()
    assert answers["status"].tolist() == ["infeasible"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"target_": 1}, "unknown setting 'target_'. Did you mean"),
        ({"out": "answers"}, "unknown setting 'out'"),
        ({"target": "grantd"}, "grantd"),
        ({"time_limit_s": -1}, "time_limit_s"),
        ({"strategy": "searching"}, "searching"),
    ],
)
def test_invalid_settings_are_refused_before_a_row_is_read(explainer, settings, words):
    with pytest.raises(InputError, match=words):
        explain_dataset(None, explainer, **settings)
    with pytest.raises(InputError):
        CounterfolioUDF(explainer, **settings)


def test_the_time_limit_is_that_of_each_row(trades):
    model, X = trades
    udf = CounterfolioUDF(Explainer(model, X), strategy="cp", time_limit_s=1e-6)
    assert set(udf(X.head(4)).column("stop_reason").to_pylist()) == {"time_limit"}


def test_an_unknown_column_of_ids_is_refused(explainer, rows):
    with pytest.raises(InputError, match="the dataset has no column 'nr'"):
        CounterfolioUDF(explainer, id="nr")(rows.head(2))


@pytest.mark.slow
def test_a_dataset_has_the_answers_of_a_batch_on_ray(cluster, explainer, rows, tmp_path):
    explainer.save(tmp_path / "credit")
    expected = explainer.explain_batch(rows, executor=RayExecutor(workers=2))
    dataset = ray.data.from_pandas(rows.reset_index(names="number"))
    for given in (explainer, tmp_path / "credit"):
        answers = explain_dataset(dataset, given, id="number", workers=2, batch_rows=25)
        same(answers.materialize(), expected)
    assert len(explain_dataset(dataset, explainer, "number", batch_rows=25).take(7)) == 7


@pytest.mark.slow
def test_the_rows_of_a_lost_actor_are_explained_again(cluster, explainer, rows, tmp_path):
    class Fatal(CounterfolioUDF):
        def __call__(self, batch):
            mark = tmp_path / "died"
            if not mark.exists() and batch.column("number")[0].as_py() >= 50:
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    import portfolio.api.ray_data as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CounterfolioUDF", Fatal)
        dataset = ray.data.from_pandas(rows.reset_index(names="number"))
        answers = explain_dataset(dataset, explainer, "number", workers=2, batch_rows=25)
        same(answers.materialize(), explainer.explain_batch(rows))
    assert (tmp_path / "died").exists()


@pytest.mark.slow
def test_a_message_of_an_actor_is_our_sentence(cluster, explainer, rows):
    dataset = ray.data.from_pandas(rows.drop(columns="age"))
    with pytest.raises(Exception, match="age"):
        explain_dataset(dataset, explainer, workers=1).materialize()


def documents(name):
    return list(yaml.safe_load_all((KUBERAY / name).read_text(encoding="utf-8")))


@pytest.mark.slow
def test_the_script_of_the_ray_job_runs(cluster, explainer, rows, tmp_path):
    job, scripts = documents("rayjob.yaml")
    assert (job["kind"], job["apiVersion"]) == ("RayJob", "ray.io/v1")
    name = Path(job["spec"]["entrypoint"].split()[1]).name
    (tmp_path / name).write_text(scripts["data"][name])
    explainer.save(tmp_path / "credit")
    (tmp_path / "rows").mkdir()
    rows.head(30).reset_index(names="id").to_parquet(tmp_path / "rows" / "part.parquet")
    variables = yaml.safe_load(job["spec"]["runtimeEnvYAML"])["env_vars"]
    places = {key: value.replace("/shared", str(tmp_path)) for key, value in variables.items()}
    address = ray.get_runtime_context().gcs_address
    subprocess.run(
        [sys.executable, tmp_path / name],
        env=os.environ | places | {"RAY_ADDRESS": address},
        check=True,
    )
    found = pd.read_parquet(tmp_path / "answers").sort_values("id", ignore_index=True)
    same(pa.Table.from_pandas(found), explainer.explain_batch(rows.head(30)))


def test_the_manifests_agree_with_ray_and_with_the_service():
    from ray.serve.schema import ServeDeploySchema

    from portfolio.service.on_ray import RayService

    job = documents("rayjob.yaml")[0]["spec"]["rayClusterSpec"]
    (served,) = documents("rayservice.yaml")
    assert (served["kind"], served["apiVersion"]) == ("RayService", "ray.io/v1")
    for cluster in (job, served["spec"]["rayClusterConfig"]):
        groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
        for group in groups:
            (container,) = group["template"]["spec"]["containers"]
            assert container["image"].endswith(cluster["rayVersion"])
            volumes = {each["name"] for each in group["template"]["spec"]["volumes"]}
            assert {each["name"] for each in container["volumeMounts"]} <= volumes
    config = ServeDeploySchema.model_validate(yaml.safe_load(served["spec"]["serveConfigV2"]))
    (application,) = config.applications
    assert RayService.model_validate(application.args).host == config.http_options.host
