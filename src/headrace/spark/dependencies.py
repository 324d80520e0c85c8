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
from headrace.core.config import Configuration
from headrace.errors import InvalidArgument, JobFailed

FILES = "python.files"
REQUIREMENTS = "python.requirements"
ARCHIVES = "python.archives"
_BETWEEN, _PARAMETER = ",", "#"


@dataclass(frozen=True)
class Dependencies:
    """What the environment was told to bring along."""

    python_files: tuple[str, ...] = ()
    """Of two modules of one name that in the earlier file is found."""
    requirements: str | None = None
    requirements_cache: str | None = None
    archives: Mapping[str, str] = field(default_factory=dict)
    """Archive path by the folder name it is unpacked to."""
    cached_files: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def configured(
        configuration: Configuration, cached_files: Mapping[str, str] | None = None
    ) -> Dependencies:
        """What the options say; the methods of environments only write these."""
        requirements, _, cache = configuration.get_string(REQUIREMENTS, "").partition(_PARAMETER)
        archives: dict[str, str] = {}
        for each in _listed(configuration, ARCHIVES):
            path, _, folder = each.partition(_PARAMETER)
            archives[folder or path.rsplit("/", 1)[-1]] = path
        return Dependencies(
            _listed(configuration, FILES),
            requirements or None,
            cache or None,
            archives,
            dict(cached_files or {}),
        )

    def modules(self) -> tuple[str, ...]:
        """Where the modules are that were brought along, what comes first found first."""
        return tuple(str(_existing(file)) for file in self.python_files)


def _listed(configuration: Configuration, key: str) -> tuple[str, ...]:
    parts = configuration.get_string(key, "").split(_BETWEEN)
    return tuple(part.strip() for part in parts if part.strip())


def add_file(configuration: Configuration, path: str) -> None:
    """The last file that is added is the first one in which a module is looked for."""
    parts = (path, *_listed(configuration, FILES))
    configuration.set_string(FILES, _BETWEEN.join(parts))


def set_requirements(configuration: Configuration, path: str, cache: str | None) -> None:
    parts = (path,) if cache is None else (path, cache)
    configuration.set_string(REQUIREMENTS, _PARAMETER.join(parts))


def add_archive(configuration: Configuration, path: str, folder: str | None) -> None:
    """Of two archives unpacked to one folder the last one counts."""
    added = path if folder is None else f"{path}{_PARAMETER}{folder}"
    configuration.set_string(ARCHIVES, _BETWEEN.join((*_listed(configuration, ARCHIVES), added)))


def prepare(spark: SparkSession, dependencies: Dependencies) -> dict[str, Any]:
    """Hand the dependencies to Spark; returns what a shipment says of them."""
    modules = dependencies.modules()
    # What this program can import, its functions can: on this machine at least.
    search = [path or str(Path.cwd()) for path in sys.path]
    search += [place for place in modules if Path(place).is_dir()]
    if dependencies.requirements is not None:
        installed = _install(dependencies.requirements, dependencies.requirements_cache)
        modules = (installed, *modules)
        search.append(installed)
    for folder, archive in dependencies.archives.items():
        spark.sparkContext.addArchive(f"{_existing(archive)}#{folder}")
    return {
        "search_path": tuple(search),
        "brought": modules,
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
    """Install a requirements file into a folder of its own."""
    target = tempfile.mkdtemp(prefix="headrace-requirements-")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--target",
        target,
        "-r",
        str(_existing(requirements)),
    ]
    if cache is not None:
        command += ["--no-index", "--find-links", str(_existing(cache))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise JobFailed(
            f"the packages of {requirements} could not be installed: "
            f"{done.stderr.strip().splitlines()[-1:]}",
        )
    return target
