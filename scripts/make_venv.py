"""Make a virtual environment with pip in it: `python make_venv.py DIRECTORY`.

Debian and its relatives split `ensurepip` off into a package of its own. Where it is missing,
pip comes from the pip that runs beside this Python, or from the package index.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path
from urllib.parse import urljoin

INDEX = "https://pypi.org/pypi/pip/json"


def make(directory: Path) -> None:
    """Make the environment, or leave nothing behind."""
    try:
        venv.create(directory, with_pip=_is_there("ensurepip"), symlinks=True, clear=True)
        if not _is_there("ensurepip"):
            install_pip(directory / "bin" / "python")
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def install_pip(python: Path) -> None:
    """Give the environment of `python` a pip without ensurepip."""
    if _is_there("pip"):
        _run(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "pip")
        return
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download_pip(Path(scratch))
        _run(str(python), str(wheel / "pip"), "install", "--quiet", "pip")


def download_pip(directory: Path) -> Path:
    """Fetch pip's wheel, which Python can run as it is."""
    with urllib.request.urlopen(INDEX, timeout=60) as answer:
        files = json.load(answer)["urls"]
    chosen = next(file for file in files if file["packagetype"] == "bdist_wheel")
    address = urljoin(INDEX, chosen["url"])  # mirrors may give it relative to the listing
    with urllib.request.urlopen(address, timeout=60) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != chosen["digests"]["sha256"]:
        raise OSError(f"{chosen['filename']} arrived damaged")
    wheel = directory / chosen["filename"]
    wheel.write_bytes(content)
    return wheel


def _is_there(module: str) -> bool:
    found = importlib.util.find_spec(module)
    return found is not None and found.origin is not None  # an empty folder has a spec too


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> int:
    """Make the environment named on the command line, or say what to type."""
    try:
        make(Path(sys.argv[1]))
    except (OSError, ValueError, LookupError, subprocess.CalledProcessError) as error:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        print(f"Could not make a virtual environment: {error}", file=sys.stderr)
        print(f"Type: sudo apt-get install -y {version}-venv", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
