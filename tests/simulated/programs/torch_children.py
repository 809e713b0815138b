"""A policy declared before a fork, a child that uses the GPU, and a spawned one that inherits the variables."""

import json
import os
import subprocess
import sys

import gpumem

if len(sys.argv) > 1:  # the spawned child: it makes the policy its own with the same line
    gpumem.configure(cap="2GiB")
    import torch

    kept = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    rows = [row.state for row in gpumem.verify().rows if row.framework == "torch"]
    print(json.dumps([rows, torch.cuda.get_allocator_backend()]))
    sys.exit()

gpumem.configure(cap="2GiB", allocator="async")
import torch  # noqa: E402 - the policy comes first

reading, writing = os.pipe()
child = os.fork()
if child == 0:
    kept = torch.empty(1 << 30, dtype=torch.uint8, device="cuda:1")
    try:
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda:1")
        refused = False
    except torch.OutOfMemoryError:
        refused = True
    rows = [row.state for row in gpumem.verify().rows if row.framework == "torch"]
    os.write(writing, json.dumps([refused, rows]).encode())
    os._exit(0)
os.waitpid(child, 0)
forked = json.loads(os.read(reading, 4096))
started = torch.cuda.is_initialized()
spawned = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True, check=True)
torch.empty(1, device="cuda")
late = os.fork()
if late == 0:  # CUDA was started before this fork: PyTorch has no GPU here, and gpumem says so
    report = gpumem.report()
    rows = [[row.state, row.why] for row in report.rows if row.framework == "torch"]
    os.write(writing, json.dumps(rows).encode())
    os._exit(0)
os.waitpid(late, 0)
print(
    json.dumps(
        {
            "forked": forked,
            "parent started by then": started,
            "spawned": json.loads(spawned.stdout.splitlines()[-1]),
            "late fork": json.loads(os.read(reading, 4096)),
        }
    )
)
