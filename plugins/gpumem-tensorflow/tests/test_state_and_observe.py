"""In which state TensorFlow is, and what is in force: found without starting anything."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import pytest

import gpumem_tensorflow.find_state
import gpumem_tensorflow.observe
import gpumem_tensorflow.start_guard
from gpumem.plugin import Answer, CudaState, Device, FrameworkState, NativeSetting, RuntimeCall, Size
from gpumem.testing import RecordedProgress
from gpumem_tensorflow.find_state import find_state
from gpumem_tensorflow.observe import observe
from gpumem_tensorflow.runtime import apply_call

GIB = 1 << 30
GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"


def limit(amount: int, device: int | None = None, share: float | None = None, besides: Any = ()) -> RuntimeCall:
    bounds = [[0.0, amount]]
    arguments = {
        "device": device, "besides": list(besides), "bounds": bounds, "bytes": amount, "share": share, "strict": True,
    }  # fmt: skip
    return RuntimeCall("limit", arguments)


def seen(fake: Any) -> dict[tuple[str, int | None], object]:
    return {(o.field, o.device): o.value for o in observe(fake.top)}


def reasons(fake: Any) -> dict[tuple[str, int | None], str]:
    return {(o.field, o.device): o.why for o in observe(fake.top)}


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The primary CUDA contexts of the process, as the driver would tell them."""
    found: set[int] = set()

    def state() -> CudaState:
        devices = (Device(0, total=16 * GIB), Device(1, total=16 * GIB))
        return CudaState("initialised", devices, frozenset(found))

    for module in (gpumem_tensorflow.find_state, gpumem_tensorflow.observe, gpumem_tensorflow.start_guard):
        monkeypatch.setattr(module, "cuda_state", state)
    return found


def test_not_imported_is_no_and_asks_nothing() -> None:
    state = find_state({})
    assert (state.imported, state.started) == (Answer.NO, Answer.NO)
    assert state.evidence == "tensorflow is not in sys.modules"


def test_a_module_that_is_still_initialising_counts_as_not_imported(tensorflow: Any) -> None:
    tensorflow.top.__spec__._initializing = True
    state = find_state({})
    assert (state.imported, state.started) == (Answer.NO, Answer.NO)
    assert "has not ended" in state.evidence


def test_a_users_own_module_of_the_name_is_not_applicable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    state = find_state({})
    assert (state.imported, state.applicable) == (Answer.NO, False)
    assert "is not TensorFlow" in state.why_not


def test_imported_is_not_started_and_no_context_is_created(tensorflow: Any) -> None:
    state = find_state({})
    assert (state.imported, state.started) == (Answer.YES, Answer.NO)
    assert tensorflow.context._context is None


def test_a_context_with_a_handle_has_started(tensorflow: Any) -> None:
    tensorflow.current().ensure_initialized()
    assert find_state({}).started is Answer.YES


def test_a_cuda_context_of_unknown_origin_makes_it_unknown(tensorflow: Any, contexts: set[int]) -> None:
    assert find_state({}).started is Answer.NO
    contexts.add(1)
    state = find_state({})
    assert state.started is Answer.UNKNOWN
    assert "GPU 1" in state.evidence
    apply_call(limit(GIB), tensorflow.top, RecordedProgress())
    assert find_state({}).started is Answer.UNKNOWN
    assert "existed before gpumem watched" in reasons(tensorflow)["limit", None]


def test_a_cuda_context_made_while_gpumem_watches_is_not_tensorflows(tensorflow: Any, contexts: set[int]) -> None:
    apply_call(limit(GIB), tensorflow.top, RecordedProgress())
    contexts.add(0)
    assert find_state({}).started is Answer.NO


def test_started_once_is_started_for_good(tensorflow: Any) -> None:
    apply_call(limit(GIB), tensorflow.top, RecordedProgress())
    tensorflow.current().ensure_initialized()
    tensorflow.context._context = None  # as _reset_context does; the allocators stay
    assert find_state({}).started is Answer.YES


@pytest.mark.parametrize(("info", "applicable"), [({"is_cuda_build": False}, False), ({}, True)])
def test_a_build_without_gpu_support_is_not_applicable(
    tensorflow: Any, info: dict[str, bool], applicable: bool
) -> None:
    tensorflow.build.build_info = info
    assert find_state({}).applicable is applicable


def test_no_gpu_found_is_not_applicable(tensorflow: Any) -> None:
    tensorflow.gpus = 0
    assert find_state({}).applicable
    tensorflow.current().list_physical_devices()
    assert "found no GPU" in find_state({}).why_not


def test_only_the_cpu_distribution_is_not_applicable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpumem_tensorflow.find_state, "installed_versions", lambda _names: {"tensorflow-cpu": "2.21.0"})
    assert not find_state({}).applicable


def settings(state: FrameworkState) -> dict[tuple[str, int | None], object]:
    return {(item.field, item.device): item.value for item in state.settings}


def test_what_the_program_set_by_the_api_is_read(tensorflow: Any) -> None:
    context = tensorflow.current()
    first, second = context.list_physical_devices("GPU")
    make = tensorflow.context.LogicalDeviceConfiguration
    context.set_logical_device_configuration(first, [make(1024), make(2048)])
    context.set_memory_growth(second, enable=True)
    context.set_visible_devices([second], "GPU")
    assert settings(find_state({})) == {
        ("cap", 0): Size(bytes=3072 << 20),
        ("preallocate", None): False,
        ("visible", None): (1,),
    }
    # The variable beats the API both ways.
    assert ("preallocate", None) not in settings(find_state({GROWTH: "false"}))


def test_what_a_config_says_is_read(tensorflow: Any) -> None:
    config = tensorflow.current()._config = tensorflow.context.ConfigProto()
    config.gpu_options.per_process_gpu_memory_fraction = 0.25
    config.gpu_options.allow_growth = True
    config.gpu_options.experimental.use_cuda_malloc_async = True
    source = "ConfigProto given to TensorFlow's context"
    assert find_state({}).settings == (
        NativeSetting("fraction", 0.25, source),
        NativeSetting("preallocate", value=False, source=source),
        NativeSetting("allocator", "async", source),
    )


def test_what_gpumem_set_is_not_taken_for_the_programs(tensorflow: Any) -> None:
    for call in (limit(GIB), RuntimeCall("visible", {"ordinals": [1], "strict": True}), RuntimeCall("managed")):
        apply_call(call, tensorflow.top, RecordedProgress())
    tensorflow.current().ensure_initialized()
    assert find_state({}).settings == ()


def test_before_the_start_nothing_is_known_and_the_reason_is_told(tensorflow: Any) -> None:
    apply_call(limit(GIB, 1, besides=(1,)), tensorflow.top, RecordedProgress())
    values = seen(tensorflow)
    assert set(values) == {
        ("limit", 1), ("limit", None), ("preallocate", None), ("allocator", None), ("visible", None),
    }  # fmt: skip
    assert set(values.values()) == {None}
    assert all("once its context exists" in why for why in reasons(tensorflow).values())
    assert tensorflow.starts == 0


def test_limits_are_those_of_the_allocators_per_gpu(tensorflow: Any) -> None:
    apply_call(limit(2 * GIB, 1, besides=(1,)), tensorflow.top, RecordedProgress())
    context = tensorflow.current()
    gpu = context.list_physical_devices("GPU")[0]
    make = tensorflow.context.LogicalDeviceConfiguration
    context.set_logical_device_configuration(gpu, [make(1024), make(2048)])
    context.ensure_initialized()
    values = seen(tensorflow)
    assert values["limit", 0] == 3 * GIB
    assert values["limit", 1] == 2 * GIB
    # "All others" leaves out the GPU that has a limit of its own.
    assert values["limit", None] == 3 * GIB


def test_an_accepted_and_ignored_limit_is_seen(tensorflow: Any) -> None:
    tensorflow.device_lib.list_devices(None)
    apply_call(limit(2 * GIB), tensorflow.top, RecordedProgress())
    tensorflow.current().ensure_initialized()
    assert seen(tensorflow)["limit", None] == 16 * GIB - (1536 << 20)


def test_a_limit_planned_as_a_share_is_read_as_a_share(tensorflow: Any, contexts: set[int]) -> None:
    assert not contexts
    apply_call(limit(4 * GIB, share=0.25), tensorflow.top, RecordedProgress())
    tensorflow.current().ensure_initialized()
    assert seen(tensorflow)["limit", None] == 0.25


def test_growth_and_allocator_are_told_as_seen_at_the_start(tensorflow: Any) -> None:
    call = RuntimeCall("variables", {"variables": {GROWTH: "true", "TF_GPU_ALLOCATOR": "cuda_malloc_async"}})
    apply_call(call, tensorflow.top, RecordedProgress())
    tensorflow.current().ensure_initialized()
    os.environ[GROWTH] = "false"
    values = seen(tensorflow)
    assert values["allocator", None] == "async"
    assert values["preallocate", None] is False
    assert values["limit", 0] == 0  # the async allocator holds no limit


def test_a_variable_that_may_have_changed_since_the_start_is_unknown(tensorflow: Any) -> None:
    tensorflow.current().ensure_initialized()
    os.environ[GROWTH] = "true"
    os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc"
    values = seen(tensorflow)
    assert (values["preallocate", None], values["allocator", None]) == (None, None)
    assert "does not tell what it read" in reasons(tensorflow)["preallocate", None]
    assert values["limit", 0] is None


def test_without_variables_the_config_decides(tensorflow: Any) -> None:
    context = tensorflow.current()
    for gpu in context.list_physical_devices("GPU"):
        context.set_memory_growth(gpu, enable=True)
    context.ensure_initialized()
    values = seen(tensorflow)
    assert values["preallocate", None] is False
    assert values["allocator", None] == "pool"
    assert values["visible", None] == (0, 1)


def test_options_are_told_as_seen_at_the_start(tensorflow: Any) -> None:
    name = "TF_GPU_HOST_MEM_LIMIT_IN_MB"
    apply_call(RuntimeCall("variables", {"variables": {name: "4096"}}), tensorflow.top, RecordedProgress())
    tensorflow.current().ensure_initialized()
    assert seen(tensorflow)[f"options.{name}", None] == "4096"
    assert "unset" in reasons(tensorflow)["options.TF_ENABLE_GPU_GARBAGE_COLLECTION", None]
