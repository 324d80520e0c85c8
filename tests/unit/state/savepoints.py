"""Savepoints made without Spark, for tests of what reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.core.columnar import type_to_json
from headrace.core.types import TypeInformation, Types
from headrace.runtime.state_rows import KEYED, Item, RowForm
from headrace.runtime.subtask_state import TIMERS
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata, state_folder


@dataclass
class MadeState:
    """One state with its items, as `RowForm` takes them."""

    uid: str
    name: str
    items: list[Item]
    kind: str = "value"
    scope: str = KEYED
    declared: TypeInformation = field(default_factory=Types.PICKLED_BYTE_ARRAY)


def operator(uid: str, **more: Any) -> dict[str, Any]:
    return {"uid": uid, "name": uid.upper(), "id": 1, "level": 1, "type": "ProcessOperator",
            "generated_uid": False, "parallelism": 2, "max_parallelism": 128, "inputs": [],
            "source": False, "sink": False, **more}  # fmt: skip


def make_savepoint(
    path: Path, *states: MadeState, operators: list[dict[str, Any]] | None = None,
    sources: dict[str, Any] | None = None,
) -> Path:  # fmt: skip
    saved, files = [], {}
    for state in states:
        form = RowForm.observe(state.kind, state.scope, False, [state.items])
        folder = state_folder(state.uid, state.scope, state.name)
        file = path / folder / "part-0.parquet"
        file.parent.mkdir(parents=True)
        batch = form.encode(state.items, 128, 0)
        pq.write_table(pa.Table.from_batches([batch]), file)
        content = file.read_bytes()
        files[f"{folder}/part-0.parquet"] = [len(content), crc32(content)]
        declared = None if state.kind == TIMERS else type_to_json(state.declared)
        saved.append(SavedState(state.uid, state.name, form, declared, folder, len(state.items)))
    known = operators or [operator(uid) for uid in dict.fromkeys(s.uid for s in states)]
    metadata = SavepointMetadata(
        {"id": "1", "name": "made"}, 7, 2, known, saved, sources=sources or {}, files=files
    )
    path.mkdir(parents=True, exist_ok=True)
    metadata.write(LocalStore(path))
    return path
