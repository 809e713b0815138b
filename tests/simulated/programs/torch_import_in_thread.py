"""PyTorch is imported by one thread while another configures; CUDA starts after both.

usage: torch_import_in_thread.py
"""

import faulthandler
import json
import sys
import threading

import gpumem

faulthandler.dump_traceback_later(60, exit=True)  # what would hang ends with the stacks of all threads


def import_torch():
    import torch  # noqa: F401


thread = threading.Thread(target=import_torch)
thread.start()
while "torch" not in sys.modules:
    pass
gpumem.configure(cap="2GiB", growth=True)
thread.join()


def use_torch():
    import torch

    kept = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return kept.nbytes == 1 << 30
    return False


refused = use_torch()
rows = {row.field: row.state for row in gpumem.verify(strict=True).rows_of("torch")}
print(json.dumps({"refused": refused, "rows": rows}))
