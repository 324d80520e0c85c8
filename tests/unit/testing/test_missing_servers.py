"""Tests whose server cannot be had are skipped, and fail where they have to run."""

from __future__ import annotations

import pytest

from tests.servers import packages
from tests.servers.missing import are_required, skip_without_server


@pytest.mark.parametrize(
    ("environ", "required"),
    [
        ({}, False),
        ({"CI": "true"}, True),
        ({"CI": "1"}, True),
        ({"CI": "false"}, False),
        ({"HEADRACE_SERVERS": "required"}, True),
        ({"HEADRACE_SERVERS": "optional", "CI": "true"}, False),
    ],
)
def test_the_environment_says_whether_servers_are_required(
    environ: dict[str, str], required: bool
) -> None:
    assert are_required(environ) is required


def test_what_is_missing_is_skipped_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SERVERS", "optional")
    with pytest.raises(pytest.skip.Exception, match="no way to it"):
        skip_without_server("no way to it")
    monkeypatch.setenv("HEADRACE_SERVERS", "required")
    with pytest.raises(pytest.fail.Exception, match="no way to it"):
        skip_without_server("no way to it")


def test_a_package_that_cannot_be_installed_fails_if_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_SERVERS", "required")
    monkeypatch.setattr(packages, "_installed", lambda program, package: None)
    with pytest.raises(pytest.fail.Exception, match="river-server is not installed"):
        packages.require(lambda: None, "river-server")
