"""Starting Spark faster: an archive of its classes, made once, mapped by every later start.

Most of a cold start is the JVM reading and checking some twenty thousand classes. Java can write
them down in the form it wants (class data sharing) and read them back in a fraction of the time.
The archive is a cache: where there is none, or it does not fit, Java starts as usual.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark

from headrace.java import cache_folder, ensure_java, java_version
from headrace.spark.spark_home import folder_of_links, spark_jars

_MAKE = "HEADRACE_MAKE_CLASS_ARCHIVE"
_PATIENCE = 180

# Runs what most jobs run, so that its classes are the ones archived.
_WARM_UP = """
from headrace.datastream import StreamExecutionEnvironment
for _ in range(2):
    env = StreamExecutionEnvironment.get_execution_environment()
    words = env.from_collection(["a", "b", "a"])
    words.map(lambda w: (w, 1)).key_by(lambda w: w[0]).sum(1).print()
    env.execute()
    import os
    os.environ["HEADRACE_MODE"] = "stream"
from pyspark.sql import SparkSession
jvm = SparkSession.getActiveSession().sparkContext._gateway.proc
SparkSession.getActiveSession().stop()
jvm.stdin.close()
jvm.wait(timeout=120)
"""


def archive_path() -> Path:
    """Where the archive for this Java and this Spark is, or would be."""
    home = _java_home()
    release = home / "release"
    text = release.read_text(encoding="utf-8") if release.exists() else ""
    found = re.search(r'JAVA_VERSION="([^"]+)"', text)
    version = found.group(1) if found else str(java_version(home))
    # An archive knows the jars by their paths and times: each environment has its own, and one that
    # is made anew in the same place a new one.
    spark = folder_of_links() or Path(pyspark.__file__).parent
    name = f"classes-java-{version}-spark-{pyspark.__version__}-{_short(f'{home}:{spark}')}"
    return cache_folder() / f"{name}-{_short(_jars())}.jsa"


def _jars() -> str:
    if not spark_jars().is_dir():
        return ""
    with os.scandir(spark_jars()) as entries:
        found = [(entry.name, entry.stat()) for entry in entries]
    return repr(sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in found))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _java_home() -> Path:
    return Path(os.environ.get("JAVA_HOME") or ensure_java())


def jvm_options() -> list[str]:
    """The options that use the archive, or make it when told so."""
    making = os.environ.get(_MAKE)
    if making:
        return [f"-XX:ArchiveClassesAtExit={making}", "-Xlog:disable"]
    path = archive_path()
    if not path.exists() or " " in str(path):
        return []
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", "-Xlog:disable"]


def make_archive() -> bool:
    """Make the archive if there is none; says whether there is one now."""
    path = archive_path()
    if path.exists():
        return True
    make_base_archive(_java_home())
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    environment = {**os.environ, _MAKE: str(unfinished)}
    environment.pop("HEADRACE_MODE", None)
    try:
        subprocess.run(
            [sys.executable, "-c", _WARM_UP], env=environment, capture_output=True,
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        unfinished.unlink(missing_ok=True)
        return False
    if not unfinished.exists():
        return False
    unfinished.replace(path)
    for other in path.parent.glob(f"{path.stem.rpartition('-')[0]}*.jsa"):
        if other != path:  # of an environment that was here before
            other.unlink(missing_ok=True)
    return True


def make_base_archive(home: Path) -> None:
    """Make the archive of Java's own classes that ours adds to, where we unpacked Java ourselves.

    Every other Java comes with it.
    """
    if cache_folder() in home.parents and not any(home.rglob("classes*.jsa")):
        java = str(home / "bin" / "java")
        subprocess.run([java, "-Xshare:dump"], capture_output=True, check=False)


if __name__ == "__main__":
    ensure_java()
    make_archive()
