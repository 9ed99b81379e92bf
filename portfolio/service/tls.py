"""Checks of the files for TLS before the service starts."""

import ssl
from contextlib import suppress
from pathlib import Path

from portfolio.service.settings import SettingError

LEAST = ssl.TLSVersion.TLSv1_2
WRONG_TIME = (9, 10)  # codes of OpenSSL for certificates that are not yet valid, or no longer
MESSAGES = 4  # of a handshake, at most


class _EncryptedError(Exception):
    """The private key is encrypted."""


def check_tls(certificate: Path | None, key: Path | None) -> None:
    """Raise SettingError unless both files are missing, or fit each other."""
    if certificate is None and key is None:
        return
    if certificate is None:
        raise SettingError("tls_key", "a private key needs a certificate. Give --tls-certificate.")
    if key is None:
        raise SettingError("tls_certificate", "a certificate needs a private key. Give --tls-key.")
    for option, path in (("tls_certificate", certificate), ("tls_key", key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise SettingError(
                option, f"cannot read {path}: {error.strerror}. Check the file."
            ) from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, _refuse)
    except _EncryptedError as error:
        raise SettingError(
            "tls_key", f"the private key {key} is encrypted. Give a file without a password."
        ) from error
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise SettingError(
            "tls_certificate",
            f"{certificate} and {key} are not a certificate and its private key in PEM format "
            f"({reason}). Check the files.",
        ) from error


def wrong_time(certificate: Path, key: Path) -> str | None:
    """Return OpenSSL's words about a certificate that is not valid now; None if it is valid.

    A handshake in memory compares the times, as clients do.
    """
    server, client = (
        ssl.SSLContext(protocol) for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)
    )
    server.load_cert_chain(certificate, key, _refuse)
    client.check_hostname = False
    client.load_verify_locations(certificate)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # trust it without its authority
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = (
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    try:
        for number in range(MESSAGES):
            with suppress(ssl.SSLWantReadError):
                sides[number % 2].do_handshake()
    except ssl.SSLError as error:
        if getattr(error, "verify_code", None) in WRONG_TIME:
            return str(getattr(error, "verify_message", error))
    return None


def _refuse() -> str:
    """Raise an error in place of asking on the terminal for a password."""
    raise _EncryptedError
