"""What every use of Kafka shares: the package, properties by their Java names, errors in words."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from headrace.connectors.argument_checks import require_instance
from headrace.errors import HeadraceError, InvalidArgument, SourceUnavailable, Unsupported

__all__ = [
    "LastError",
    "Properties",
    "Refused",
    "answer_timeout",
    "ask_patiently",
    "connected_to",
    "explain",
    "kafka",
    "property_text",
    "translate",
]

_SILENT = logging.Logger("headrace.librdkafka", logging.CRITICAL + 1)
"""What librdkafka logs of itself; errors that matter are raised."""
Properties = Mapping[str, str]
T = TypeVar("T")
_ANSWER_MS = "default.api.timeout.ms"
_ANSWER_AFTER_MS = 15_000

_OTHER_NAMES = {
    "client.id.prefix": "client.id",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
}
"""What librdkafka calls otherwise than Kafka's Java client."""
_OF_JAVA_ALONE = frozenset(
    (
        _ANSWER_MS,
        "auto.include.jmx.reporter",
        "buffer.memory",
        "commit.offsets.on.checkpoint",
        "exclude.internal.topics",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.discovery.interval.ms",
        "reconnect.backoff.ms.max",
        "register.consumer.metrics",
        "register.producer.metrics",
        "value.deserializer",
        "value.serializer",
    )
)
"""What has no meaning for librdkafka, or is read by headrace itself."""
_STORES = {
    "ssl.truststore.location": "ssl.ca.location, a file in PEM",
    "ssl.truststore.password": "ssl.ca.location, a file in PEM that needs no password",
    "ssl.truststore.type": "ssl.ca.location, a file in PEM",
    "ssl.keystore.location": "ssl.certificate.location and ssl.key.location, files in PEM",
    "ssl.keystore.password": "ssl.certificate.location and ssl.key.location, files in PEM, and "
    "ssl.key.password if the key needs one",
    "ssl.keystore.type": "ssl.certificate.location and ssl.key.location, files in PEM",
    "sasl.login.callback.handler.class": "sasl.oauthbearer.method=oidc and its properties",
}
_CLASSES = {
    "interceptor.classes": "Do it in a function before the sink or behind the source.",
    "partitioner.class": "Choose the partition in KafkaRecordSerializationSchema.to_record, or "
    "with 'sink.partitioner' of a table.",
}
"""What would change records or where they go."""
_HOST_CHECK = "ssl.endpoint.identification.algorithm"
_NO_ID = "Failed to acquire idempotence PID"
_LOGIN = re.compile(r'(username|password)\s*=\s*(?:"([^"]*)"|\'([^\']*)\'|([^\s;]+))')


def kafka() -> ModuleType:
    """The module confluent_kafka; where it is not installed, what to install."""
    try:
        import confluent_kafka
    except ImportError:
        raise Unsupported(
            "Kafka needs the package confluent-kafka, which is not installed",
            hint="pip install 'headrace[kafka]'; on a cluster, on all machines.",
        ) from None
    return confluent_kafka


def translate(properties: Properties) -> dict[str, Any]:
    """Properties of Kafka's Java client as librdkafka takes them."""
    found: dict[str, Any] = {}
    for name, value in properties.items():
        if name in _STORES:
            raise Unsupported(
                f"the property {name} is about files of Java",
                hint=f"Set {_STORES[name]}.",
            )
        if name in _CLASSES and value:
            raise Unsupported(
                f"the property {name} is about classes of Java ({value})", hint=_CLASSES[name]
            )
        if name == "sasl.jaas.config":
            found.update(_read_login(value))
        elif name == _HOST_CHECK:
            found[name] = value or "none"
        elif name not in _OF_JAVA_ALONE and name not in _CLASSES:
            found[_OTHER_NAMES.get(name, name)] = value
    return {"logger": _SILENT, **found}


def _read_login(text: str) -> dict[str, str]:
    login = {each[1]: each[2] or each[3] or each[4] or "" for each in _LOGIN.finditer(text)}
    if login.keys() != {"username", "password"}:
        raise Unsupported(
            "sasl.jaas.config names no username and password",
            hint="Other ways to log in have properties of their own: sasl.mechanism=GSSAPI with "
            "sasl.kerberos.…, OAUTHBEARER with sasl.oauthbearer.….",
        )
    return {"sasl.username": login["username"], "sasl.password": login["password"]}


def property_text(key: object, value: object) -> dict[str, str]:
    """A property as a program gives it, as text."""
    name = require_instance(key, str, "set_property")
    return {name: str(value).lower() if isinstance(value, bool) else str(value)}


def answer_timeout(properties: Properties) -> float:
    """How many seconds a broker may take to answer."""
    return float(properties.get(_ANSWER_MS, _ANSWER_AFTER_MS)) / 1000


class Refused(SourceUnavailable):
    """Kafka is there and does not give what was asked for: time alone does not change that."""


class LastError:
    """Hears what a client says about its connections, for the message when it fails."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.client: Any = None
        """Who is asked what it has heard meanwhile; nothing may be read through it."""

    def __call__(self, error: Any) -> None:
        text = str(error.str())
        if text not in self.texts:
            self.texts.append(text)
        del self.texts[:-4]

    def ask(self) -> None:
        """Hear what has come up to now."""
        if self.client is not None:
            self.client.poll(0)


@contextmanager
def connected_to(servers: str, heard: LastError | None = None) -> Iterator[None]:
    """What Kafka's client raises inside becomes an error that says where and what to do."""
    try:
        yield
    except kafka().KafkaException as error:
        if heard is not None:
            heard.ask()
        raise explain(error.args[0], servers, heard) from None


def ask_patiently(ask: Callable[[], T], patience: float) -> T:
    """What Kafka answers; a broker that has just begun to look after a group needs a moment."""
    deadline = time.monotonic() + patience
    codes = kafka().KafkaError
    passing = (
        codes.NOT_COORDINATOR,
        codes.COORDINATOR_LOAD_IN_PROGRESS,
        codes.COORDINATOR_NOT_AVAILABLE,
        codes.UNKNOWN_TOPIC_OR_PART,
        codes._WAIT_COORD,
    )
    while True:
        try:
            return ask()
        except kafka().KafkaException as error:
            if error.args[0].code() not in passing or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def explain(error: Any, servers: str, heard: LastError | None = None) -> HeadraceError:
    """An error of Kafka's client in words."""
    codes = kafka().KafkaError
    code = error.code()
    texts = [] if heard is None else heard.texts
    told = next((text for text in texts if "uthenticat" in text or "SSL" in text), None)
    if code == codes._INVALID_ARG:
        return InvalidArgument(
            f"Kafka's client does not take its properties: {error.str()}",
            hint="Names are those of Kafka's Java client or of librdkafka.",
        )
    if code in (codes._AUTHENTICATION, codes.SASL_AUTHENTICATION_FAILED) or (
        told is not None and "uthenticat" in told
    ):
        return Refused(
            f"Kafka at {servers} refuses the login: {told or error.str()}",
            hint="Check sasl.mechanism, sasl.username and sasl.password (or sasl.jaas.config).",
        )
    if code == codes.CLUSTER_AUTHORIZATION_FAILED or _NO_ID in error.str():
        return Refused(
            f"Kafka at {servers} does not let this client write in order and once: {error.str()}",
            hint="It needs write on the topic, before Kafka 2.8 also idempotent write on the "
            "cluster. enable.idempotence=false does without, and may change the order.",
        )
    if code in (
        codes.TOPIC_AUTHORIZATION_FAILED,
        codes.GROUP_AUTHORIZATION_FAILED,
        codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ):
        return Refused(
            f"Kafka at {servers} does not allow this: {error.str()}",
            hint="docs/connectors/kafka.md says which rights a job needs.",
        )
    if code in (codes._TRANSPORT, codes._TIMED_OUT, codes._ALL_BROKERS_DOWN, codes._RESOLVE):
        said = told or next(iter(reversed(texts)), error.str())
        return SourceUnavailable(
            f"no Kafka broker answers at {servers}: {said}",
            hint="Is it running, is the address right, and does security.protocol fit the port?",
        )
    return SourceUnavailable(f"Kafka at {servers}: {error.str()}")
