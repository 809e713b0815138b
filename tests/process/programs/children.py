"""A forked child and a spawned child: what reaches them, and what they say about it."""

import json
import multiprocessing
import os
import sys

from numbat_plugin import NumbatPlugin

import gpumem
from gpumem.plugin import register


def child(queue):
    import numbat

    numbat.start()
    rows = {f"{row.field}@{row.device}": row.state for row in gpumem.report().rows_of("numbat")}
    queue.put(
        {
            "limit": numbat.limit,
            "devices": list(numbat.device_limits.items()),
            "configured": gpumem.is_configured(),
            "rows": rows,
            "left": list(gpumem.reset()),
            "variable": os.environ.get("NUMBAT_LIMIT"),
        }
    )


if __name__ == "__main__":
    register(NumbatPlugin())
    gpumem.configure(cap="8GiB", devices={1: {"cap": "2GiB"}})
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    result = queue.get()
    process.join()
    result["parent"] = os.environ["NUMBAT_LIMIT"]
    print(json.dumps(result))
