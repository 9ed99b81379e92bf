"""Verification of OpenID Connect tokens: JSON Web Tokens that an issuer has signed."""

import asyncio
import json
import logging
import time
from pathlib import Path

import httpx
import jwt

from portfolio.service.identity import digest_of
from portfolio.service.problems import Problem
from portfolio.service.settings import SettingError, TokenIssuer

log = logging.getLogger("counterfolio.service")
# Signatures by private keys only: a public key must never verify as the secret of an HMAC.
ALGORITHMS = frozenset(
    f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)
) | {"EdDSA"}
LEEWAY_S = 30  # seconds by which the clocks of issuer and service may differ
FRESH_S = 300.0  # seconds until the keys are read again
AGAIN_S = 30.0  # seconds between readings because of unknown keys
READING_S = 10.0  # maximum seconds of a reading
LARGEST = 1_000_000  # maximum bytes of the keys
Keys = dict[str | None, jwt.PyJWK]


class TokenVerifier:
    """A verifier of tokens with the public keys of their issuer."""

    def __init__(self, issuer: TokenIssuer) -> None:
        self._issuer = issuer
        self._keys: Keys = {}
        self._read_at_s = float("-inf")
        self._reading = asyncio.Lock()

    async def owner_of(self, token: str) -> str:
        """Return the digest of a token's subject; raise Problem if the token is refused."""
        try:
            key = await self._key(jwt.get_unverified_header(token).get("kid"))
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm_name],
                issuer=self._issuer.issuer,
                audience=self._issuer.audience,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud", self._issuer.claim]},
            )
        except jwt.PyJWTError as error:
            raise _refusal(str(error)) from error
        except (ValueError, RecursionError) as error:  # of JSON in the token
            raise _refusal("it is not valid") from error
        subject = claims[self._issuer.claim]
        if not isinstance(subject, str) or not subject:
            raise _refusal(f"the claim {self._issuer.claim!r} is not a text")
        return digest_of(f"{self._issuer.issuer} {subject}")

    async def _key(self, number: str | None) -> jwt.PyJWK:
        """Return the key with an id; read the keys again if they are old or the id is unknown."""
        if number not in self._keys or self._age_s() >= FRESH_S:
            async with self._reading:
                if self._age_s() >= (FRESH_S if number in self._keys else AGAIN_S):
                    await self._read()
        if not self._keys:
            words = "the keys of the token issuer cannot be read. Retry later."
            raise Problem(503, words, {"Retry-After": str(int(AGAIN_S))})
        if number is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if number not in self._keys:
            raise jwt.InvalidTokenError("the issuer has no such key")
        return self._keys[number]

    def _age_s(self) -> float:
        return time.monotonic() - self._read_at_s

    async def _read(self) -> None:
        """Read the keys of the issuer; keep the previous ones if that fails."""
        self._read_at_s = time.monotonic()
        try:
            self._keys = keys_of(await self._content())
        except (OSError, ValueError, httpx.HTTPError, jwt.PyJWTError) as error:
            reason = str(error) or type(error).__name__  # the words of a time-out are empty
            log.error("cannot read the keys of the token issuer: %s", reason)

    async def _content(self) -> bytes:
        if self._issuer.jwks_file is not None:
            return await asyncio.to_thread(self._issuer.jwks_file.read_bytes)
        assert self._issuer.jwks_url is not None
        content = b""
        async with (
            asyncio.timeout(READING_S),
            httpx.AsyncClient() as client,
            client.stream("GET", self._issuer.jwks_url) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise ValueError(f"the issuer responds with status {response.status_code}")
            async for part in response.aiter_bytes():
                content += part
                if len(content) > LARGEST:
                    raise ValueError(f"they have more than {LARGEST} bytes")
        return content


def keys_of(content: bytes) -> Keys:
    """Return the public keys for signatures in a JWK set, by id; raise an error if it has none."""
    document = json.loads(content)
    if not isinstance(document, dict):
        raise ValueError("the JWK set is not an object")
    keys = {
        key.key_id: key
        for key in jwt.PyJWKSet.from_dict(document)
        if key.algorithm_name in ALGORITHMS and key.public_key_use in (None, "sig")
    }
    if not keys:
        raise ValueError(f"the JWK set has no key for {', '.join(sorted(ALGORITHMS))}")
    return keys


def check_file(path: Path) -> None:
    """Raise SettingError if a file has no JWK set."""
    try:
        keys_of(path.read_bytes())
    except (OSError, ValueError, jwt.PyJWTError) as error:
        raise SettingError(
            "oidc_jwks_file", f"cannot read the keys in {path}: {error}. Check the file."
        ) from error


def _refusal(reason: str) -> Problem:
    reason = reason[:1].lower() + reason[1:].rstrip(".")
    words = f"the token is refused: {reason}. Send a valid token as Authorization: Bearer TOKEN."
    return Problem(401, words, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
