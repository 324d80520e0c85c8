"""A connection to RabbitMQ with a channel for one queue, and what can go wrong with it in words."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from headrace.connectors.pauses import growing_pauses, pauses_for
from headrace.connectors.rabbitmq.config import RMQConnectionConfig
from headrace.errors import HeadraceError, InvalidArgument, SourceUnavailable, Unsupported

__all__ = ["Away", "Link", "pika"]

_LOG = logging.getLogger("headrace")
_USUAL_PATIENCE_MS = 60_000
_TRY_S = 5.0
"""For how long one try may wait for a server's word."""
_LARGEST_FRAME, _MOST_CHANNELS = 131_072, 65_535


def pika() -> Any:
    """The module pika; where it is not installed, what to install."""
    try:
        import pika as module
        import pika.exceptions
    except ImportError:
        raise Unsupported(
            "RabbitMQ needs the package pika, which is not installed",
            hint="pip install 'headrace[rabbitmq]'; on a cluster, on all machines.",
        ) from None
    log = logging.getLogger("pika")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)  # errors that matter are raised, and said once
    return module


class Away(Exception):
    """The server does not answer, or the connection was lost; it may be tried again."""


class Link:
    """The queue is declared as Flink does it: durable, for everybody, until somebody deletes it."""

    def __init__(self, config: RMQConnectionConfig, queue: str):
        self.config = config
        self.queue = queue
        self.address = config.address()
        self.channel: Any = None
        self.connection: Any = None
        self._declared = False
        self._said = False

    @property
    def recovers(self) -> bool:
        """Whether a lost connection is made again."""
        return self.config.is_automatic_recovery() is not False

    def pauses(self) -> Iterator[float]:
        """Seconds before each further try, without an end."""
        interval = self.config.get_network_recovery_interval()
        if interval is None:
            yield from growing_pauses()
        while interval is not None:
            yield interval / 1000

    def open(self) -> None:
        """Try once. Raises `Away`, or says what has to be changed."""
        try:
            self.connection = pika().BlockingConnection(self._parameters())
            self.connection.add_on_connection_blocked_callback(self._say_blocked)
            self.channel = self.connection.channel()
            if not self._declared or self.config.is_topology_recovery() is not False:
                self.channel.queue_declare(self.queue, durable=True)
                self._declared = True
            self.channel.tx_select()
        except Exception as error:
            self.close()
            raise self.judge(error) from None
        if self._said:
            self._said = False
            _LOG.warning("%s answers again", self.address)

    def open_patiently(self) -> None:
        """Try as long as the timeout allows."""
        timeout_ms = self.config.get_connection_timeout()
        patience_s = (_USUAL_PATIENCE_MS if timeout_ms is None else timeout_ms) / 1000
        for pause in pauses_for(patience_s) if patience_s else growing_pauses():
            try:
                self.open()
                return
            except Away as away:
                self.say_away(away)
                time.sleep(pause)
        try:
            self.open()
        except Away as away:
            raise self.unavailable(away) from None

    def _parameters(self) -> Any:
        module, config, to = pika(), self.config, self.address
        chosen = {
            "heartbeat": config.get_requested_heartbeat(),
            "frame_max": min(config.get_requested_frame_max() or 0, _LARGEST_FRAME) or None,
            "channel_max": min(config.get_requested_channel_max() or 0, _MOST_CHANNELS) or None,
        }
        if to.with_tls:
            context = ssl.create_default_context()
            chosen["ssl_options"] = module.SSLOptions(context, to.host)
        timeout_ms = config.get_connection_timeout()
        try_s = min(timeout_ms / 1000, _TRY_S) if timeout_ms else _TRY_S
        return module.ConnectionParameters(
            to.host,
            to.port,
            to.virtual_host,
            module.PlainCredentials(to.user, to.password),
            socket_timeout=try_s,
            stack_timeout=2 * try_s,
            client_properties={"connection_name": f"headrace {self.queue}"},
            **{name: value for name, value in chosen.items() if value is not None},
        )

    def judge(self, error: Exception) -> Exception:
        """What an error means: `Away`, or what has to be changed; others are left as they are."""
        errors = pika().exceptions
        if isinstance(error, HeadraceError | Away):
            return error
        if isinstance(error, errors.ChannelClosedByBroker):
            return self._of_channel(error.reply_code, error.reply_text)
        if isinstance(error, errors.ProbableAuthenticationError | errors.AuthenticationError):
            return InvalidArgument(
                f"{self.address} does not let {self.address.user!r} in with this password",
                hint="Look at set_user_name and set_password; `guest` may only come from the "
                "server's own machine.",
            )
        if isinstance(error, errors.ProbableAccessDeniedError):
            return InvalidArgument(
                f"{self.address} has no virtual host {self.address.virtual_host!r} that "
                f"{self.address.user!r} may use",
                hint="Look at set_virtual_host; the usual one is '/'.",
            )
        if isinstance(error, ssl.SSLError):
            return self._of_tls(error)
        if isinstance(error, errors.AMQPError | OSError):
            return Away(_reason(error))
        return error

    def _of_channel(self, code: int, text: str) -> Exception:
        where = f"queue {self.queue!r} of {self.address}"
        if "timed out" in text:
            return Away("a message was not acknowledged for too long (consumer_timeout)")
        if code == 406:
            return InvalidArgument(
                f"{where} is there with other properties: {text}",
                hint="It must be durable, not exclusive and not deleted by itself. Declare it so, "
                "or name another queue.",
            )
        if code in (403, 405):
            return InvalidArgument(
                f"{where} cannot be used by {self.address.user!r}: {text}",
                hint="The user needs the rights to configure, write and read it, and nobody else "
                "may hold it exclusively.",
            )
        return SourceUnavailable(f"{where} cannot be used: {text}")

    def _of_tls(self, error: ssl.SSLError) -> Exception:
        if isinstance(error, ssl.SSLCertVerificationError):
            return InvalidArgument(
                f"the certificate of {self.address} is not to be trusted: {error.verify_message}",
                hint="Certificates of your own authority are found by the environment's "
                "SSL_CERT_FILE.",
            )
        if "WRONG_VERSION_NUMBER" in str(error):
            return InvalidArgument(
                f"{self.address} does not speak TLS at this port",
                hint="The port for amqps:// is usually 5671; without TLS it is amqp://.",
            )
        return Away(str(error))

    def unavailable(self, away: Away) -> SourceUnavailable:
        """The error of somebody who gives up."""
        return SourceUnavailable(
            f"{self.address} does not answer: {away}",
            hint="Is it there? set_connection_timeout says for how long it is tried.",
        )

    def say_away(self, away: Away) -> None:
        """Let it be known once that the server is away."""
        if not self._said:
            _LOG.warning("%s does not answer (%s); it is tried again", self.address, away)
        self._said = True

    def _say_blocked(self, connection: Any, frame: Any) -> None:
        reason = frame.method.reason
        _LOG.warning("%s takes no messages at the moment: %s", self.address, reason)

    def close(self) -> None:
        connection, self.connection, self.channel = self.connection, None, None
        if connection is not None and connection.is_open:
            with suppress(Exception):
                connection.close()


def _reason(error: BaseException) -> str:
    inner = error
    while True:
        found = getattr(inner, "exception", None) or (inner.args[0] if inner.args else None)
        if not isinstance(found, BaseException):
            break
        inner = found
    text = getattr(inner, "reply_text", None) or " ".join(map(str, inner.args))
    return text or type(inner).__name__
