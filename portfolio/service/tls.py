"""Checks of the files for TLS before the service starts."""

import ssl
from pathlib import Path

from portfolio.service.settings import SettingError

LEAST = ssl.TLSVersion.TLSv1_2


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


def _refuse() -> str:
    """Raise an error in place of asking on the terminal for a password."""
    raise _EncryptedError
