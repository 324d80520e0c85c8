"""Files, packages and archives that a job's functions need in the workers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace import shim
from headrace.errors import InvalidArgument, JobFailed


@dataclass(frozen=True)
class Dependencies:
    """What the environment was told to bring along."""

    python_files: tuple[str, ...] = ()
    requirements: str | None = None
    requirements_cache: str | None = None
    archives: Mapping[str, str] = field(default_factory=dict)
    """Archive path by the folder name it is unpacked to."""
    cached_files: Mapping[str, str] = field(default_factory=dict)


def prepare(spark: SparkSession, dependencies: Dependencies) -> dict[str, Any]:
    """Hand the dependencies to Spark; returns what a shipment says of them."""
    # What this program can import, its functions can: on this machine at least.
    search = [path or str(Path.cwd()) for path in sys.path]
    for file in dependencies.python_files:
        path = _existing(file)
        search.append(str(path if path.is_dir() or path.suffix == ".zip" else path.parent))
    if dependencies.requirements is not None:
        search.append(_install(dependencies.requirements, dependencies.requirements_cache))
    for folder, archive in dependencies.archives.items():
        spark.sparkContext.addArchive(f"{_existing(archive)}#{folder}")
    return {
        "search_path": tuple(search),
        "serve_pyflink": shim.is_installed(),
        "unpacked": bool(dependencies.archives),
        "files": {name: str(_existing(path)) for name, path in dependencies.cached_files.items()},
    }


def _existing(path: str) -> Path:
    found = Path(path.removeprefix("file://")).resolve()
    if not found.exists():
        raise InvalidArgument(
            f"the job brings along {path!r}, but there is no such file",
            hint="Check the path; a relative one starts at the folder you run in.",
        )
    return found


def _install(requirements: str, cache: str | None) -> str:
    """Install a requirements file into a folder of its own, which the workers search last."""
    target = tempfile.mkdtemp(prefix="headrace-requirements-")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", target,
               "-r", str(_existing(requirements))]  # fmt: skip
    if cache is not None:
        command += ["--no-index", "--find-links", str(_existing(cache))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise JobFailed(
            f"the packages of {requirements} could not be installed: "
            f"{done.stderr.strip().splitlines()[-1:]}",
        )
    return target
