"""One cell of the support matrix: declare the policy, ask for memory, and print what was granted and reported.

usage: run_cell.py     CELL: JSON of frameworks, moment, policy, prefer, native and asks
    moment   before or after the imports ("imported"), after discovery ("discovered"), or after the first
             allocation ("started": configured first so that lateness is an error, then so that it is a warning)
    policy   the arguments of configure(); prefer: those of prefer()
    marks    true: note what NVML says that this process holds, at each stage, and what the frameworks count
    native   [bytes, word]: no gpumem at all, the framework's own limit and allocator instead; empty: no limit
    asks     by framework: [kind, device, bytes]; "fill" asks for pieces while their sum is within `bytes`,
             "beyond" comes last and, where a framework is slow to refuse, at the same time as its others
"""

import json
import os
import sys
import threading
import warnings

from own_ways import WAYS, version

CELL = json.loads(os.environ["CELL"])
MIB = 1 << 20
PIECES = (16 * MIB, MIB)
ways = [WAYS[name] for name in CELL["frameworks"]]
kept, heard, refusals = [], [], []
shown = {"answers": [], "errors": []}


def attempt(way, size, device):
    try:
        kept.append(way.take(size, device))
    except Exception as error:  # each framework has a class of its own, which the way knows
        if not way.refuses(error):
            raise
        return type(error).__name__
    return "granted"


def answer(way, kind, device, size, text):
    shown["answers"].append({"framework": way.name, "kind": kind, "device": device, "bytes": size, "answer": text})


def mark(name):
    """Note the bytes that NVML tells of this process, and of the device where it does not know the process."""
    if not CELL.get("marks"):
        return
    import pynvml

    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(pynvml.nvmlDeviceGetCount())]
    listed = [process for handle in handles for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    mine = [process.usedGpuMemory for process in listed if process.pid == os.getpid()]
    used = sum(pynvml.nvmlDeviceGetMemoryInfo(handle).used for handle in handles)
    shown.setdefault("marks", {})[name] = {"process": sum(mine) if mine else None, "devices": used}
    pynvml.nvmlShutdown()


def fill(way, device, room, at_last):
    """Ask for pieces while, by arithmetic, they fit; what is left over is asked for at last, by a slow refuser."""
    granted = 0
    for piece in PIECES[: 1 if way.patient else 2]:
        while granted + piece <= room and attempt(way, piece, device) == "granted":
            granted += piece
    answer(way, "fill", device, granted, "granted")
    if way.patient and granted < room:
        at_last.append(threading.Thread(target=ask, args=(way, "rest", device, room - granted)))


def ask(way, kind, device, size):
    answer(way, kind, device, size, attempt(way, size, device))


def carry_out():
    at_last = []
    for kind in ("first", "fits", "fill", "beyond"):
        for way in ways:
            for device, size in [item[1:] for item in CELL["asks"][way.name] if item[0] == kind]:
                if kind == "fill":
                    fill(way, device, size, at_last)
                elif kind == "beyond" and way.patient:
                    at_last.append(threading.Thread(target=ask, args=(way, kind, device, size)))
                else:
                    ask(way, kind, device, size)
        if kind in ("first", "fill"):
            mark(kind)
    for thread in at_last:
        thread.start()
    for thread in at_last:
        thread.join()
    mark("beyond")
    shown["answers"].sort(key=lambda item: json.dumps(item))  # threads answer in any order


def rows(report):
    return [row.to_dict() for row in report.rows if row.framework in CELL["frameworks"]]


def configure(**more):
    """Configure; where that is refused, keep the error and go on in the way that only warns."""
    try:
        gpumem.configure(**{**CELL["policy"], **more})
    except (gpumem.LateInitialisationError, gpumem.UnsupportedPolicyError) as error:
        shown["errors"].append([type(error).__name__, str(error)])
        gentle = (
            {"on_late": "warn"} if isinstance(error, gpumem.LateInitialisationError) else {"on_unsupported": "warn"}
        )
        assert not gentle.keys() & more.keys(), "refused although it is to warn"
        configure(**more, **gentle)


def load():
    for way in ways:
        __import__(way.name)


if "native" in CELL:
    for way in ways if CELL["native"] else ():
        way.limit_itself(*CELL["native"])
    load()
    carry_out()
else:
    import gpumem
    from gpumem.plugin import cuda_state

    moment = CELL["moment"]
    mark("start")
    warnings.simplefilter("always", gpumem.GpumemWarning)
    warnings.showwarning = lambda message, *_: isinstance(message, gpumem.GpumemWarning) and heard.append(str(message))
    if CELL["prefer"]:
        gpumem.prefer(**CELL["prefer"])
    if moment == "before":
        configure()
        load()
    else:
        load()
        for way in ways:
            if moment == "discovered":
                way.discover()
            elif moment == "started":
                attempt(way, MIB, 0)
        configure()
    shown["cuda"] = cuda_state().status
    shown["before"] = rows(gpumem.report())
    shown["warned"] = list(heard)
    carry_out()
    report = gpumem.verify()
    shown |= {"rows": rows(report), "ok": report.ok, "warned_later": heard[len(shown["warned"]) :]}
    shown["notes"] = list(report.notes)
    shown["gpumem"] = gpumem.__version__

if CELL.get("marks"):
    shown["held"] = {way.name: way.held(0) if way.gpus() else None for way in ways}
    shown["total"] = next((device.total for device in cuda_state().devices), None)
shown["gpus"] = {way.name: way.gpus() for way in ways}
shown["versions"] = {way.name: version(way.name) for way in ways}
sys.stdout.write(json.dumps(shown) + "\n")
sys.stdout.flush()
