"""A client of Confluent's schema registry: what reading and writing Avro needs of it."""

from __future__ import annotations

import base64
import json
import ssl
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from headrace.errors import InvalidArgument, SourceUnavailable
from headrace.formats.messages.message_format import BadMessage

__all__ = ["RegistryAccess", "SchemaRegistry"]

_TYPE = "application/vnd.schemaregistry.v1+json"
_TIMEOUT_S = 30
_NOT_FOUND, _UNAUTHORIZED, _FORBIDDEN = 404, 401, 403


@dataclass(frozen=True)
class RegistryAccess:
    """Where a registry is, and who asks; secrets stay out of its text."""

    url: str = field(repr=False)
    """One address, or several with commas between them; one may hold a name and a password."""
    user_info: str | None = field(default=None, repr=False)
    """Name and password with a colon between them."""
    token: str | None = field(default=None, repr=False)
    authority: str | None = None
    """A PEM file of the certificates that are trusted; None: the machine's own."""
    certificate: str | None = None
    """A PEM file of the client's certificate and key."""
    key_password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for each in self.urls():
            if urlsplit(each).scheme not in ("http", "https"):
                raise InvalidArgument(
                    "the schema registry's address must begin with http:// or https://",
                    hint="Correct the format's option 'url'.",
                )

    def urls(self) -> list[str]:
        """Addresses without names and passwords; the first that answers is asked."""
        return [_without_user(each.strip()) for each in self.url.split(",")]

    def headers(self) -> dict[str, str]:
        user = self.user_info
        if user is None:
            named = urlsplit(self.url.split(",")[0])
            if named.username is not None:
                user = f"{unquote(named.username)}:{unquote(named.password or '')}"
        if user is not None:
            return {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


class SchemaRegistry:
    """Asks once for each schema and remembers the answer."""

    def __init__(self, access: RegistryAccess):
        self._access = access
        self._schemas: dict[int, Any] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        handlers: list[Any] = [ProxyHandler({})]
        if any(url.startswith("https:") for url in access.urls()):
            handlers.append(HTTPSHandler(context=_tls(access)))
        self._open = build_opener(*handlers).open

    def schema(self, number: int) -> Any:
        """The schema of that number; BadMessage where there is none."""
        if number not in self._schemas:
            answer = self._ask(f"/schemas/ids/{number}")
            if answer is None:
                raise BadMessage(f"the schema registry has no schema {number}")
            if answer.get("schemaType", "AVRO") != "AVRO":
                raise BadMessage(f"schema {number} is of {answer['schemaType']}, not of Avro")
            self._schemas[number] = json.loads(answer["schema"])
        return self._schemas[number]

    def register(self, subject: str, schema: Any) -> int:
        """The number of a schema, which is there afterwards."""
        text = json.dumps(schema)
        if (subject, text) not in self._numbers:
            path = f"/subjects/{quote(subject, safe='')}/versions"
            answer = self._ask(path, {"schema": text}) or {}
            if "id" not in answer:
                raise InvalidArgument(f"the schema registry took no schema for {subject!r}")
            self._numbers[subject, text] = int(answer["id"])
        return self._numbers[subject, text]

    def _ask(self, path: str, body: Any = None) -> dict[str, Any] | None:
        """The answer; None where there is no such thing."""
        reasons = []
        for url in self._access.urls():
            try:
                return self._ask_one(url + path, body)
            except HTTPError as error:
                if error.code == _NOT_FOUND and body is None:
                    return None
                raise _refusal(url, error) from None
            except (URLError, OSError, ValueError) as error:
                reasons.append(f"{url} ({getattr(error, 'reason', error)})")
        raise SourceUnavailable(
            f"the schema registry does not answer: {', '.join(reasons)}",
            hint="Check the format's option 'url', and that the registry runs.",
        )

    def _ask_one(self, url: str, body: Any) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": _TYPE, "Content-Type": _TYPE, **self._access.headers()}
        with self._open(Request(url, data, headers), timeout=_TIMEOUT_S) as answer:
            found = json.loads(answer.read())
        if not isinstance(found, dict):
            raise BadMessage("it is no schema registry")
        return found


def _tls(access: RegistryAccess) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=access.authority)
        if access.certificate is not None:
            context.load_cert_chain(access.certificate, password=access.key_password)
    except (OSError, ssl.SSLError) as error:
        raise InvalidArgument(
            f"a certificate for the schema registry cannot be read: {error}",
            hint="'ssl.truststore.location' and 'ssl.keystore.location' name files in PEM form.",
        ) from None
    return context


def _refusal(url: str, error: HTTPError) -> InvalidArgument | SourceUnavailable:
    with error:
        try:
            said = json.loads(error.read()).get("message", "")
        except (ValueError, AttributeError, OSError):
            said = ""
    if error.code in (_UNAUTHORIZED, _FORBIDDEN):
        return InvalidArgument(
            f"the schema registry {url} does not let us in ({error.code})",
            hint="Check the format's 'basic-auth.user-info' or the bearer token.",
        )
    if error.code >= 500:
        return SourceUnavailable(f"the schema registry {url} fails: {error.code} {said}".strip())
    return InvalidArgument(f"the schema registry {url} refuses: {error.code} {said}".strip())
