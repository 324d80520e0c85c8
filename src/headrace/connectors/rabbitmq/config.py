"""How to reach a RabbitMQ server, as programs say it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from headrace.connectors.argument_checks import require_instance, require_whole
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["Address", "RMQConnectionConfig"]

_PORTS = {"amqp": 5672, "amqps": 5671}
_URI_HINT = "For instance amqp://user:password@host:5672/vhost; special characters as %2F."


@dataclass(frozen=True)
class Address:
    """A server, and as whom to log in."""

    host: str
    port: int
    virtual_host: str
    user: str
    password: str = field(repr=False)
    with_tls: bool = False

    def __str__(self) -> str:
        return f"RabbitMQ at {self.host}:{self.port}"


@dataclass(frozen=True)
class _Settings:
    host: str | None = None
    port: int | None = None
    virtual_host: str | None = None
    user_name: str | None = None
    password: str | None = field(default=None, repr=False)
    uri: str | None = field(default=None, repr=False)
    """Not shown: it may hold a password."""
    network_recovery_interval: int | None = None
    automatic_recovery: bool | None = None
    topology_recovery: bool | None = None
    connection_timeout: int | None = None
    requested_channel_max: int | None = None
    requested_frame_max: int | None = None
    requested_heartbeat: int | None = None
    prefetch_count: int | None = None


class RMQConnectionConfigBuilder:
    """Made step by step: a URI, or host, port, user and password."""

    def __init__(self) -> None:
        self._settings = _Settings()

    def set_port(self, port: int) -> RMQConnectionConfigBuilder:
        return self._with(port=_whole(port, "set_port"))

    def set_host(self, host: str) -> RMQConnectionConfigBuilder:
        return self._with(host=require_instance(host, str, "set_host"))

    def set_virtual_host(self, vhost: str) -> RMQConnectionConfigBuilder:
        """Unless told, `/`."""
        return self._with(virtual_host=require_instance(vhost, str, "set_virtual_host"))

    def set_user_name(self, user_name: str) -> RMQConnectionConfigBuilder:
        return self._with(user_name=require_instance(user_name, str, "set_user_name"))

    def set_password(self, password: str) -> RMQConnectionConfigBuilder:
        if not isinstance(password, str):  # whatever it is, it is not shown
            raise InvalidArgument("the password is a text", origin=calling_origin())
        return self._with(password=password)

    def set_uri(self, uri: str) -> RMQConnectionConfigBuilder:
        """`amqp://user:password@host:5672/vhost`, with TLS `amqps://…`: before all other parts."""
        if not isinstance(uri, str):
            raise InvalidArgument("the URI is a text", origin=calling_origin(), hint=_URI_HINT)
        return self._with(uri=uri)

    def set_topology_recovery_enabled(
        self, topology_recovery_enabled: bool
    ) -> RMQConnectionConfigBuilder:
        """Whether the queue is declared again after the connection was lost; unless told, it is."""
        found = require_instance(topology_recovery_enabled, bool, "set_topology_recovery_enabled")
        return self._with(topology_recovery=found)

    def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfigBuilder:
        """Seconds between signs of life; 0: none. Unless told, as the server wants it."""
        return self._with(requested_heartbeat=_whole(requested_heartbeat, "requested_heartbeat"))

    def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfigBuilder:
        """Bytes of a frame; 0: as the server wants it."""
        return self._with(requested_frame_max=_whole(requested_frame_max, "requested_frame_max"))

    def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfigBuilder:
        """Channels of a connection, of which one is used; 0: as the server wants it."""
        found = _whole(requested_channel_max, "requested_channel_max")
        return self._with(requested_channel_max=found)

    def set_network_recovery_interval(
        self, network_recovery_interval: int
    ) -> RMQConnectionConfigBuilder:
        """Milliseconds before a lost connection is made again; unless told, 100 and then longer and
        longer up to 5 seconds."""
        found = _whole(network_recovery_interval, "network_recovery_interval")
        return self._with(network_recovery_interval=found)

    def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfigBuilder:
        """For how many milliseconds a server that does not answer is tried; unless told, 60000."""
        return self._with(connection_timeout=_whole(connection_timeout, "connection_timeout"))

    def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfigBuilder:
        """Whether a lost connection is made again; unless told, it is. Otherwise the job fails, and
        its restart strategy decides."""
        found = require_instance(automatic_recovery, bool, "set_automatic_recovery")
        return self._with(automatic_recovery=found)

    def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfigBuilder:
        """How many messages the source may have that are not acknowledged; 0: any number."""
        return self._with(prefetch_count=_whole(prefetch_count, "prefetch_count"))

    def build(self) -> RMQConnectionConfig:
        given = self._settings
        if given.uri is None:
            missing = [
                f"set_{name}"
                for name in ("host", "port", "user_name", "password")
                if getattr(given, name) is None
            ]
            if missing:
                raise InvalidArgument(
                    f"RMQConnectionConfig.Builder lacks {', '.join(missing)}",
                    origin=calling_origin(),
                    hint="Call set_uri(…), or all of set_host, set_port, set_user_name and "
                    "set_password.",
                )
        config = RMQConnectionConfig(given)
        config.address()  # what cannot be read is refused here
        return config

    def _with(self, **settings: Any) -> RMQConnectionConfigBuilder:
        self._settings = replace(self._settings, **settings)
        return self


class RMQConnectionConfig:
    """Where a server is, as whom to speak with it, and what to do when it is away."""

    Builder = RMQConnectionConfigBuilder

    def __init__(self, j_rmq_connection_config: Any) -> None:
        self._settings = require_instance(
            j_rmq_connection_config,
            _Settings,
            "RMQConnectionConfig",
            hint="Make it with RMQConnectionConfig.Builder()…build().",
        )

    def get_host(self) -> str | None:
        return self._settings.host

    def get_port(self) -> int | None:
        return self._settings.port

    def get_virtual_host(self) -> str | None:
        return self._settings.virtual_host

    def get_user_name(self) -> str | None:
        return self._settings.user_name

    def get_password(self) -> str | None:
        return self._settings.password

    def get_uri(self) -> str | None:
        return self._settings.uri

    def get_network_recovery_interval(self) -> int | None:
        return self._settings.network_recovery_interval

    def is_automatic_recovery(self) -> bool | None:
        return self._settings.automatic_recovery

    def is_topology_recovery(self) -> bool | None:
        return self._settings.topology_recovery

    def get_connection_timeout(self) -> int | None:
        return self._settings.connection_timeout

    def get_requested_channel_max(self) -> int | None:
        return self._settings.requested_channel_max

    def get_requested_frame_max(self) -> int | None:
        return self._settings.requested_frame_max

    def get_requested_heartbeat(self) -> int | None:
        return self._settings.requested_heartbeat

    @property
    def prefetch_count(self) -> int:
        return self._settings.prefetch_count or 0

    def address(self) -> Address:
        """What a URI says; what it does not say, the other settings do."""
        given = self._settings
        host, port, user, password = given.host, given.port, given.user_name, given.password
        virtual_host, scheme = given.virtual_host, "amqp"
        if given.uri is not None:
            parts = urlsplit(given.uri)
            scheme = parts.scheme
            try:
                uri_port = parts.port
            except ValueError:
                uri_port = -1
            if scheme not in _PORTS or uri_port == -1 or "/" in parts.path[1:]:
                raise InvalidArgument(
                    "the URI of RabbitMQ cannot be read", origin=calling_origin(), hint=_URI_HINT
                )
            host, port = parts.hostname or host, uri_port or _PORTS[scheme]
            user = user if parts.username is None else unquote(parts.username)
            password = password if parts.password is None else unquote(parts.password)
            virtual_host = unquote(parts.path[1:]) or virtual_host
        return Address(
            host or "localhost",
            port or _PORTS[scheme],
            virtual_host or "/",
            "guest" if user is None else user,
            "guest" if password is None else password,
            with_tls=scheme == "amqps",
        )

    def __repr__(self) -> str:
        return f"RMQConnectionConfig({self.address()})"


def _whole(value: object, what: str) -> int:
    number = require_whole(value, what)
    if number < 0:
        raise InvalidArgument(
            f"{what} cannot be negative, but is {number}", origin=calling_origin()
        )
    return number
