"""32 threads use the GPU first, at the same moment, and 32 configure it before."""

import json
import threading

import gpumem

threads = 32
gate = threading.Barrier(threads)


def configure():
    gate.wait()
    gpumem.configure(cap=1234567891)


def use(number):
    gate.wait()
    try:
        kept.append(torch.empty(100 << 20, dtype=torch.uint8, device=f"cuda:{number % 2}"))
    except torch.OutOfMemoryError:
        refused.append(number)


def together(target, arguments):
    started = [threading.Thread(target=target, args=args) for args in arguments]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


together(configure, [()] * threads)
import torch  # noqa: E402 - the policy comes first

kept, refused = [], []
together(use, [(number,) for number in range(threads)])
rows = [[row.state, row.in_force] for row in gpumem.verify().rows if row.framework == "torch"]
queued = [call for call, _trace in torch.cuda._queued_calls if "gpumem" in str(getattr(call, "__module__", ""))]
print(json.dumps({"granted": len(kept), "refused": len(refused), "rows": rows, "queued": len(queued)}))
