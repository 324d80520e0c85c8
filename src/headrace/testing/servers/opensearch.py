"""One OpenSearch node on loopback, as a process of its own.

OpenSearch has no main class that starts a node from jars alone, and a Java runtime need not have a
compiler: py4j, which comes with PySpark, calls what is needed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from headrace.errors import JobFailed
from headrace.java import ensure_java
from headrace.spark.spark_home import spark_jars
from headrace.testing.servers.jars import fetch_jars
from headrace.testing.servers.ports import free_ports
from headrace.testing.servers.server import Server

__all__ = ["OpenSearchServer"]

VERSION = "2.19.1"
_PARTS = (
    ("org.opensearch", "opensearch", VERSION),
    ("org.opensearch.plugin", "transport-netty4-client", VERSION),
    ("org.apache.logging.log4j", "log4j-core", "2.21.0"),
)
_JAVA = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_SETTINGS = {
    "cluster.name": "headrace",
    "node.name": "headrace",
    "discovery.type": "single-node",
    "network.host": "127.0.0.1",
    "transport.type": "netty4",
    "http.type": "netty4",
    "node.processors": "1",
    "cluster.routing.allocation.disk.threshold_enabled": "false",
}
_ANSWERS_WITHIN_S = 150.0


class OpenSearchServer(Server):
    """A server that is there until `stop`; `kill` and `start` let a test take it away meanwhile.

    Nobody but this machine can reach it. It ends with the process that has started it.
    """

    def __init__(self, folder: Path | None = None):
        """`folder`: where its data goes; None: somewhere that is gone afterwards."""
        self._own = folder is None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="headrace-opensearch-"))
        self._port, self._transport = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, with what it had before; returns when it answers."""
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
        from py4j.protocol import Py4JError

        jars = [jar for part in _PARTS for jar in sorted(fetch_jars(*part).glob("*.jar"))]
        with (self._folder / "log").open("a") as log:
            port, token, self._process = launch_gateway(
                jarpath=str(next(spark_jars().glob("py4j-*.jar"))),
                classpath=":".join(map(str, jars)),
                javaopts=list(_JAVA),
                java_path=str(ensure_java() / "bin" / "java"),
                die_on_exit=True,
                enable_auth=True,
                redirect_stdout=log,
                redirect_stderr=log,
                create_new_process_group=True,
                return_proc=True,
            )
        parameters = GatewayParameters(port=port, auth_token=token, enable_memory_management=False)
        gateway = JavaGateway(gateway_parameters=parameters)
        try:
            _start_node(gateway, self._all_settings())
            self.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=120s")
        except (Py4JError, OSError) as error:
            said = str(error)[:2000]  # asks the process
            self.stop()
            raise JobFailed(f"OpenSearch did not start: {said}") from None
        finally:
            gateway.close()

    def _all_settings(self) -> dict[str, str]:
        return {
            **_SETTINGS,
            "path.home": str(self._folder),
            "http.port": str(self._port),
            "transport.port": str(self._transport),
        }

    def request(self, method: str, path: str, content: Any = None) -> Any:
        """What it answers to a request, as JSON."""
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(
            self.url + path, body, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=_ANSWERS_WITHIN_S) as answer:
            return json.loads(answer.read())

    def documents(self, index: str) -> dict[str, Any]:
        """All documents of an index by their id."""
        self.request("POST", f"/{index}/_refresh")
        found = self.request("POST", f"/{index}/_search", {"size": 10_000})
        return {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}

    def kill(self) -> None:
        """Let it die at once, as a machine does that loses its power."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def stop(self) -> None:
        self.kill()
        if self._own:
            shutil.rmtree(self._folder, ignore_errors=True)


def _start_node(gateway: Any, settings: dict[str, str]) -> None:
    """A node with the plugin for HTTP; its constructor is meant for tests, and closed to others."""
    java, search = gateway.jvm.java, gateway.jvm.org.opensearch
    builder = search.common.settings.Settings.builder()
    for name, value in settings.items():
        builder.put(name, value)
    prepare = search.node.InternalSettingsPreparer.prepareEnvironment
    environment = prepare(builder.build(), java.util.HashMap(), None, None)
    named = java.lang.Class.forName
    plugins = java.util.Collections.singletonList(named("org.opensearch.transport.Netty4Plugin"))
    kinds = (named("org.opensearch.env.Environment"), named("java.util.Collection"))
    types = _array(gateway, java.lang.Class, *kinds, java.lang.Boolean.TYPE)
    constructor = named("org.opensearch.node.Node").getDeclaredConstructor(types)
    constructor.setAccessible(True)
    constructor.newInstance(_array(gateway, java.lang.Object, environment, plugins, False)).start()


def _array(gateway: Any, kind: Any, *values: Any) -> Any:
    made = gateway.new_array(kind, len(values))
    for at, value in enumerate(values):
        made[at] = value
    return made
