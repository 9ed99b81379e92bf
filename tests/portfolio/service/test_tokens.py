"""OpenID Connect tokens that are accepted and refused, and the clients that they identify."""

import base64
import hashlib
import hmac
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.cli.app import app as commands
from portfolio.service import tokens as module
from portfolio.service.app import create_app
from portfolio.service.identity import digest_of
from portfolio.service.settings import SettingError, Settings, TokenIssuer
from tests.support.job_rows import value_of
from tests.support.served import Unserved

pytestmark = pytest.mark.usefixtures("forked_children")

KEY = "a-key-of-twenty-signs"
ISSUER, AUDIENCE = "https://issuer.example", "counterfolio"
PATH = "/v1/models"


@pytest.fixture(scope="module")
def private():
    return {
        "rsa": rsa.generate_private_key(65537, 2048),
        "ec": ec.generate_private_key(ec.SECP256R1()),
    }


@pytest.fixture(scope="module")
def keys(private):
    """A JWK set of both keys, and of a secret."""
    return {
        "keys": [
            RSAAlgorithm.to_jwk(private["rsa"].public_key(), as_dict=True)
            | {"kid": "rsa", "alg": "RS256", "use": "sig"},
            ECAlgorithm.to_jwk(private["ec"].public_key(), as_dict=True) | {"kid": "ec"},
            {"kty": "oct", "kid": "secret", "alg": "HS256", "k": encoded(b"s" * 32)},
        ]
    }


@pytest.fixture
def file(keys, tmp_path):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(keys))
    return path


@pytest.fixture
def client(source, file):
    return client_of(source, TokenIssuer(ISSUER, AUDIENCE, jwks_file=file))


def client_of(source, tokens, **more):
    settings = Settings(
        lambda: [source], workers=1, reload_s=0, keys=frozenset({KEY}), tokens=tokens, **more
    )
    return Unserved(create_app(settings))


def encoded(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def claims(**changes):
    usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": time.time() + 60}
    return {name: value for name, value in (usual | changes).items() if value is not None}


def status(client, token, words=""):
    answer = client.get(PATH, headers={"authorization": f"Bearer {token}"})
    if answer.status_code != 200:
        assert answer.headers["content-type"] == "application/problem+json"
        assert words in answer.json()["detail"], answer.text
    return answer.status_code


@pytest.mark.parametrize(("name", "algorithm"), [("rsa", "RS256"), ("ec", "ES256")])
def test_tokens_of_the_issuer_and_keys_are_accepted(client, private, name, algorithm):
    token = jwt.encode(claims(), private[name], algorithm, headers={"kid": name})
    assert status(client, token) == status(client, KEY) == 200
    assert status(client, "x" * 20, "the API key is missing or wrong") == 401


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exp": time.time() - 3600}, "signature has expired"),
        ({"exp": None}, 'missing the "exp" claim'),
        ({"aud": "another"}, "audience doesn't match"),
        ({"aud": None}, 'missing the "aud" claim'),
        ({"iss": "https://other.example"}, "invalid issuer"),
        ({"iss": None}, 'missing the "iss" claim'),
        ({"sub": None}, 'missing the "sub" claim'),
        ({"sub": ""}, "the claim 'sub' is not a text"),
        ({"sub": 7}, "subject must be a string"),
        ({"nbf": time.time() + 3600}, "not yet valid"),
    ],
)
def test_wrong_claims_are_refused(client, private, changes, words):
    token = jwt.encode(claims(**changes), private["rsa"], "RS256", headers={"kid": "rsa"})
    assert status(client, token, words) == 401


def signed_by_hand(header, payload, secret):
    text = ".".join(encoded(json.dumps(part).encode()) for part in (header, payload))
    signature = hmac.new(secret, text.encode(), hashlib.sha256).digest() if secret else b""
    return f"{text}.{encoded(signature)}"


def test_no_algorithm_and_confused_keys_are_refused(client, private):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = private["rsa"].public_key().public_bytes(serialization.Encoding.PEM, form)
    for kid in ("rsa", "ec"):
        for algorithm in ("none", "None", "NONE", "nOnE"):
            token = signed_by_hand({"alg": algorithm, "kid": kid}, claims(), b"")
            assert status(client, token, "the token is refused") == 401
        token = signed_by_hand({"alg": "HS256", "kid": kid, "typ": "JWT"}, claims(), public)
        assert status(client, token, "alg value is not allowed") == 401
    # A secret in the set of keys is not a public key.
    token = signed_by_hand({"alg": "HS256", "kid": "secret"}, claims(), b"s" * 32)
    assert status(client, token, "the issuer has no such key") == 401


def test_other_keys_algorithms_and_contents_are_refused(client, private):
    stranger = rsa.generate_private_key(65537, 2048)
    wrong = [
        jwt.encode(claims(), stranger, "RS256", headers={"kid": "rsa"}),
        jwt.encode(claims(), private["rsa"], "PS256", headers={"kid": "rsa"}),
        jwt.encode(claims(), private["rsa"], "RS256", headers={"kid": "ec"}),
        jwt.encode(claims(), private["rsa"], "RS256", headers={"kid": "nobody"}),
        jwt.encode(claims(), private["rsa"], "RS256"),
        "a.b.c", "..", "x" * 30 + "..",
        f"{encoded(b'[' * 5000)}.e30.e30", f"{encoded(b'7')}.e30.e30",
        f"{encoded(json.dumps({'alg': 'RS256', 'kid': ['rsa']}).encode())}.e30.e30",
    ]  # fmt: skip
    good = jwt.encode(claims(), private["rsa"], "RS256", headers={"kid": "rsa"})
    head, _, signature = good.split(".")
    wrong.append(f"{head}.{encoded(json.dumps(claims(sub='bob')).encode())}.{signature}")
    for token in wrong:
        assert status(client, token, "the token is refused") == 401
    assert status(client, good) == 200


def test_jobs_belong_to_the_subject(source, file, private, row, tmp_path):
    tokens = TokenIssuer(ISSUER, AUDIENCE, jwks_file=file, claim="client")
    client = client_of(source, tokens, jobs=tmp_path / "jobs")

    def header(name, issued=0):
        payload = claims(sub=None, client=name, exp=time.time() + 60 + issued)
        token = jwt.encode(payload, private["ec"], "ES256", headers={"kid": "ec"})
        return {"authorization": f"Bearer {token}"}

    batch = "/v1/models/credit/batch"
    path = client.request("POST", batch, json={"rows": [row]}, headers=header("ann"))
    place = path.headers["location"]
    assert client.get(place, headers=header("ann", 1)).status_code == 200
    assert client.get(place, headers=header("bob")).status_code == 404
    assert client.get(place, headers={"authorization": f"Bearer {KEY}"}).status_code == 404
    number = place.rpartition("/")[2]
    assert value_of(tmp_path / "jobs", number, "owner") == digest_of(f"{ISSUER} ann")


class Issuer(BaseHTTPRequestHandler):
    """An issuer that counts how often its keys are read."""

    content, count, code = b"", 0, 200

    def do_GET(self):
        type(self).count += 1
        self.send_response(self.code)
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_):
        pass


@contextmanager
def issuing(content, code=200):
    kind = type("Served", (Issuer,), {"content": content, "code": code})
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield kind, f"http://127.0.0.1:{server.server_port}/keys"
        finally:
            server.shutdown()


def test_keys_are_read_once_and_again_for_a_new_key(source, keys, private, monkeypatch):
    rsa_key, ec_key, _ = keys["keys"]
    tokens = {
        name: jwt.encode(claims(), private[name], algorithm, headers={"kid": name})
        for name, algorithm in (("rsa", "RS256"), ("ec", "ES256"))
    }
    with issuing(json.dumps({"keys": [rsa_key]}).encode()) as (issuer, url):
        client = client_of(source, TokenIssuer(ISSUER, AUDIENCE, url))
        assert [status(client, tokens["rsa"]) for _ in range(3)] == [200] * 3
        assert status(client, tokens["ec"], "the issuer has no such key") == 401
        assert issuer.count == 1  # unknown keys are not read at once again
        issuer.content = json.dumps({"keys": [rsa_key, ec_key]}).encode()
        monkeypatch.setattr(module, "AGAIN_S", 0.0)
        assert status(client, tokens["ec"]) == 200 and issuer.count == 2
        monkeypatch.setattr(module, "FRESH_S", 0.0)
        issuer.code = 500
        assert status(client, tokens["ec"]) == 200  # with the previous keys
        assert issuer.count == 3


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", 500), (b"no JSON", 200), (b"[]", 200), (b'{"keys": []}', 200), (b" " * 2_000_000, 200),
     (b"", 302)],
)  # fmt: skip
def test_keys_that_cannot_be_read_are_reported(source, private, content, code, caplog):
    token = jwt.encode(claims(), private["rsa"], "RS256", headers={"kid": "rsa"})
    with issuing(content, code) as (_, url):
        client = client_of(source, TokenIssuer(ISSUER, AUDIENCE, url))
        answer = client.get(PATH, headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 503 and answer.headers["retry-after"] == "30"
        assert answer.json()["detail"].startswith("the keys of the token issuer cannot be read")
        (line,) = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
        reason = line.removeprefix("cannot read the keys of the token issuer: ")
        assert reason and reason != line and "\n" not in reason and url not in reason
        assert client.get(PATH, headers={"authorization": f"Bearer {KEY}"}).status_code == 200


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"jwks_url": "http://issuer.example/keys"}, "is not an HTTPS address"),
        ({"jwks_url": "ftp://127.0.0.1/keys"}, "is not an HTTPS address"),
        ({}, "must be given once"),
        ({"jwks_url": "https://issuer.example", "jwks_file": "x"}, "must be given once"),
    ],
)
def test_an_issuer_needs_safe_keys(given, words):
    with pytest.raises(SettingError, match=words):
        TokenIssuer(ISSUER, AUDIENCE, **given)


def test_wrong_options_are_refused_in_a_sentence(file, tmp_path):
    usual = ["--oidc-issuer", ISSUER, "--oidc-audience", AUDIENCE]
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"keys": [{"kty": "oct", "alg": "HS256", "k": "c2VjcmV0"}]}')
    for options, words in (
        (
            [*usual, "--oidc-jwks-file", wrong],
            f"-jwks-file: cannot read the keys in {wrong}:",
        ),
        ([*usual, "--oidc-jwks-file", tmp_path], "-jwks-file: cannot read the keys in"),
        ([*usual, "--oidc-jwks-url", "http://a.example"], "--oidc-jwks-url: 'http://a.example' is"),
        (usual, "--oidc-issuer: the keys of the issuer must be given once."),
        (usual[:2], "--oidc-issuer: an issuer needs an audience."),
        (["--oidc-audience", AUDIENCE], "need --oidc-issuer."),
        (["--ray", *usual], "--ray does not support --oidc-issuer and --oidc-audience."),
    ):
        error = CliRunner().invoke(commands, ["serve", "--demo", *map(str, options)]).exception
        assert isinstance(error, InputError) and words in str(error), error
