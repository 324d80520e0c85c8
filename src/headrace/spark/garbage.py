"""What Python's garbage collector looks at in a worker process.

After each task Spark has the worker collect all garbage, which means a look at every object there
is: those of the imported modules, about 40 ms of them, and with time those of all keyed state. None
of them is garbage, so the collector is told to pass over what was there before the task. What has
become garbage since then and does not go by itself, for it refers to itself, is found by the full
look that is taken now and then.
"""

from __future__ import annotations

import gc

FULL_LOOK_EVERY = 64
"""Tasks from one full look to the next."""

_tasks = 0


def look_at_everything() -> None:
    """To be called when something large is let go of: what is left of it may refer to itself."""
    gc.unfreeze()


def pass_over_what_stays() -> None:
    """To be called when a task begins: all garbage has just been collected."""
    global _tasks
    _tasks += 1
    if _tasks % FULL_LOOK_EVERY:
        gc.freeze()
    else:
        gc.unfreeze()
