"""Options that are put in force when JAX discovers its backends, or between that and its client."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from gpumem.plugin import Device, Devices, RuntimeCall
from gpumem.testing import RecordedProgress
from gpumem_jax import start
from gpumem_jax.client_options import JaxStartedError
from gpumem_jax.discovery import initialize
from gpumem_jax.runtime import carry_out
from gpumem_jax.state import STATE

GIB = 1 << 30
CUDA = Devices((Device(0, total=16 * GIB), Device(1, total=8 * GIB)), complete=True, source="cuda")


def call(**changes: Any) -> RuntimeCall:
    arguments: dict[str, Any] = {
        "options": {"preallocate": False},
        "limits": {"others": {"bounds": [[0.0, 4 * GIB]], "most": 4 * GIB}},
        "visible": None,
        "written": {},
        "above_one": False,
        "limit_in_bytes": True,
    }
    return RuntimeCall("client_options", {**arguments, **changes})


@pytest.fixture(autouse=True)
def no_driver_is_initialised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_run_driver", lambda: None)


@pytest.mark.parametrize("plugin_first", [True, False])
def test_the_driver_totals_reach_the_client_in_either_order(fake_jax: Any, plugin_first: bool) -> None:
    """JAX calls the discovered modules in the order of a set."""
    progress = RecordedProgress(CUDA)
    undo = carry_out(call(), fake_jax.module, progress)
    assert progress.told == [("pending", "until JAX first uses a device")]
    fake_jax.discover(initialize, plugin_first=plugin_first)
    used = fake_jax.options_in_use()
    assert (used["memory_fraction"], used["preallocate"]) == (0.25, False)
    assert [kind for kind, _text in progress.told] == ["pending", "done"]
    assert "0.25" in progress.told[-1][1]
    assert undo is not None
    undo()
    assert "memory_fraction" not in fake_jax.options_in_use()


def test_taken_back_before_the_start_nothing_happens(fake_jax: Any) -> None:
    progress = RecordedProgress(CUDA)
    undo = carry_out(call(), fake_jax.module, progress)
    assert undo is not None
    undo()
    fake_jax.discover(initialize)
    assert "memory_fraction" not in fake_jax.options_in_use()
    assert len(progress.told) == 1


def test_frozen_options_are_changed_at_once(fake_jax: Any) -> None:
    fake_jax.discover(initialize)
    progress = RecordedProgress(CUDA)
    undo = carry_out(call(), fake_jax.module, progress)
    assert fake_jax.options_in_use()["memory_fraction"] == 0.25
    assert undo is not None
    undo()
    assert fake_jax.options_in_use() == {"platform_name": "cuda", "allocator": "default"}


def test_other_options_of_the_user_are_kept(fake_jax: Any) -> None:
    """As text they are the only form that old versions take; there, only what would beat ours is taken out."""
    fake_jax.config.update("jax_pjrt_client_create_options", "abc:1;allocator:cuda_async")
    fake_jax.discover(initialize)
    undo = carry_out(call(options={"allocator": "default"}), fake_jax.module, RecordedProgress(CUDA))
    if fake_jax.old:
        assert fake_jax.config.jax_pjrt_client_create_options == "abc:1"
    else:
        assert fake_jax.config.jax_pjrt_client_create_options["abc"] == "1"
    assert fake_jax.options_in_use()["allocator"] == "default"
    assert undo is not None
    undo()
    configured = fake_jax.config.jax_pjrt_client_create_options
    assert configured in ("abc:1;allocator:cuda_async", {"abc": "1", "allocator": "cuda_async"})


def test_after_the_start_it_is_refused_and_cannot_be_taken_back(fake_jax: Any, device: Callable[..., Any]) -> None:
    undo = carry_out(call(), fake_jax.module, RecordedProgress(CUDA))
    fake_jax.discover(initialize)
    fake_jax.start(device(0, None))
    assert undo is not None
    with pytest.raises(JaxStartedError):
        undo()
    with pytest.raises(JaxStartedError):
        carry_out(call(), fake_jax.module, RecordedProgress(CUDA))
    STATE.intention = None
    STATE.written.clear()


@pytest.mark.parametrize("devices", [Devices(why="no driver"), Devices((Device(0),), complete=True, source="cuda")])
def test_totals_that_nobody_tells_fail_without_raising(fake_jax: Any, devices: Devices) -> None:
    progress = RecordedProgress(devices)
    undo = carry_out(call(), fake_jax.module, progress)
    fake_jax.discover(initialize)
    assert progress.told[-1][0] == "failed"
    assert undo is not None
    undo()


def test_a_fraction_made_before_stays_where_the_driver_is_silent(fake_jax: Any) -> None:
    progress = RecordedProgress(Devices(why="no driver"))
    undo = carry_out(call(options={"memory_fraction": 0.2}), fake_jax.module, progress)
    fake_jax.discover(initialize)
    assert progress.told[-1][0] == "done"
    assert fake_jax.options_in_use()["memory_fraction"] == 0.2
    assert undo is not None
    undo()


@pytest.mark.parametrize("how", ["platforms", "no card"])
def test_a_jax_without_gpus_gets_nothing(fake_jax: Any, how: str) -> None:
    """CUDA must not be initialised for it either."""
    if how == "platforms":
        fake_jax.config.jax_platforms = "cpu"
    else:
        fake_jax.hardware.has_visible_nvidia_gpu = lambda: False
    progress = RecordedProgress(CUDA)
    undo = carry_out(call(), fake_jax.module, progress)
    fake_jax.discover(initialize)
    assert progress.told[-1] == ("done", "JAX starts without an NVIDIA GPU: there is nothing to limit")
    assert fake_jax.config.jax_pjrt_client_create_options is None
    assert undo is not None
    undo()


def test_a_changed_variable_is_overruled_and_told(fake_jax: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
    progress = RecordedProgress(CUDA)
    undo = carry_out(call(written={"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.25"}), fake_jax.module, progress)
    fake_jax.discover(initialize)
    assert fake_jax.options_in_use()["memory_fraction"] == 0.25
    assert "0.9" in progress.told[-1][1]
    assert undo is not None
    undo()
    monkeypatch.delitem(os.environ, "XLA_PYTHON_CLIENT_MEM_FRACTION")


@pytest.mark.parametrize(
    ("limits", "visible", "fraction"),
    [
        ({"others": {"bounds": [[0.0, 4 * GIB]], "most": None}}, None, 0.25),
        ({"0": {"bounds": [[0.0, 4 * GIB]], "most": None}, "1": {"bounds": [[0.0, GIB]], "most": None}}, None, 0.125),
        ({"0": {"bounds": [[0.0, 4 * GIB]], "most": None}, "1": {"bounds": [[0.0, GIB]], "most": None}}, [0], 0.25),
        ({"0": {"bounds": [[0.5, 0], [0.0, 12 * GIB]], "most": None}, "1": None}, None, 0.5),
        ({"others": {"bounds": [[1.0, -4 * GIB]], "most": None}}, None, 0.5),
        ({"0": {"bounds": [[0.5, 0]], "most": 4 * GIB}}, None, 0.25),
        ({"0": {"bounds": [[0.0, 99 * GIB]], "most": None}}, None, 1.0),
    ],
)
def test_the_smallest_share_over_the_visible_devices_decides(limits: Any, visible: Any, fraction: float) -> None:
    options, _note = start.options_of(call(limits=limits, visible=visible).arguments, CUDA)
    assert options["memory_fraction"] == fraction


def test_configuration_is_updated_and_taken_back(fake_jax: Any) -> None:
    undo = carry_out(
        RuntimeCall("update_config", {"name": "jax_cuda_visible_devices", "value": "0,2"}),
        fake_jax.module,
        RecordedProgress(),
    )
    assert fake_jax.bridge.CUDA_VISIBLE_DEVICES.value == "0,2"
    assert undo is not None
    undo()
    assert fake_jax.bridge.CUDA_VISIBLE_DEVICES.value == "all"


def test_without_an_entry_point_jax_calls_back_after_its_discovery(
    fake_jax: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen application has no metadata."""
    monkeypatch.setattr("gpumem_jax.runtime.entry_points", lambda **_group: ())
    undo = carry_out(call(), fake_jax.module, RecordedProgress(CUDA))
    fake_jax.discover(lambda: None)
    assert fake_jax.options_in_use()["memory_fraction"] == 0.25
    assert undo is not None
    undo()


def test_without_gpumem_the_discovery_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gpumem_jax.state")
    initialize()
