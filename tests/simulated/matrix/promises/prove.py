"""Whether the device's log shows that a field of the policy holds; each proof returns what is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

from matrix.promises.cells import GIB, MIB, Cell
from matrix.promises.expectations import ROUNDED_UP, numbers
from matrix.promises.run_cell import CellRun

GROWS = 64 * MIB
"""The most that a framework asks for at first where nothing is to be taken ahead, in bytes."""

CALLS = {
    "pool": {"cuMemAlloc"},
    "direct": {"cuMemAlloc"},
    "async": {"cuMemAllocAsync", "cuMemAllocFromPoolAsync"},
    "vmm": {"cuMemCreate"},
    "managed": {"cuMemAllocManaged"},
}
"""What each allocator word asks the driver with."""


def calls(framework: str, version: str, word: str) -> set[str]:
    """Return the driver's calls that an allocator makes."""
    if (framework, word) == ("jax", "pool") and numbers(version) >= (0, 10):
        return {"cuMemCreate"}  # its BFC reserves addresses and maps memory into them
    return CALLS[word]


def limit_of(cell: Cell, framework: str, device: int) -> int | None:
    """Return the bytes that a framework may hold on a device, None without a limit."""
    limit = cell.promise.limits[device]
    return None if limit is None else limit + ROUNDED_UP.get((framework, cell.promise.name), 0)


def proves_limit(run: CellRun, framework: str) -> Iterator[str]:
    """The allocator never held more than the limit, granted what fits, and refused what is beyond by itself."""
    for device in range(len(run.cell.promise.limits)):
        limit = limit_of(run.cell, framework, device)
        if limit is None:
            continue
        peak = run.run.peak(device, framework)
        if peak > limit:
            yield f"held {peak} bytes on device {device}, {peak - limit} more than its limit"
        if run.run.refused(device, framework):
            yield f"asked the driver on device {device} for what is above the limit"
        for answer in run.answers(framework, "beyond"):
            if answer["device"] == device and answer["answer"] == "granted":
                yield f"granted {answer['bytes']} bytes beyond the limit on device {device}"


def grants_what_fits(run: CellRun, framework: str, limits: tuple[int | None, ...]) -> Iterator[str]:
    """What is within the limit was granted, up to one large segment of 32 MiB."""
    for answer in (*run.answers(framework, "first"), *run.answers(framework, "fits")):
        if answer["answer"] != "granted":
            yield f"refused {answer['bytes']} bytes within the limit on device {answer['device']}"
    for device, limit in enumerate(limits):
        if limit is not None and (peak := run.run.peak(device, framework)) < limit - 32 * MIB:
            yield f"held only {peak} of {limit} bytes on device {device}"


def breaks_limit(run: CellRun, framework: str) -> Iterator[str]:
    """The limit does not hold, as gpumem said: otherwise the plugin is too modest."""
    beyond = [answer["answer"] for answer in run.answers(framework, "beyond")]
    over = [run.run.peak(device, framework) > limit for device, limit in enumerate(run.cell.promise.limits) if limit]
    if "granted" not in beyond and not any(over):
        yield "the limit is said not to hold, but the log shows that it does"


def proves_ahead(run: CellRun, framework: str, limits: tuple[int | None, ...]) -> Iterator[str]:
    """The first request is the limit, the size, or little; after a start the block comes later."""
    ahead, started = run.cell.promise.ahead, run.cell.moment == "started"
    for device, limit in enumerate(limits):
        amounts = [request.bytes for request in run.run.requests(device, framework)]
        if ahead is False:
            if not started and amounts and amounts[0] > GROWS:
                yield f"asked for {amounts[0]} bytes first although nothing is to be taken ahead"
            continue
        wanted = (limit or 0) if ahead is True else int(ahead or 0)
        # PyTorch leaves a 32nd part of its limit for small tensors; what is held already counts everywhere.
        least = wanted - max(wanted // 32, 22 * MIB) - 2 * MIB if ahead is True or started else wanted
        looked_at = amounts if started else amounts[:1]
        if not any(least <= amount <= wanted for amount in looked_at):
            yield f"{wanted} bytes were not taken ahead on device {device}: asked for {looked_at}"


def takes_no_size_ahead(run: CellRun, framework: str) -> Iterator[str]:
    """The size was not taken, as gpumem said."""
    ahead = run.cell.promise.ahead
    first = run.run.first_request(0, framework)
    if ahead is not True and ahead and first is not None and first.bytes == ahead:
        yield "the size is said not to be taken ahead, but the log shows that it was"


def proves_word(run: CellRun, framework: str, version: str, *, used: bool) -> Iterator[str]:
    """The driver was asked with the calls of the allocator word, or of the pool where the word is not used."""
    word = run.cell.promise.allocator or "pool"
    right = calls(framework, version, "pool" if word == "default" or not used else word)
    found = {request.api for request in run.run.requests(0, framework)}
    if run.cell.moment == "started":  # the first allocation came before the word
        found -= calls(framework, version, "pool") - right
    if not found or not found <= right:
        yield f"asked the driver with {sorted(found)}, not {sorted(right)}"


def proves_hidden(run: CellRun, framework: str) -> Iterator[str]:
    """No request, no context, no GPU in the framework's list."""
    asked = run.run.requests(0, framework)
    contexts = [event for event in run.run.events if event.get("api") == "context"]
    if asked or contexts or run.shown["gpus"][framework]:
        yield f"{len(asked)} requests and {len(contexts)} contexts although the framework is hidden"


def is_visible(run: CellRun, framework: str) -> Iterator[str]:
    """The framework uses its GPU, as gpumem said it would."""
    if not run.run.requests(0, framework):
        yield "the GPU is said to stay visible, but the log shows no request"


def in_bytes(value: object, total: int) -> int | None:
    """Return a limit of a report in bytes: a share below 1 is one of the total."""
    if isinstance(value, float):
        return int(value * total)
    return value if isinstance(value, int) else None


def total_of(cell: Cell, device: int) -> int:
    """Return a device's total in bytes, as the cell describes it."""
    sizes: list[int] = []
    for part in cell.promise.devices.split(","):
        number, _, size = part.rpartition("x")
        sizes += [int(size.removesuffix("GiB")) * GIB] * int(number or 1)
    return sizes[device]
