"""What is read back, in each part of JAX's life."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from gpumem.plugin import Answer
from gpumem_jax import builds, observe
from gpumem_jax.discovery import initialize
from gpumem_jax.find_state import find_state
from gpumem_jax.state import STATE

GIB = 1 << 30


def seen() -> dict[tuple[str, int | None], object]:
    return {(item.field, item.device): item.value for item in observe.observe()}


@pytest.fixture(autouse=True)
def a_jax_for_gpus_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "installed", lambda: dict.fromkeys(builds.DISTRIBUTIONS, "0.12.0.1"))


def test_before_the_discovery_nothing_is_known(fake_jax: Any) -> None:
    assert fake_jax
    assert set(seen().values()) == {None}
    assert all(item.why for item in observe.observe())
    found = find_state({})
    assert (found.imported, found.started, found.details["frozen"]) == (Answer.YES, Answer.NO, False)


def test_after_the_discovery_the_frozen_options_are_read(fake_jax: Any) -> None:
    options = fake_jax.discover(initialize)
    options |= {"memory_fraction": 0.5, "preallocate": False}
    assert seen()[("limit", None)] == 0.5
    assert (seen()[("preallocate", None)], seen()[("allocator", None)]) == (False, "pool")
    found = find_state({})
    assert (found.started, found.details["frozen"], found.applicable) == (Answer.NO, True, True)


def test_the_default_of_jax_is_known(fake_jax: Any) -> None:
    fake_jax.discover(initialize)
    assert (seen()[("limit", None)], seen()[("preallocate", None)]) == (0.75, True)


@pytest.mark.parametrize(("native", "word"), [("cuda_async", "async"), ("platform", "direct"), ("address", "direct")])
def test_allocators_without_a_limit_say_none(fake_jax: Any, native: str, word: str, device: Callable[..., Any]) -> None:
    fake_jax.discover(initialize)["allocator"] = native
    statistics = {"bytes_limit": 12 * GIB, "bytes_in_use": 5} if native == "cuda_async" else None
    fake_jax.start(device(0, statistics))
    assert (seen()[("allocator", None)], seen()[("limit", None)], seen()[("limit", 0)]) == (word, 0.0, 0)


def test_a_started_jax_is_asked_itself(fake_jax: Any, device: Callable[..., Any]) -> None:
    fake_jax.discover(initialize)
    fake_jax.start(device(2, {"bytes_limit": 4 * GIB, "pool_bytes": 4 * GIB, "bytes_in_use": 7}))
    assert (seen()[("limit", 2)], seen()[("visible", None)]) == (4 * GIB, (2,))
    held = {item.device: item.held for item in observe.observe() if item.field == "limit"}
    assert held[2] == 4 * GIB
    found = find_state({})
    assert (found.started, found.applicable) == (Answer.YES, True)
    assert "cuda" in found.evidence


def test_preallocation_that_the_driver_refused_is_found_out(fake_jax: Any, device: Callable[..., Any]) -> None:
    fake_jax.discover(initialize)
    fake_jax.start(
        device(0, {"bytes_limit": 12 * GIB, "pool_bytes": 9 * GIB}), device(1, {"bytes_limit": 1, "pool_bytes": 0})
    )
    assert seen()[("preallocate", None)] == 9 * GIB


def test_statistics_that_fail_are_a_reason(fake_jax: Any, device: Callable[..., Any]) -> None:
    broken = device(0, None)
    broken.memory_stats = lambda: 1 / 0
    fake_jax.discover(initialize)
    fake_jax.start(broken)
    found = next(item for item in observe.observe() if (item.field, item.device) == ("limit", 0))
    assert (found.value, "ZeroDivisionError" in found.why) == (None, True)


def test_unified_memory_is_no_limit_below_one(fake_jax: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TF_FORCE_UNIFIED_MEMORY", "1")
    fake_jax.discover(initialize)["memory_fraction"] = 0.5
    assert (seen()[("allocator", None)], seen()[("limit", None)]) == ("managed", 1.0)
    monkeypatch.delitem(os.environ, "TF_FORCE_UNIFIED_MEMORY")


def test_a_lost_gpu_is_explained(fake_jax: Any) -> None:
    fake_jax.bridge._plugins_registered = True
    fake_jax.start()
    found = find_state({})
    assert (found.applicable, "Jax plugin configuration error" in found.why_not) == (False, True)
    assert "Jax plugin configuration error" in observe.observe()[0].why


def test_a_jax_that_is_starting_is_unknown(fake_jax: Any) -> None:
    """Its lock is looked at, never taken."""
    with fake_jax.bridge._backend_lock:
        assert find_state({}).started is Answer.UNKNOWN


def test_platforms_of_the_user_hide_the_gpus(fake_jax: Any) -> None:
    fake_jax.config.jax_platforms = "cpu"
    found = find_state({"JAX_PLATFORMS": "cpu"})
    assert (found.applicable, found.why_not.count("leaves no GPU")) == (False, 1)
    assert find_state({}).applicable is False, "set by jax.config"


def test_platforms_of_gpumem_do_not(fake_jax: Any) -> None:
    """The policy hides the GPUs, and this must be verified, not called inapplicable."""
    fake_jax.config.jax_platforms = "cpu"
    STATE.written["jax_platforms"] = "cpu"
    fake_jax.start()
    assert find_state({}).applicable
    assert seen()[("visible", None)] == "none"
    STATE.written.clear()


def test_settings_of_the_users_own_configuration_are_told_from_gpumems(fake_jax: Any) -> None:
    fake_jax.config.update("jax_cuda_visible_devices", "0,2")
    assert [(item.field, item.value) for item in find_state({}).settings] == [("visible", (0, 2))]
    STATE.written["jax_cuda_visible_devices"] = "0,2"
    assert find_state({}).settings == ()
    STATE.written.clear()
    if not fake_jax.old:
        fake_jax.config.update("jax_pjrt_client_create_options", {"memory_fraction": 0.5, "preallocate": False})
        fields = [(item.field, item.value) for item in find_state({}).settings]
        assert fields[:2] == [("fraction", 0.5), ("preallocate", False)]


def test_a_jax_for_the_cpu_is_not_applicable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "installed", lambda: {"jax": "0.12.0", "jaxlib": "0.12.0"})
    monkeypatch.setattr(builds, "_folders", lambda _package: [])
    found = find_state({})
    assert (found.applicable, found.imported) == (False, Answer.NO)


def test_a_module_that_is_being_imported_counts_as_not_imported(fake_jax: Any) -> None:
    fake_jax.module.__spec__._initializing = True
    assert find_state({}).imported is Answer.NO


def test_looking_imports_nothing() -> None:
    before = set(sys.modules)
    assert observe.observe() == ()
    find_state({})
    assert not {name for name in set(sys.modules) - before if name.partition(".")[0] in {"jax", "jaxlib", "numpy"}}
