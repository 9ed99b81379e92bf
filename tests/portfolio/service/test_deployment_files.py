"""Files in deploy/: what they name exists, and the tools of each format accept them."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from portfolio.cli.serve import serve
from portfolio.service.settings import KEYS
from tests.docs.pages import ROOT

pytestmark = pytest.mark.usefixtures("forked_children")

DEPLOY = ROOT / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
CHART = DEPLOY / "helm" / "counterfolio"
VARIABLES = {f"COUNTERFOLIO_{name.upper()}" for name in serve.__annotations__} | {
    *(KEYS, "COUNTERFOLIO_CACHE", "COUNTERFOLIO_CONFIG"),
    "COUNTERFOLIO_MACHINE_CODE",
}
KUBERNETES = "1.31"


def tool(name):
    """Path of a program that a package of the extra deploy installs."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return path


def variables_in(text):
    return set(re.findall(r"COUNTERFOLIO_[A-Z_]+", text))


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml"])
def test_variables_are_options_of_serve(name):
    used = variables_in((DEPLOY / name).read_text(encoding="utf-8"))
    assert used and used <= VARIABLES


def test_the_dockerfile_has_no_findings():
    run = subprocess.run([tool("hadolint"), DOCKERFILE], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_context_contains_what_the_wheel_is_made_from():
    lines = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    included = {line[1:] for line in lines if line.startswith("!")}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert included == packages | {"pyproject.toml", "setup.py", "README.md", "LICENSE"}
    assert all((ROOT / name).exists() for name in included)


def test_the_health_check_reports_whether_the_service_answers(client):
    (command,) = re.findall(
        r"^HEALTHCHECK .* CMD (.+)$", DOCKERFILE.read_text(), flags=re.MULTILINE
    )
    program, *arguments = json.loads(command)
    assert program == "python"

    def code(port):
        environment = os.environ | {"COUNTERFOLIO_PORT": str(port)}
        return subprocess.run(
            [sys.executable, *arguments], env=environment, stderr=subprocess.DEVNULL
        ).returncode

    assert code(client.base_url.port) == 0
    assert code(1) == 1


def test_compose_accepts_its_file():
    command = [tool("docker-compose"), "-f", DEPLOY / "compose.yaml", "config", "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    services = json.loads(run.stdout)["services"]
    for service in services.values():
        for volume in service["volumes"]:
            source = Path(volume["source"])
            assert volume["type"] == "volume" or source.name == "models" or source.exists(), source
        assert all(port["host_ip"] == "127.0.0.1" for port in service["ports"])
    assert services["counterfolio"]["read_only"] and services["prometheus"]["read_only"]


def read(path):
    return yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))


def test_prometheus_and_grafana_find_each_other_and_the_service():
    services = read("compose.yaml")["services"]
    (scrape,) = read("prometheus.yaml")["scrape_configs"]
    assert scrape["static_configs"] == [{"targets": ["counterfolio:8000"]}]
    assert (
        scrape["authorization"]["credentials_file"]
        == (services["counterfolio"]["environment"]["COUNTERFOLIO_KEYS"])
    )
    provisioning = "grafana/provisioning"
    (source,) = read(f"{provisioning}/datasources/prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090" and "prometheus" in services
    (provider,) = read(f"{provisioning}/dashboards/counterfolio.yaml")["providers"]
    mounts = dict(volume.split(":")[:2] for volume in services["grafana"]["volumes"])
    assert provider["options"]["path"] == mounts["./grafana/dashboards"]


def parts_of(expression):
    """A parsed expression and everything in it."""
    yield expression
    for name in ("expr", "lhs", "rhs", "vector_selector", "args", "param"):
        inner = getattr(expression, name, None)
        for each in inner if isinstance(inner, list) else [inner]:
            if each is not None:
                yield from parts_of(each)


def names_and_labels(query):
    """Names of series in a query, and labels that it groups or filters by."""
    names, labels = set(), set()
    for part in parts_of(promql_parser.parse(query)):
        if isinstance(part, promql_parser.VectorSelector):
            names.add(part.name)
            labels |= {matcher.name for matcher in part.matchers.matchers}
        if isinstance(part, promql_parser.AggregateExpr) and part.modifier is not None:
            labels |= set(part.modifier.labels)
    return names, labels


def test_queries_are_read_to_their_leaves():
    query = 'sum by (a) (rate(x_total{b="c"}[5m])) / (y - quantile(0.5, z{d="e"}))'
    assert names_and_labels(query) == ({"x_total", "y", "z"}, {"a", "b", "d"})


def test_the_dashboard_shows_metrics_that_the_service_has(client, row):
    client.post("/v1/models/credit/explain", json={"x": row})
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    served = {sample.name for sample in samples}
    known = {"job", "instance"} | {label for sample in samples for label in sample.labels}
    dashboard = read("grafana/dashboards/counterfolio.json")
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    used = set()
    for query in queries:
        plain = query.replace("$__rate_interval", "5m").replace("$job", "counterfolio")
        assert "$" not in plain
        names, labels = names_and_labels(plain)
        assert names and names <= served, query
        assert labels <= known, query
        used |= names
    (variable,) = dashboard["templating"]["list"]
    assert variable["name"] == "job"
    assert re.fullmatch(r"label_values\((\w+), job\)", variable["query"])[1] in served
    own = {name for name in served if name.startswith("counterfolio_")}
    shown = {name for name in own if not name.endswith(("_created", "_sum"))}
    assert shown <= used | {"counterfolio_question_seconds_count"}


def test_panels_do_not_overlap():
    places = [panel["gridPos"] for panel in read("grafana/dashboards/counterfolio.json")["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24


VALUES = [
    {"keys": {"existingSecret": "keys"}},
    {
        "keys": {"existingSecret": "keys"},
        "tls": {"existingSecret": "tls"},
        "models": {"existingClaim": "models"},
        "jobs": {"existingClaim": "jobs", "database": {"existingSecret": "database"}},
        "workers": 4,
        "longest": 7.5,
        "settings": {"queries-per-day": 1_000_000, "traces": True, "log-format": "text"},
        "env": [{"name": "OTEL_SERVICE_NAME", "value": "loans"}],
        "autoscaling": {"enabled": True, "maxReplicas": 9},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "podAnnotations": {"a": "b"},
    },
    {"settings": {"oidc-issuer": "https://issuer.example", "oidc-audience": "a"}, "replicas": 3},
    {
        "keys": {"existingSecret": "keys"},
        "jobs": {"answers": "s3://bucket/jobs", "database": {"existingSecret": "database"}},
        "replicas": 3,
    },
]


def rendered(values):
    helm = pytest.importorskip("helm_python")
    with helm.Chart.load(str(CHART)) as chart:
        manifests = chart.render(values, name="loans", namespace="scores")
    documents = [yaml.safe_load(text) for path, text in manifests.items() if "NOTES" not in path]
    return {document["kind"]: document for document in documents if document}


def test_the_chart_has_the_version_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chart = read("helm/counterfolio/Chart.yaml")
    assert chart["version"] == chart["appVersion"] == project["version"]


def test_helm_finds_no_faults():
    helm = pytest.importorskip("helm_python")
    findings = helm.lint(str(CHART))
    assert findings["errors"] == []
    assert [each["error"] for each in findings["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("values", VALUES)
def test_kubernetes_accepts_the_chart(values):
    kubernetes = pytest.importorskip("kubernetes_validate")
    documents = rendered(values)
    assert {"Deployment", "Service"} <= documents.keys()
    assert ("HorizontalPodAutoscaler" in documents) == ("autoscaling" in values)
    for document in documents.values():
        kubernetes.validate(document, KUBERNETES, strict=True)
    deployment = documents["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    assert ("replicas" in deployment) != ("autoscaling" in values)
    assert not pod["enableServiceLinks"] and pod["securityContext"]["runAsNonRoot"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    used = {each["name"] for each in container["env"] if each["name"].startswith("COUNTERFOLIO_")}
    assert used <= VARIABLES


def test_values_become_settings():
    documents = rendered(VALUES[1])
    pod = documents["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    (database,) = [each["valueFrom"] for each in container["env"] if "valueFrom" in each]
    assert database == {"secretKeyRef": {"name": "database", "key": "url"}}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["jobs"] == environment["COUNTERFOLIO_JOBS"]
    assert environment["COUNTERFOLIO_QUERIES_PER_DAY"] == "1000000"
    assert environment["COUNTERFOLIO_TRACES"] == "true"
    assert environment["COUNTERFOLIO_WORKERS"] == "4"
    assert environment["COUNTERFOLIO_LONGEST"] == "7.5"
    assert environment["OTEL_SERVICE_NAME"] == "loans"
    assert pod["terminationGracePeriodSeconds"] == 23
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_pods_with_an_object_store_share_no_volume():
    pod = rendered(VALUES[3])["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert environment["COUNTERFOLIO_JOBS"] == "/jobs"
    assert environment["COUNTERFOLIO_JOB_ANSWERS"] == "s3://bucket/jobs"
    volumes = [volume for volume in pod["volumes"] if volume["name"] == "jobs"]
    assert volumes == [{"name": "jobs", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "the service needs API keys or tokens"),
        ({"workers": "two"}, "workers"),
        ({"worker": 2}, "worker"),
        (
            {"keys": {"existingSecret": "k"}, "jobs": {"existingClaim": "j"}, "replicas": 2},
            "several pods need a database for jobs",
        ),
        (
            {"keys": {"existingSecret": "k"}, "jobs": {"answers": "s3://bucket"}},
            "jobs.answers needs a database for jobs",
        ),
        ({"settings": {"oidc-issuer": ["a"]}}, "oidc-issuer"),
    ],
)
def test_wrong_values_are_refused(values, words):
    helm = pytest.importorskip("helm_python")
    with pytest.raises(helm.errors.HelmError, match=words):
        rendered(values)
