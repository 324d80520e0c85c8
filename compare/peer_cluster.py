"""One Flink cluster for all cases: PyFlink would start a new one for each job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_SLOTS = 16
_CLUSTER = {
    "rest.address": "localhost",
    "rest.bind-port": "0",
    "taskmanager.memory.managed.size": "256m",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
}


@contextmanager
def shared_cluster() -> Iterator[dict[str, str]]:
    """The settings with which jobs find the cluster; none on headrace, which needs none."""
    import pyflink.java_gateway as java

    if java.__name__.startswith("headrace") or not hasattr(java, "launch_gateway"):
        yield {}
        return
    jvm = java.get_gateway().jvm
    configuration = jvm.org.apache.flink.configuration.Configuration()
    for key, value in _CLUSTER.items():
        configuration.setString(key, value)
    clusters = jvm.org.apache.flink.runtime.minicluster
    builder = getattr(clusters, "MiniClusterConfiguration$Builder")()
    builder = builder.setConfiguration(configuration).setNumSlotsPerTaskManager(_SLOTS)
    cluster = clusters.MiniCluster(builder.build())
    cluster.start()
    try:
        address = cluster.getRestAddress().get()
        yield {
            "execution.target": "remote",
            "rest.address": address.getHost(),
            "rest.port": str(address.getPort()),
        }
    finally:
        cluster.close()
