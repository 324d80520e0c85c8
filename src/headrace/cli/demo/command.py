"""The options of `headrace demo`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from headrace.cli.demo.generated import run_on_generated
from headrace.cli.savepoints import explained
from headrace.connectors.kafka.client import kafka as kafka_client
from headrace.errors import InvalidArgument

__all__ = ["demo"]

_RATE, _KAFKA_RATE = 5000.0, 2000.0


def demo(
    seconds: Annotated[float, typer.Option(help="How long to run.", min=1)] = 20,
    rate: Annotated[
        float | None,
        typer.Option(help="Payments per second; 5000, or 2000 with --kafka.", min=1),
    ] = None,
    kafka: Annotated[
        bool,
        typer.Option(
            "--kafka",
            help="From topic to topic, by a Kafka broker of its own; a key kills workers.",
        ),
    ] = False,
    kills: Annotated[
        int, typer.Option(help="With --kafka: so many workers are killed by themselves.", min=0)
    ] = 0,
) -> None:
    """Find card fraud in a live stream of generated payments, on local Spark.

    With --kafka the payments come from a topic and the alerts go to another one, exactly once: the
    key k kills a worker process, and in the end what is in the topics is counted. The command
    fails if an alert is lost or doubled.
    """
    console = Console()
    with explained():
        if not kafka:
            if kills:
                raise InvalidArgument("--kills is about the demo with Kafka", hint="Add --kafka.")
            run_on_generated(console, seconds, rate or _RATE)
            return
        kafka_client()  # says what to install if it is not there
        from headrace.cli.demo.kafka import run_on_kafka  # what it imports may not be installed

        held = run_on_kafka(console, seconds, rate or _KAFKA_RATE, kills)
    if not held:
        raise typer.Exit(1)
