"""The folder that a local Spark is started from.

PySpark comes with its Python files twice: as an installed package, and packed into a zip that Spark
puts before everything else on the path of each Python process it starts. Out of the zip they are
compiled anew each time, which takes longer than all else such a process does before its work; a
stream starts two of them one after the other. Workers on this machine have the installed package,
so Spark is started from a folder of links to its own that leaves the zip out.
"""

from __future__ import annotations

import hashlib
import os
import site
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pyspark

from headrace.java import cache_folder

_VARIABLE = "SPARK_HOME"
_LINKED = ("bin", "conf", "jars", "RELEASE")


def spark_jars() -> Path:
    """Where the jars are that PySpark comes with."""
    return Path(pyspark.__file__).parent / "jars"


@contextmanager
def without_packed_python() -> Iterator[None]:
    """A Spark that is started inside imports its Python files from where they are installed."""
    home = folder_of_links()
    if home is None:
        yield
        return
    os.environ[_VARIABLE] = str(home)
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)  # another thread may have done so


def folder_of_links() -> Path | None:
    """The folder of links, or None where the zip is needed or may be."""
    installed = Path(pyspark.__file__).parent
    if (
        _VARIABLE in os.environ  # somebody's choice
        or os.environ.get("PYSPARK_PYTHON", sys.executable) != sys.executable
        or not (installed / "python" / "lib" / "pyspark.zip").exists()
        or not (installed / "bin" / "spark-submit").exists()
        or not all(map(_is_found_by_every_process, ("pyspark", "py4j")))
    ):
        return None
    mark = hashlib.sha256(str(installed).encode()).hexdigest()[:8]
    home = cache_folder() / f"spark-{pyspark.__version__}-{mark}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        for name in _LINKED:
            if (installed / name).exists() and not (home / name).exists():
                with suppress(FileExistsError):  # another process is as far
                    (home / name).symlink_to(installed / name)
    except OSError:  # no place for it, or a system without links
        return None
    return home


def _is_found_by_every_process(package: str) -> bool:
    """Whether this interpreter finds a package without being told where by the program."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return False
    places = [*site.getsitepackages(), site.getusersitepackages()]
    places += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    where = Path(spec.origin).resolve().parent.parent
    return any(place and Path(place).resolve() == where for place in places)
