"""Make a virtual environment with pip in it: `python make_venv.py DIRECTORY`.

Debian and its relatives split `ensurepip` off into a package of its own. Where it is missing,
pip comes from the pip that runs beside this Python, or the package is installed if we may.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
INSTALL = ("apt-get", "install", "-y", f"{VERSION}-venv")


def make(directory: Path) -> None:
    """Make the environment, or leave nothing behind."""
    if not _is_there("ensurepip") and not _is_there("pip"):
        _install_ensurepip()
    try:
        venv.create(directory, with_pip=_is_there("ensurepip"), symlinks=True, clear=True)
        if not _is_there("ensurepip"):
            python = str(directory / "bin" / "python")
            _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "pip")
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _install_ensurepip() -> None:
    if os.geteuid() != 0 or shutil.which(INSTALL[0]) is None:
        raise OSError("this Python has neither ensurepip nor pip")
    _run("apt-get", "update", "--quiet")
    _run(*INSTALL)
    importlib.invalidate_caches()


def _is_there(module: str) -> bool:
    found = importlib.util.find_spec(module)
    return found is not None and found.origin is not None  # an empty folder has a spec too


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> int:
    """Make the environment named on the command line, or say what to type."""
    try:
        make(Path(sys.argv[1]))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"Could not make a virtual environment: {error}", file=sys.stderr)
        print(f"Type: sudo {' '.join(INSTALL)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
