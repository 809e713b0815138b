"""The calls of a plan, carried out with a module that behaves like PyTorch."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gpumem.plugin import RuntimeCall
from gpumem.testing import RecordedProgress
from gpumem_torch.call_record import RECORD
from gpumem_torch.runtime import carry_out

if TYPE_CHECKING:
    from collections.abc import Callable

    MakeTorch = Callable[..., Any]

GIB, MIB = 1 << 30, 1 << 20


def limit(device: int | None = None, bounds: list[list[float]] | None = None, **arguments: Any) -> RuntimeCall:
    given = {"device": device, "except": [], "bounds": [[0.0, 4 * GIB]] if bounds is None else bounds}
    return RuntimeCall("limit_memory", {**given, "at_most": None, "in_shares": False, **arguments})


def ahead(device: int | None = None, amount: int | None = None, **arguments: Any) -> RuntimeCall:
    given = {"device": device, "local": None, "except": [], "amount": amount, "bounds": [[0.0, 4 * GIB]]}
    return RuntimeCall("take_ahead", {**given, **arguments})


def last(progress: RecordedProgress) -> tuple[str, str]:
    return progress.told[-1]


@pytest.mark.parametrize("version", ["2.5.1", "2.6.0", "2.9.1", "2.14.1"])
def test_a_limit_waits_for_the_start_and_is_set_on_every_device(make_torch: MakeTorch, version: str) -> None:
    """Nothing is asked of CUDA before."""
    torch, progress = make_torch(version=version, totals=(16 * GIB, 8 * GIB)), RecordedProgress()
    carry_out(limit(), torch, progress)
    assert (torch.allowed, torch.started, progress.told) == ({}, False, [("pending", "until PyTorch starts CUDA")])
    torch.start()
    assert torch.allowed == {0: 4 * GIB, 1: 4 * GIB}
    assert last(progress)[0] == "done"


@pytest.mark.parametrize(("version", "kept"), [("2.9.1", True), ("2.14.1", False)])
def test_before_2_10_the_current_device_is_kept(make_torch: MakeTorch, version: str, kept: bool) -> None:
    """Setting a limit there leaves its device the current one."""
    torch = make_torch(version=version)
    carry_out(limit(1), torch, RecordedProgress())
    torch.start()
    assert ("device 1" in torch.asked) == kept


def test_a_started_pytorch_is_limited_at_once(make_torch: MakeTorch) -> None:
    """A fraction may be set at any time."""
    torch, progress = make_torch(), RecordedProgress()
    torch.start()
    carry_out(limit(0), torch, progress)
    assert torch.allowed == {0: 4 * GIB}
    assert [kind for kind, _text in progress.told] == ["done"]


def test_one_device_of_its_own_and_all_others(make_torch: MakeTorch) -> None:
    """The call for the others leaves the named one alone."""
    torch = make_torch()
    carry_out(limit(1, [[0.0, GIB]]), torch, RecordedProgress())
    carry_out(limit(None, **{"except": [1]}), torch, RecordedProgress())
    torch.start()
    assert torch.allowed == {1: GIB, 0: 4 * GIB}


def test_a_total_of_cuda_above_the_one_of_nvml_does_not_raise_the_limit(make_torch: MakeTorch) -> None:
    """`at_most` is what the plan promised."""
    torch = make_torch(totals=(16 * GIB,))
    carry_out(limit(0, [[0.5, 0]], at_most=7 * GIB), torch, RecordedProgress())
    torch.start()
    assert torch.allowed == {0: 7 * GIB}


@pytest.mark.parametrize("text", ["expandable_segments:True", "expandable_segments:True,large_segment_size_mb:64"])
def test_expandable_segments_stay_one_segment_below(make_torch: MakeTorch, text: str) -> None:
    """PyTorch maps up to one segment more than it allows."""
    torch, progress = make_torch(text=text), RecordedProgress()
    carry_out(limit(0), torch, progress)
    torch.start()
    assert torch.allowed == {0: 4 * GIB - (64 if "64" in text else 20) * MIB}
    assert "because segments are expandable" in last(progress)[1]


@pytest.mark.parametrize(
    ("arguments", "device", "words"),
    [({"backend": "pluggable"}, 0, "another allocator (pluggable)"), ({}, 7, "there is no device 7")],
)
def test_what_cannot_be_limited_is_reported_and_the_start_goes_on(
    make_torch: MakeTorch, arguments: dict[str, Any], device: int, words: str
) -> None:
    """An exception in PyTorch's queue would make CUDA unusable for good."""
    torch, progress = make_torch(**arguments), RecordedProgress()
    carry_out(limit(device), torch, progress)
    torch.start()
    assert last(progress)[0] == "failed"
    assert words in last(progress)[1]


def test_taking_a_limit_back_before_the_start_leaves_nothing_behind(make_torch: MakeTorch) -> None:
    """The queued call does nothing any more."""
    torch = make_torch()
    undo = carry_out(limit(), torch, RecordedProgress())
    undo()
    torch.start()
    assert torch.allowed == {}


@pytest.mark.parametrize("version", ["2.5.1", "2.14.1"])
def test_taking_a_limit_back_afterwards_restores_what_was_before(make_torch: MakeTorch, version: str) -> None:
    """2.5 cannot tell what was before; there it is the whole device."""
    torch = make_torch(version=version)
    setter = torch._C._cuda_setMemoryFraction
    torch.start()
    torch._set_fraction(0.5, 0)
    carry_out(limit(0), torch, RecordedProgress())()
    assert torch.allowed == {0: 8 * GIB if version == "2.14.1" else 16 * GIB}
    assert torch._C._cuda_setMemoryFraction == setter
    assert not RECORD.allowed


def test_a_later_start_by_another_thread_is_not_missed(make_torch: MakeTorch) -> None:
    """Before 2.8 the queue takes no lock: a call queued after the start would never run."""
    torch, progress = make_torch(version="2.6.0"), RecordedProgress()

    def queue_then_start(call: Callable[[], None]) -> None:
        torch.started = True
        torch.queue.append(call)

    torch.cuda._lazy_call = queue_then_start
    carry_out(limit(0), torch, progress)
    assert torch.allowed == {0: 4 * GIB}


def test_from_many_threads_a_call_is_carried_out_once(make_torch: MakeTorch) -> None:
    """PyTorch may run its queue again after a failed start."""
    torch, progress = make_torch(), RecordedProgress()
    carry_out(limit(0), torch, progress)
    threads = [threading.Thread(target=torch.queue[0]) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [kind for kind, _text in progress.told].count("done") == 1


def test_memory_taken_ahead_stays_below_the_limit_and_leaves_room_for_small_tensors(make_torch: MakeTorch) -> None:
    """128 of 4096 MiB stay free: tensors below 1 MiB cannot use the block."""
    torch, progress = make_torch(totals=(16 * GIB,)), RecordedProgress()
    carry_out(limit(), torch, RecordedProgress())
    carry_out(ahead(), torch, progress)
    torch.start()
    assert torch.reserved == {0: 4 * GIB - 128 * MIB}
    assert last(progress)[0] == "done"


@pytest.mark.parametrize(("amount", "taken"), [(GIB, GIB), (GIB + 1, GIB), (9 * GIB, 4 * GIB - 128 * MIB)])
def test_a_size_taken_ahead_is_rounded_down_and_never_above_the_limit(
    make_torch: MakeTorch, amount: int, taken: int
) -> None:
    """In steps of 2 MiB, as PyTorch rounds large requests up."""
    torch = make_torch(totals=(16 * GIB,))
    carry_out(ahead(0, amount), torch, RecordedProgress())
    torch.start()
    assert torch.reserved == {0: taken}


@pytest.mark.parametrize(
    ("arguments", "call", "words"),
    [
        ({}, {}, "does not tell which one is used first"),
        ({"text": "max_split_size_mb:64"}, {"device": 0}, "max_split_size_mb"),
        ({"totals": (16 * GIB,)}, {"device": 3}, "there is no device 3"),
    ],
)
def test_what_cannot_be_taken_ahead_is_reported(
    make_torch: MakeTorch, arguments: dict[str, Any], call: dict[str, Any], words: str
) -> None:
    """And nothing is taken."""
    torch, progress = make_torch(**arguments), RecordedProgress()
    carry_out(ahead(**call), torch, progress)
    torch.start()
    assert last(progress)[0] == "failed"
    assert words in last(progress)[1]
    assert not any(torch.reserved.values())


def test_a_refused_preallocation_is_reported_and_not_raised(make_torch: MakeTorch) -> None:
    """Somebody else holds the memory."""
    torch, progress = make_torch(totals=(16 * GIB,)), RecordedProgress()
    torch.refuse_ahead = True
    carry_out(ahead(), torch, progress)
    torch.start()
    assert last(progress) == ("failed", "CUDA out of memory.")


@pytest.mark.parametrize(("local", "device"), [(1, 1), (3, 1), (2, 0)])
def test_the_launchers_local_device_is_found_at_the_start(make_torch: MakeTorch, local: int, device: int) -> None:
    """Where the devices were unknown before."""
    torch = make_torch()
    carry_out(ahead(local=local), torch, RecordedProgress())
    torch.start()
    assert [d for d, held in torch.reserved.items() if held] == [device]


@pytest.mark.parametrize("version", ["2.5.1", "2.9.1", "2.14.1"])
def test_the_configuration_is_set_whole_and_given_back_whole(make_torch: MakeTorch, version: str) -> None:
    """The setter keeps expandable_segments unless it is named: taking back names it."""
    torch = make_torch(version=version, text="max_split_size_mb:64")
    call = RuntimeCall("configure_allocator", {"text": "max_split_size_mb:64,expandable_segments:True"})
    undo = carry_out(call, torch, RecordedProgress())
    assert torch.text == "max_split_size_mb:64,expandable_segments:True"
    undo()
    assert torch.text == "max_split_size_mb:64,expandable_segments:False"


def test_a_string_that_pytorch_refuses_leaves_the_one_before(make_torch: MakeTorch) -> None:
    """The setter has applied what stands before the bad key by then."""
    torch = make_torch(text="max_split_size_mb:64")
    with pytest.raises(ValueError, match="Unrecognized"):
        carry_out(
            RuntimeCall("configure_allocator", {"text": "expandable_segments:True,foo:1"}), torch, RecordedProgress()
        )
    assert torch.text == "max_split_size_mb:64"
