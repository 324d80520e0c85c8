"""Certificates for servers of tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.servers.missing import skip_without_server


@dataclass(frozen=True)
class Certificate:
    """Files in PEM form."""

    certificate: Path
    key: Path


def certify(folder: Path, host: str, owner: str | None = None) -> Certificate:
    """A certificate that a server has made for itself; its files belong to who runs it."""
    tool = shutil.which("openssl")
    if tool is None:
        skip_without_server("there is no openssl to make a certificate with")
    made = Certificate(folder / f"{host}.crt", folder / f"{host}.key")
    asked = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={host}"]
    name = ["-addext", f"subjectAltName=DNS:{host}"]
    files = ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run([tool, *asked, *name, *files], check=True, capture_output=True)
    made.key.chmod(0o600)
    if owner is not None and os.geteuid() == 0:
        shutil.chown(made.key, owner)
    return made
