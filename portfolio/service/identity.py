"""Authentication of clients by API keys."""

import hashlib
import hmac
from collections.abc import Iterable

from starlette.requests import Request


def owner_of(request: Request) -> str | None:
    """Return the digest of the API key of a request; None if the service needs no key."""
    owner: str | None = getattr(request.state, "owner", None)
    return owner


def digest_of(credential: str) -> str:
    """Return the digest that identifies an API key."""
    return hashlib.sha256(credential.encode()).hexdigest()[:32]


class ApiKeys:
    """The API keys of a service."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = [(key.encode(), digest_of(key)) for key in sorted(keys)]

    def owner_of(self, credential: str) -> str | None:
        """Return the digest of a key, or None if the key is unknown."""
        # Compare with every key, so that the time does not depend on the key.
        sent = credential.encode()
        same = [owner for key, owner in self._keys if hmac.compare_digest(sent, key)]
        return same[0] if same else None
