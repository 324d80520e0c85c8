"""Speaking with Elasticsearch or OpenSearch over HTTP."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from headrace.connectors.tls_errors import is_of_tls
from headrace.errors import InvalidArgument, SourceUnavailable
from headrace.origin import calling_origin

__all__ = ["Access", "Answer", "Away", "Cluster", "Host", "parse_host"]

_CONNECT_S, _ANSWER_S = 10.0, 60.0
_PORT = 9200


class Away(Exception):
    """Nobody answers, or not in time. What was sent may have been done."""


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    port: int = _PORT
    encrypted: bool = False

    def __str__(self) -> str:
        return f"{'https' if self.encrypted else 'http'}://{self.name}:{self.port}"


def parse_host(text: object) -> Host:
    """An address such as `http://host:9200` or `host:9200`."""
    if isinstance(text, str) and text.strip():
        whole = text.strip()
        parts = urlsplit(whole if "://" in whole else f"http://{whole}")
        with suppress(ValueError):  # a port that is no number
            nothing_else = not (parts.path.strip("/") or parts.query or parts.username)
            if parts.scheme in ("http", "https") and parts.hostname and nothing_else:
                return Host(parts.hostname, parts.port or _PORT, parts.scheme == "https")
        if parts.username:
            raise InvalidArgument(
                "the address of a host has no user and password in it",
                origin=calling_origin(),
                hint="Set username and password by themselves.",
            )
    raise InvalidArgument(
        f"{text!r} is no address of a host",
        origin=calling_origin(),
        hint="Write 'http://host:9200' or 'https://host:9200'.",
    )


@dataclass(frozen=True)
class Access:
    """Where a cluster is, and as whom to speak with it."""

    hosts: tuple[Host, ...]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    path_prefix: str = ""
    connect_s: float = _CONNECT_S
    answer_s: float = _ANSWER_S
    checks_certificates: bool = True

    def __str__(self) -> str:
        return ", ".join(map(str, self.hosts))

    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
        if self.username is not None:
            login = f"{self.username}:{self.password or ''}".encode()
            headers["Authorization"] = f"Basic {b64encode(login).decode()}"
        return headers


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: bytes

    def content(self) -> Any:
        """What it says as JSON; None if it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    def reason(self) -> str:
        """Why a request was refused, as far as the answer says it."""
        content = self.content()
        error = content.get("error") if isinstance(content, dict) else None
        if isinstance(error, dict):
            return str(error.get("reason") or error.get("type"))
        return str(error or self.text[:200].decode(errors="replace").strip() or "no reason given")


class Cluster:
    """One connection to one of the hosts, made when it is needed; after a failure to the next."""

    def __init__(self, access: Access):
        self.access = access
        self._headers = access.headers()
        self._path = "/".join(["", *filter(None, access.path_prefix.split("/")), ""])
        self._turn = 0
        self._connection: http.client.HTTPConnection | None = None

    @property
    def host(self) -> Host:
        return self.access.hosts[self._turn % len(self.access.hosts)]

    def post(self, path: str, body: bytes) -> Answer:
        """Raises Away; the next call asks the next host."""
        host = self.host
        try:
            if self._connection is None:
                self._connection = self._connect(host)
            self._connection.request("POST", self._path + path, body, self._headers)
            with self._connection.getresponse() as response:
                return Answer(response.status, response.read())
        except socket.gaierror as error:
            self._give_up()
            self._refuse_if_unknown(error, host)
            raise Away(f"{host}: {error.strerror}") from None
        except (OSError, http.client.HTTPException) as error:
            self._give_up()
            self._refuse_if_distrusted(error, host)
            raise Away(f"{host}: {error or type(error).__name__}") from None

    def _connect(self, host: Host) -> http.client.HTTPConnection:
        if host.encrypted:
            context = ssl.create_default_context()
            if not self.access.checks_certificates:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                host.name, host.port, timeout=self.access.connect_s, context=context
            )
        else:
            made = http.client.HTTPConnection(host.name, host.port, timeout=self.access.connect_s)
        made.connect()
        made.sock.settimeout(self.access.answer_s)
        return made

    def _refuse_if_unknown(self, error: socket.gaierror, host: Host) -> None:
        """A name that nobody knows will not be known soon, unless the resolver itself is away."""
        if error.errno == socket.EAI_NONAME and len(self.access.hosts) == 1:
            raise InvalidArgument(
                f"there is no host {host.name!r}", hint="Look at the address of the cluster."
            ) from None

    def _refuse_if_distrusted(self, error: Exception, host: Host) -> None:
        """No waiting makes a port speak TLS, or a certificate good."""
        if is_of_tls(error) and len(self.access.hosts) == 1:
            raise SourceUnavailable(
                f"{host} cannot be spoken with by TLS: {error}",
                hint="Does it speak TLS at this port (else it is http://), is its certificate for "
                "this host, and does the system trust who signed it (SSL_CERT_FILE)?",
            ) from None

    def _give_up(self) -> None:
        self.close()
        self._turn += 1

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
