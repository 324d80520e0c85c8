"""Servers from Debian's packages, installed where they are missing and root may do so."""

from __future__ import annotations

import fcntl
import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from tests.servers.missing import skip_without_server

_POLICY = Path("/usr/sbin/policy-rc.d")
"""Asked by Debian's packages before they start a server of their own."""


def require(program: Callable[[], Path | None], package: str) -> Path:
    """A program's path; its package is installed if need be. Where it cannot, no test needs it that
    could be left out."""
    found = program()
    if found is None:
        with Path(tempfile.gettempdir(), "headrace-test-packages.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be installing it
            found = program() or _installed(program, package)
    if found is None:
        skip_without_server(
            f"{package} is not installed, and cannot be: only root's apt-get could do so"
        )
    return found


def _installed(program: Callable[[], Path | None], package: str) -> Path | None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    with _NoServersStarted():
        subprocess.run([*apt, "update"], env=environ, capture_output=True, check=False)
        install = [*apt, "install", "-y", "--no-install-recommends", package]
        done = subprocess.run(install, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        skip_without_server(f"{package} could not be installed: {done.stderr.strip()[-300:]}")
    return program()


class _NoServersStarted:
    """Packages that are installed meanwhile do not start what they bring."""

    def __enter__(self) -> None:
        self._own = not _POLICY.exists()
        if self._own:
            _POLICY.write_text("#!/bin/sh\nexit 101\n")
            _POLICY.chmod(0o755)

    def __exit__(self, *_: object) -> None:
        if self._own:
            _POLICY.unlink(missing_ok=True)


def server_user(*names: str) -> str:
    """Who runs a server: databases refuse to be run by root."""
    if os.geteuid() != 0:
        return getpass.getuser()
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in (*names, "nobody") if name in known)


def server_folder(user: str) -> Path:
    """A folder that belongs to that user; pytest's are closed to others. Short, for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="hr-"))
    if os.geteuid() == 0:
        shutil.chown(folder, user)
    return folder


def as_user(user: str) -> str | None:
    """For subprocess: who runs it, None if it is us."""
    return user if os.geteuid() == 0 else None


def kill_with_children(process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    """SIGKILL for a server and all processes that it has begun, in whatever group they are. They
    are gone when it returns: a server does not begin where one of them still holds what it needs.
    """
    process.send_signal(signal.SIGSTOP)  # so that it begins no others meanwhile
    children: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.pid).children(recursive=True)
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    process.kill()
    process.wait()
    deadline = time.monotonic() + seconds
    while left := [child for child in children if not _is_gone(child)]:
        assert time.monotonic() < deadline, f"still there after SIGKILL: {left}"
        time.sleep(0.01)


def _is_gone(process: psutil.Process) -> bool:
    try:
        # Who inherits the children of the dead may be slow to hear of their end.
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def wait_for(
    answers: Callable[[], object],
    process: subprocess.Popen[bytes],
    log: Path,
    seconds: float = 120,
) -> None:
    """Until a server answers; `answers` raises while it does not."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            answers()
            return
        except Exception as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no server: {log.read_text()[-2000:]}") from error
            time.sleep(0.05)
