"""HTTPS: answers over TLS, and sentences about wrong files."""

import json
import socket
import ssl
import subprocess
import sys

import httpx
import pytest

from portfolio.client.client import Client
from portfolio.service.settings import SettingError, Settings
from portfolio.service.tls import check_tls, wrong_time
from tests.support.certificates import certificate
from tests.support.served import served

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_answers_are_encrypted(source, row, files, monkeypatch):
    settings = Settings(
        lambda: [source], workers=1, reload_s=0, tls_certificate=files.certificate,
        tls_key=files.key,
    )  # fmt: skip
    with served(settings, ssl.create_default_context(cafile=files.certificate)) as (_, client):
        assert client.base_url.scheme == "https"
        assert client.post("/v1/models/credit/explain", json={"x": row}).status_code == 200
        with pytest.raises(httpx.TransportError, match=r"self.signed certificate"):
            httpx.get(f"{client.base_url}/health")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{client.base_url.port}/health")
        monkeypatch.setenv("SSL_CERT_FILE", str(files.certificate))
        with Client(str(client.base_url), "credit") as explaining:
            assert explaining.explain(row).status == "optimal"
        assert _version(client.base_url.port, files) in ("TLSv1.2", "TLSv1.3")
        with pytest.raises(OSError):
            _version(client.base_url.port, files, ssl.TLSVersion.TLSv1_1)


def _version(port, files, most=ssl.TLSVersion.MAXIMUM_SUPPORTED):
    """Version of TLS that a client with a largest one agrees on."""
    context = ssl.create_default_context(cafile=files.certificate)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # which offers old versions
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = most
    plain = socket.create_connection(("127.0.0.1", port), 60)
    with plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted:
        return encrypted.version()


def test_files_that_fit_are_accepted(files):
    check_tls(files.certificate, files.key)
    check_tls(None, None)


def test_one_file_alone_is_refused(files):
    with pytest.raises(SettingError, match="needs a private key") as error:
        check_tls(files.certificate, None)
    assert error.value.option == "tls_certificate"
    with pytest.raises(SettingError, match="needs a certificate") as error:
        check_tls(None, files.key)
    assert error.value.option == "tls_key"


def test_wrong_files_are_refused_in_a_sentence(files, tmp_path):
    other = certificate(tmp_path, "other")
    with pytest.raises(SettingError, match="not a certificate and its private key"):
        check_tls(files.certificate, other.key)
    with pytest.raises(SettingError, match="not a certificate and its private key"):
        check_tls(files.key, files.key)
    with pytest.raises(SettingError, match=r"cannot read .*: No such file") as error:
        check_tls(files.certificate, tmp_path / "none.key")
    assert error.value.option == "tls_key"


def test_an_encrypted_key_is_refused_without_a_prompt(tmp_path):
    locked = certificate(tmp_path, "locked", b"password")
    with pytest.raises(SettingError, match="is encrypted"):
        check_tls(locked.certificate, locked.key)


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ((-1, 1), None),
        ((-9, -1), "certificate has expired"),
        ((1, 9), "certificate is not yet valid"),
    ],
)
def test_a_certificate_of_another_time_is_recognised(tmp_path, days, words):
    made = certificate(tmp_path, days=days)
    check_tls(made.certificate, made.key)
    assert wrong_time(made.certificate, made.key) == words


@pytest.mark.slow
def test_the_log_warns_of_an_expired_certificate(tmp_path):
    made = certificate(tmp_path, days=(-9, -1))
    arguments = ["serve", "--demo", "--port", "0", "--workers", "1"]
    arguments += ["--tls-certificate", str(made.certificate), "--tls-key", str(made.key)]
    command = [sys.executable, "-m", "counterfolio", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        lines = [json.loads(process.stderr.readline()) for _ in range(2)]
        process.terminate()
        process.communicate()
    assert lines[0]["level"] == "warning" and "certificate has expired" in lines[0]["message"]
    assert lines[1]["message"].startswith("running on https://127.0.0.1:")
