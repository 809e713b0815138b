"""The state of PyTorch and what it says is in force, read without starting anything."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gpumem.plugin import Answer, RuntimeCall
from gpumem.testing import RecordedProgress
from gpumem_torch import examine as examining
from gpumem_torch.build import build_in_text, installed_build
from gpumem_torch.examine import examine
from gpumem_torch.observe import observe
from gpumem_torch.runtime import carry_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpumem.plugin import Observation

    MakeTorch = Callable[..., Any]

GIB, MIB = 1 << 30, 1 << 20


def seen(torch: ModuleType, field: str, device: int | None = None) -> Observation:
    return next(item for item in observe(torch) if (item.field, item.device) == (field, device))


def limit(torch: ModuleType, bounds: list[list[float]], device: int | None = None, *, in_shares: bool = False) -> None:
    arguments = {"device": device, "except": [], "bounds": bounds, "at_most": None, "in_shares": in_shares}
    carry_out(RuntimeCall("limit_memory", arguments), torch, RecordedProgress())


def test_not_imported_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is imported to find out."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    state = examine({})
    assert (state.imported, state.started) == (Answer.NO, Answer.NO)
    assert "torch" not in sys.modules


def test_a_module_that_is_still_being_imported_counts_as_not_imported(make_torch: MakeTorch) -> None:
    """Its functions are not there yet."""
    torch = make_torch()
    torch.__spec__ = SimpleNamespace(_initializing=True)
    assert examine({}).imported is Answer.NO


def test_importing_alone_starts_nothing(make_torch: MakeTorch) -> None:
    """The module's own version counts where it is imported."""
    make_torch(version="2.12.0+cu126")
    state = examine({})
    assert (state.imported, state.started, state.applicable) == (Answer.YES, Answer.NO, True)
    assert state.versions == {"torch": "2.12.0+cu126"}


def test_pinned_memory_starts_the_allocator_though_pytorch_says_it_is_not_initialised(make_torch: MakeTorch) -> None:
    """`torch.cuda.is_initialized()` stays False after `Tensor.pin_memory()`."""
    torch = make_torch()
    torch._C._accelerator_isAllocatorInitialized = lambda: True
    assert examine({}).started is Answer.YES


def test_an_allocator_whose_start_failed_is_not_asked(make_torch: MakeTorch, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch 2.14 calls it started after it has refused its string; a snapshot then ends the process."""
    torch = make_torch(text="garbage:1")
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "garbage:1")

    def crash(*_arguments: object) -> None:
        pytest.fail("this would be a segmentation fault")

    def refuse() -> str:
        raise ValueError("Unrecognized key 'garbage' in Accelerator allocator config.")

    torch._C._accelerator_isAllocatorInitialized = lambda: True
    torch._C._accelerator_getAllocatorSettings = refuse
    torch._C._cuda_memorySnapshot = crash
    assert {item.value for item in examine({"PYTORCH_CUDA_ALLOC_CONF": "garbage:1"}).observations} == {None}
    assert "cannot be read" in seen(torch, "allocator").why


@pytest.mark.parametrize(("contexts", "answer"), [(frozenset(), Answer.NO), (frozenset({0}), Answer.UNKNOWN)])
def test_a_pytorch_that_does_not_tell_is_unknown_where_cuda_runs(
    make_torch: MakeTorch, monkeypatch: pytest.MonkeyPatch, contexts: frozenset[int], answer: Answer
) -> None:
    """Before 2.9; without any CUDA context the answer is no."""
    make_torch(version="2.8.0")
    monkeypatch.setattr(examining, "cuda_state", lambda: SimpleNamespace(contexts=contexts))
    assert examine({}).started is answer


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda torch: setattr(torch.version, "cuda", None), "built without CUDA"),
        (lambda torch: setattr(torch.cuda, "_is_in_bad_fork", lambda: True), "before this process was forked"),
        (lambda torch: delattr(torch, "_C"), "is not PyTorch"),
    ],
)
def test_where_pytorch_has_no_gpu_it_is_not_applicable(
    make_torch: MakeTorch, change: Callable[[Any], None], words: str
) -> None:
    """A CPU build, a process forked too late, a user's own torch.py."""
    torch = make_torch()
    change(torch)
    state = examine({})
    assert not state.applicable
    assert words in state.why_not


def test_a_limit_of_the_user_is_told_from_gpumems_own(make_torch: MakeTorch) -> None:
    """`set_per_process_memory_fraction` is a setting of the user, which beats files."""
    torch = make_torch()
    limit(torch, [[0.0, 4 * GIB]])
    torch.start()
    assert examine({}).settings == ()
    torch._set_fraction(0.5, 1)
    setting = examine({}).settings[0]
    assert (setting.field, setting.value, setting.device) == ("fraction", 0.5, 1)


def test_a_fraction_of_the_string_is_not_taken_for_a_call(make_torch: MakeTorch) -> None:
    """It is a setting of the variable already."""
    torch = make_torch(totals=(16 * GIB,))
    torch.start()
    torch._set_fraction(0.25, 0)
    assert examine({"PYTORCH_CUDA_ALLOC_CONF": "per_process_memory_fraction:0.25"}).settings == ()


def test_before_the_start_only_a_backend_of_the_import_is_known(make_torch: MakeTorch) -> None:
    """Reading more would fix the configuration."""
    torch = make_torch()
    assert [(item.field, item.value) for item in observe(torch)] == [
        ("limit", None),
        ("preallocate", None),
        ("allocator", None),
    ]
    assert seen(make_torch(backend="cudaMallocAsync"), "allocator").value == "async"


@pytest.mark.parametrize("version", ["2.5.1", "2.14.1"])
def test_a_limit_is_read_back_in_bytes_on_each_device_and_for_all(
    make_torch: MakeTorch, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """For all of them the loosest counts; one changed since shows. 2.5 remembers the last call."""
    torch = make_torch(version=version)
    monkeypatch.setattr("gpumem_torch.imported.cuda_state", lambda: SimpleNamespace(contexts={0, 1}))
    limit(torch, [[0.0, 1234567891]])
    torch.start()
    assert [seen(torch, "limit", device).value for device in (0, 1, None)] == [1234567891] * 3
    torch._C._cuda_setMemoryFraction(0.5, 1)
    assert [seen(torch, "limit", device).value for device in (0, 1, None)] == [1234567891, 8 * GIB, 8 * GIB]


def test_a_device_with_a_limit_of_its_own_is_not_among_the_others(make_torch: MakeTorch) -> None:
    """Else 8 GiB on device 1 would look like a breach of 4 GiB on the others."""
    torch = make_torch()
    limit(torch, [[0.0, 8 * GIB]], 1)
    carry_out(
        RuntimeCall(
            "limit_memory",
            {"device": None, "except": [1], "bounds": [[0.0, 4 * GIB]], "at_most": None, "in_shares": False},
        ),
        torch,
        RecordedProgress(),
    )
    torch.start()
    assert seen(torch, "limit").value == 4 * GIB


def test_a_fraction_without_a_known_total_is_read_back_as_a_fraction(make_torch: MakeTorch) -> None:
    """The plan expects it so."""
    torch = make_torch()
    limit(torch, [[0.25, 0]], in_shares=True)
    torch.start()
    assert seen(torch, "limit").value == 0.25


def test_before_2_10_an_untouched_device_is_not_asked(make_torch: MakeTorch) -> None:
    """Asking would make a context there."""
    torch = make_torch(version="2.9.1")
    torch.start()
    observation = seen(torch, "limit", 1)
    assert observation.value is None
    assert "asking would start it there" in observation.why


def test_without_the_cache_no_limit_is_in_force(make_torch: MakeTorch) -> None:
    """0 stands for none."""
    torch = make_torch()
    torch.start()
    torch._set_fraction(0.5, 0)
    torch.caching = False
    assert seen(torch, "limit", 0).value == 0
    assert seen(torch, "allocator").value == "direct"


def test_what_is_held_already_is_told_beside_the_limit(make_torch: MakeTorch) -> None:
    """A cap below that is exceeded."""
    torch = make_torch()
    torch.start()
    torch.reserved[0] = 5 * GIB
    assert seen(torch, "limit", 0).held == 5 * GIB


@pytest.mark.parametrize(
    ("text", "word"), [("", "pool"), ("expandable_segments:True", "vmm"), ("max_split_size_mb:64", "pool")]
)
def test_the_allocator_and_its_options_are_read_back(make_torch: MakeTorch, text: str, word: str) -> None:
    """From PyTorch's own settings, not from the environment."""
    torch = make_torch(text=text)
    torch.start()
    assert seen(torch, "allocator").value == word
    split = seen(torch, "options.max_split_size_mb").value
    assert split == (64 if "split" in text else "not set")


def test_memory_taken_ahead_is_seen(make_torch: MakeTorch) -> None:
    """On the device where it was taken, and nowhere else."""
    torch = make_torch()
    arguments = {"device": 1, "local": None, "except": [], "amount": GIB, "bounds": []}
    carry_out(RuntimeCall("take_ahead", arguments), torch, RecordedProgress())
    torch.start()
    assert [seen(torch, "preallocate", device).value for device in (0, 1, None)] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("cuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n", "cuda"),
        ("cuda: str | None = None\nhip: str | None = '6.2'\n", "rocm"),
        ("cuda = None\nhip = None\n", "cpu"),
        ("", "unknown"),
    ],
)
def test_the_build_stands_in_the_version_file(text: str, build: str) -> None:
    """It is read as text: importing PyTorch to ask would be the very thing to avoid."""
    assert build_in_text(text) == build


def test_a_build_whose_files_are_elsewhere_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Then PyTorch is taken for one that may have a GPU."""
    monkeypatch.setattr(
        "gpumem_torch.build.distribution", lambda name: SimpleNamespace(locate_file=lambda path: tmp_path / name / path)
    )
    assert installed_build() == "unknown"
