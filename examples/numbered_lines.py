"""A source and a sink of your own.

The source's positions are kept with the job, so after a failure it goes on where it was. The sink
writes in the workers and becomes visible only when a batch is through: nothing is lost or doubled.
"""

import json
import tempfile
from pathlib import Path

from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import (
    Boundedness,
    Committer,
    Sink,
    SinkWriter,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
)

LINES = 5


class Numbers(SplitEnumerator):
    """Two splits; a position counts the lines that were read."""

    def splits(self):
        return [Split("left"), Split("right")]

    def latest_position(self, split, start):
        return LINES


class NumberReader(SplitReader):
    def read(self, split, start, end):
        for number in range(start, end):
            yield f"{split.id} {number}"


class NumberedLines(Source):
    def boundedness(self):
        return Boundedness.BOUNDED

    def create_enumerator(self):
        return Numbers()

    def create_reader(self):
        return NumberReader()


class JsonWriter(SinkWriter):
    def __init__(self, folder, name):
        self.unfinished = Path(folder) / f".{name}"
        self.finished = Path(folder) / f"{name}.json"
        self.records = []

    def write(self, value, timestamp):
        self.records.append(value)

    def prepare_commit(self):
        self.unfinished.write_text(json.dumps(self.records))
        return [(str(self.unfinished), str(self.finished))]


class Rename(Committer):
    def commit(self, committables):
        for unfinished, finished in committables:
            if Path(unfinished).exists():  # it is gone when this was done before
                Path(unfinished).rename(finished)


class JsonFiles(Sink):
    def __init__(self, folder):
        self.folder = folder

    def create_writer(self, task):
        return JsonWriter(self.folder, f"part-{task.batch_id}-{task.partition}")

    def create_committer(self):
        return Rename()


with tempfile.TemporaryDirectory() as folder:
    env = StreamExecutionEnvironment.get_execution_environment()
    lines = env.from_source(NumberedLines(), WatermarkStrategy.no_watermarks(), "numbered lines")
    lines.sink_to(JsonFiles(folder))
    env.execute("numbered lines")
    written = sorted(
        line for file in Path(folder).glob("*.json") for line in json.loads(file.read_text())
    )
    print(len(written), "lines, from", written[0], "to", written[-1])

# 10 lines, from left 0 to right 4
