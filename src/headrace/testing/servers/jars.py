"""Java programs by their Maven name, fetched once into the user's cache."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.errors import SourceUnavailable
from headrace.java import cache_folder, ensure_java
from headrace.spark.spark_home import spark_jars

__all__ = ["fetch_jars"]

_DONE = ".complete"


def fetch_jars(organisation: str, module: str, version: str, *, alone: bool = False) -> Path:
    """The folder with a module's jar and all it depends on; `alone`: only with its own.

    Ivy fetches them, which comes with Spark, from wherever Ivy's own settings say. Two processes
    that ask at once wait for one another.
    """
    folder = cache_folder() / "jars" / f"{module}-{version}"
    if (folder / _DONE).exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / _DONE).exists():
            print(f"Getting {module} {version} (once, this takes a minute).", file=sys.stderr)
            _retrieve((organisation, module, version), folder, alone=alone)
            (folder / _DONE).touch()
    return folder


def _retrieve(dependency: tuple[str, str, str], folder: Path, *, alone: bool) -> None:
    ivy = next(spark_jars().glob("ivy-*.jar"))
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        done = subprocess.run(
            [
                str(ensure_java() / "bin" / "java"),
                "-cp",
                str(ivy),
                "org.apache.ivy.Main",
                "-cache",
                scratch,
                "-dependency",
                *dependency,
                "-confs",
                "default",
                *(["-notransitive"] if alone else []),
                "-retrieve",
                f"{folder}/[artifact]-[revision](-[classifier]).[ext]",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        last = [line.strip() for line in done.stdout.splitlines() if line.strip()][-3:]
        raise SourceUnavailable(
            f"{':'.join(dependency)} could not be fetched: {' '.join(last)}",
            hint="It is fetched by its Maven name once; is there a way to a Maven repository?",
        )
