"""Faults: typed, written as the driver reads them, and read back."""

from __future__ import annotations

import pytest

from gpumem_simgpu import (
    FailInit,
    Fault,
    LoseDevice,
    OtherProcess,
    RefuseRequest,
    SimulationError,
    SlowDriver,
    parse_fault,
)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (RefuseRequest(3), "alloc=3"),
        (RefuseRequest(3, onwards=True), "alloc=3+"),
        (RefuseRequest(3, device=1), "alloc=3@1"),
        (RefuseRequest(3, device=1, onwards=True), "alloc=3+@1"),
        (LoseDevice(5), "lost=5"),
        (LoseDevice(5, device=0), "lost=5@0"),
        (FailInit(999), "init=999"),
        (OtherProcess("4GiB", before=3), "other=4GiB:3"),
        (OtherProcess("4GiB", before=3, device=1), "other=4GiB:3@1"),
        (SlowDriver(50), "slow=50"),
    ],
)
def test_a_fault_and_its_text_are_the_same(fault: Fault, text: str) -> None:
    """Both ways."""
    assert str(fault) == text
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("aloc=3", "did you mean alloc?"),
        ("broken", "the kinds are alloc, lost, init, other, slow"),
        ("alloc", "kind=value"),
        ("alloc=", 'write "alloc=3"'),
        ("alloc=0", "counted from 1"),
        ("alloc=x", 'write "alloc=3"'),
        ("alloc=3@one", 'write "alloc=3"'),
        ("lost=0", "counted from 1"),
        ("init=0", "not a CUresult of an error"),
        ("init=999@1", 'write "init=999"'),
        ("other=4GiB", 'write "other=4GiB:3"'),
        ("other=4:3", 'did you mean "4GiB"'),
        ("slow=0", "1 to 60000 milliseconds"),
        ("slow=5@0", 'write "slow=50"'),
    ],
)
def test_a_text_that_is_no_fault_is_refused_with_an_example(text: str, said: str) -> None:
    """The message shows how that kind is written."""
    with pytest.raises(SimulationError) as caught:
        parse_fault(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RefuseRequest(0),
        lambda: RefuseRequest(True),
        lambda: RefuseRequest(1, device=-1),
        lambda: LoseDevice(-1),
        lambda: FailInit(0),
        lambda: OtherProcess("4", before=1),
        lambda: OtherProcess("4GiB", before=0),
        lambda: SlowDriver(-5),
    ],
)
def test_a_value_that_is_no_fault_is_refused(make: object) -> None:
    """Values are checked where they are made."""
    assert callable(make)
    with pytest.raises(SimulationError, match=r"^fault "):
        make()
