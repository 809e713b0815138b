"""What happens at the moment TensorFlow creates its context."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from gpumem.plugin import Device, Devices, RuntimeCall
from gpumem.testing import RecordedProgress
from gpumem_tensorflow.prepare_context import StartRefusedError
from gpumem_tensorflow.runtime import apply_call
from gpumem_tensorflow.start_guard import StartedError, find_guard

GIB = 1 << 30
GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
CUDA = Devices((Device(0, total=16 * GIB), Device(1, total=16 * GIB)), complete=True, source="cuda")


def limit(
    amount: int | None,
    device: int | None = None,
    *,
    bounds: list[list[float]] | None = None,
    share: float | None = None,
    strict: bool = True,
    besides: tuple[int, ...] = (),
) -> RuntimeCall:
    arguments: dict[str, object] = {
        "device": device,
        "besides": list(besides),
        "bounds": bounds or [[0.0, amount or 0]],
        "bytes": amount,
        "share": share,
        "strict": strict,
    }
    return RuntimeCall("limit", arguments, "memory_limit")


def visible(ordinals: object, *, strict: bool = True) -> RuntimeCall:
    return RuntimeCall("visible", {"ordinals": ordinals, "strict": strict})


def variables(**names: str | None) -> RuntimeCall:
    return RuntimeCall("variables", {"variables": names})


def apply(fake: Any, call: RuntimeCall, devices: Devices = CUDA) -> tuple[RecordedProgress, Any]:
    progress = RecordedProgress(devices)
    return progress, apply_call(call, fake.top, progress)


def kinds(progress: RecordedProgress) -> list[str]:
    return [kind for kind, _text in progress.told]


def test_nothing_starts_until_tensorflow_does(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, limit(2 * GIB))
    assert tensorflow.starts == 0
    assert tensorflow.context._context is None
    assert progress.told == [("pending", "TensorFlow creates its context")]


def test_the_limit_holds_on_every_gpu_once_it_starts(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, limit(1234567891))
    tensorflow.current().ensure_initialized()
    assert tensorflow.allocators == {0: [1177 << 20], 1: [1177 << 20]}
    assert kinds(progress) == ["pending", "done"]


def test_gpus_have_limits_of_their_own_and_others_the_rest(tensorflow: Any) -> None:
    apply(tensorflow, limit(2 * GIB, 1, besides=(1,)))
    apply(tensorflow, limit(4 * GIB, None, besides=(1,)))
    tensorflow.current().ensure_initialized()
    assert tensorflow.allocators == {0: [4 * GIB], 1: [2 * GIB]}


@pytest.mark.parametrize(
    ("devices", "share", "planned", "expected"),
    [
        (Devices((Device(0, total=15 * GIB),), source="cuda"), None, 8 * GIB, 15 * GIB // 2),
        (Devices((Device(0, total=17 * GIB),), source="cuda"), None, 8 * GIB, 8 * GIB),
        (Devices((Device(0, total=16 * GIB),), source="cuda"), 0.5, 4 * GIB, 8 * GIB),
        (Devices((Device(0, total=16 * GIB),), source="cuda"), 0.5, None, 8 * GIB),
        (Devices((Device(0, total=16 * GIB),), source="nvml"), None, 6 * GIB, 6 * GIB),
        (Devices((Device(0, total=16 * GIB),), source="nvml"), 0.5, None, 8 * GIB),
    ],
    ids=["CUDA has less", "CUDA has more", "ambiguous", "unknown", "CUDA is silent", "CUDA is silent, unknown"],
)
def test_a_share_is_taken_of_cudas_own_total_and_never_above_the_plan(
    tensorflow: Any, devices: Devices, share: float | None, planned: int | None, expected: int
) -> None:
    apply(tensorflow, limit(planned, 0, bounds=[[0.5, 0]], share=share), devices)
    tensorflow.current().ensure_initialized()
    assert tensorflow.allocators[0] == [expected]


def test_a_limit_that_cannot_be_set_keeps_tensorflow_from_starting(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, limit(None, 0, bounds=[[0.5, 0]], share=0.5), Devices())
    with pytest.raises(StartRefusedError, match="write a cap in bytes"):
        tensorflow.current().ensure_initialized()
    assert tensorflow.allocators == {}
    assert kinds(progress) == ["pending", "failed"]
    assert not issubclass(StartRefusedError, RuntimeError)


def test_a_limit_that_cannot_be_set_is_only_told_where_the_policy_says_so(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, limit(None, 0, bounds=[[0.5, 0]], share=0.5, strict=False), Devices())
    tensorflow.current().ensure_initialized()
    assert kinds(progress) == ["pending", "failed"]


def test_a_gpu_that_tensorflow_does_not_list_is_named_with_the_likely_reason(tensorflow: Any) -> None:
    apply(tensorflow, limit(GIB, 5))
    with pytest.raises(StartRefusedError, match="TF_MIN_GPU_MULTIPROCESSOR_COUNT"):
        tensorflow.current().ensure_initialized()


@pytest.mark.parametrize("door", ["session", "server", "device_lib"])
def test_every_other_way_to_start_passes_the_guard_first(tensorflow: Any, door: str) -> None:
    apply(tensorflow, limit(2 * GIB))
    if door == "session":
        tensorflow.session.BaseSession(config=None)
    elif door == "server":
        tensorflow.server.Server({})
    else:
        tensorflow.device_lib.list_devices(None)
    assert tensorflow.allocators == {0: [2 * GIB], 1: [2 * GIB]}


def test_a_session_on_another_process_starts_nothing_here(tensorflow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(tensorflow, limit(2 * GIB))
    monkeypatch.setattr(tensorflow, "create", lambda: None)
    tensorflow.session.BaseSession("grpc://host:2222")
    assert tensorflow.starts == 0


def test_an_allocator_that_existed_before_is_told_as_failed(tensorflow: Any) -> None:
    tensorflow.device_lib.list_devices(None)
    progress, _ = apply(tensorflow, limit(2 * GIB))
    tensorflow.current().ensure_initialized()
    assert kinds(progress) == ["pending", "failed"]
    assert "existed before its context" in progress.told[-1][1]


def test_growth_is_set_again_if_keras_changed_it(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, variables(**{GROWTH: "false"}))
    os.environ[GROWTH] = "true"
    tensorflow.current().ensure_initialized()
    assert tensorflow.growth is False
    assert progress.told[-1] == ("done", f"{GROWTH} was 'true' by then and was set again")


def test_the_programs_own_growth_is_carried_over_a_limit_and_leaves_no_variable(tensorflow: Any) -> None:
    apply(tensorflow, limit(2 * GIB))
    context = tensorflow.current()
    context.list_physical_devices()
    context.set_memory_growth(context.gpus()[0], enable=True)
    context.ensure_initialized()
    assert tensorflow.growth is True
    assert GROWTH not in os.environ


def test_logical_cpus_do_not_take_growth_away(tensorflow: Any) -> None:
    apply(tensorflow, variables(**{GROWTH: "true"}))
    context = tensorflow.current()
    cpu = context.list_physical_devices("CPU")[0]
    context.set_logical_device_configuration(cpu, [tensorflow.context.LogicalDeviceConfiguration()] * 2)
    context.ensure_initialized()
    assert tensorflow.growth is True


def test_an_allocator_chosen_later_that_holds_no_limit_is_left_out(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, limit(2 * GIB))
    os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"
    tensorflow.current().ensure_initialized()
    assert tensorflow.allocator is None
    assert os.environ["TF_GPU_ALLOCATOR"] == "cuda_malloc_async"
    assert "holds no limit" in progress.told[-1][1]


@pytest.mark.parametrize(
    ("own", "expected", "part"),
    [((1024, 1000), [1024 << 20, 1000 << 20], "stay"), ((8192, 4096), [2048 << 20, 1024 << 20], "made smaller")],
)
def test_the_programs_own_split_is_kept_within_the_limit(
    tensorflow: Any, own: tuple[int, ...], expected: list[int], part: str
) -> None:
    progress, _ = apply(tensorflow, limit(3 * GIB, 0))
    context = tensorflow.current()
    gpu = context.list_physical_devices("GPU")[0]
    configuration = tensorflow.context.LogicalDeviceConfiguration
    context.set_logical_device_configuration(gpu, [configuration(amount) for amount in own])
    context.ensure_initialized()
    assert tensorflow.allocators[0] == expected
    assert part in progress.told[-1][1]


def test_a_fraction_in_the_programs_config_is_kept_as_a_limit(tensorflow: Any) -> None:
    apply(tensorflow, limit(2 * GIB, 0))
    context = tensorflow.current()
    config = tensorflow.context.ConfigProto()
    config.gpu_options.per_process_gpu_memory_fraction = 0.25
    context._config = config
    context.ensure_initialized()
    assert tensorflow.allocators == {0: [2 * GIB], 1: [4 * GIB]}
    assert config.gpu_options.per_process_gpu_memory_fraction == 0.25


def test_managed_memory_is_asked_for_on_a_copy_of_the_config(tensorflow: Any) -> None:
    apply(tensorflow, RuntimeCall("managed"))
    context = tensorflow.current()
    own = context._config = tensorflow.context.ConfigProto()
    context.ensure_initialized()
    assert context.config.gpu_options.experimental.use_unified_memory
    assert not own.gpu_options.experimental.use_unified_memory


def test_hidden_gpus_are_never_touched(tensorflow: Any) -> None:
    apply(tensorflow, visible([]))
    tensorflow.current().ensure_initialized()
    assert tensorflow.allocators == {}


def test_hiding_works_without_a_gpu(tensorflow: Any) -> None:
    tensorflow.gpus = 0
    hidden, _ = apply(tensorflow, visible([]))
    one, _ = apply(tensorflow, visible([1]))
    cap, _ = apply(tensorflow, limit(GIB, 0))
    tensorflow.current().ensure_initialized()
    assert [kinds(progress) for progress in (hidden, one, cap)] == [["pending", "done"]] * 3


def test_one_of_two_gpus_is_visible_and_limited(tensorflow: Any) -> None:
    apply(tensorflow, visible([1]))
    apply(tensorflow, limit(2 * GIB, 1))
    tensorflow.current().ensure_initialized()
    assert tensorflow.allocators == {1: [2 * GIB]}


def test_a_start_that_fails_can_be_tried_again(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, limit(2 * GIB))
    tensorflow.refuse_start = ValueError("priority must be specified for all virtual devices")
    with pytest.raises(ValueError, match="priority"):
        tensorflow.current().ensure_initialized()
    assert kinds(progress) == ["pending"]
    tensorflow.current().ensure_initialized()
    assert tensorflow.allocators == {0: [2 * GIB], 1: [2 * GIB]}
    assert kinds(progress) == ["pending", "done"]


def test_taken_back_before_the_start_everything_is_as_it_was(tensorflow: Any) -> None:
    originals = (tensorflow.context.Context.ensure_initialized, tensorflow.session.BaseSession.__init__)
    before = dict(os.environ)
    undo = [apply(tensorflow, call)[1] for call in (limit(2 * GIB), visible([1]), variables(**{GROWTH: "true"}))]
    tensorflow.refuse_start = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        tensorflow.current().ensure_initialized()
    for take_back in undo:
        take_back()
    del os.environ[GROWTH]  # the core's journal takes variables back
    assert (tensorflow.context.Context.ensure_initialized, tensorflow.session.BaseSession.__init__) == originals
    assert find_guard(tensorflow.context) is None
    tensorflow.current().ensure_initialized()
    assert [len(limits) for limits in tensorflow.allocators.values()] == [1, 1]
    assert tensorflow.allocators[0][0] > 2 * GIB
    assert dict(os.environ) == before


def test_after_the_start_nothing_can_be_taken_back_and_that_is_said(tensorflow: Any) -> None:
    _, undo = apply(tensorflow, limit(2 * GIB))
    tensorflow.current().ensure_initialized()
    with pytest.raises(StartedError, match="until the process ends"):
        undo()


def test_a_started_tensorflow_takes_no_call(tensorflow: Any) -> None:
    tensorflow.current().ensure_initialized()
    with pytest.raises(StartRefusedError, match="context exists already"):
        apply(tensorflow, limit(2 * GIB))


def test_a_module_that_only_has_the_name_is_refused(monkeypatch: pytest.MonkeyPatch, tensorflow: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tensorflow.python.eager.context", None)
    with pytest.raises(StartRefusedError, match="is not TensorFlow"):
        apply(tensorflow, limit(GIB))


def test_an_unknown_call_is_an_error(tensorflow: Any) -> None:
    with pytest.raises(ValueError, match="unknown call"):
        apply(tensorflow, RuntimeCall("no_such_call"))


def test_32_threads_start_it_once(tensorflow: Any) -> None:
    progress, _ = apply(tensorflow, limit(2 * GIB))
    barrier = threading.Barrier(32)

    def first_use() -> None:
        barrier.wait()
        tensorflow.current().ensure_initialized()

    tensorflow.current()
    threads = [threading.Thread(target=first_use) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tensorflow.starts == 1
    assert kinds(progress) == ["pending", "done"]
