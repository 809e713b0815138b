"""The user's variables, as JAX itself reads them."""

from __future__ import annotations

import pytest

from gpumem_jax.native import hidden_by, read_variables

NEW = dict.fromkeys(("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt"), "0.12.0.1")
OLD = dict.fromkeys(NEW, "0.4.35")
FRACTION, NEWER = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
PREALLOCATE, ALLOCATOR = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"
UNIFIED = "TF_FORCE_UNIFIED_MEMORY"


def settings(environ: dict[str, str], versions: dict[str, str] = NEW) -> dict[str, object]:
    return {setting.field: setting.value for setting in read_variables(environ, versions).settings}


def faults(environ: dict[str, str], versions: dict[str, str] = NEW) -> dict[str, bool]:
    return {fault.variable: fault.fatal for fault in read_variables(environ, versions).faults}


@pytest.mark.parametrize(
    ("text", "value"),
    [(".5", 0.5), ("1", 1.0), ("1e-3", 0.001), (" 0.5 ", 0.5), ("", None), (".XX", None), ("50%", None)],
)
def test_a_fraction_is_read_with_float(text: str, value: float | None) -> None:
    assert settings({FRACTION: text}).get("fraction") == value


@pytest.mark.parametrize("text", [".XX", "50%", "0,5", "abc"])
def test_a_fraction_that_is_no_number_loses_the_gpu(text: str) -> None:
    assert faults({FRACTION: text}) == {FRACTION: True}
    assert faults({NEWER: text}) == {NEWER: True}


@pytest.mark.parametrize("text", ["50", "100", "-0.5", "nan", "inf", "0", "1.0001"])
def test_a_fraction_that_is_no_share_misleads(text: str) -> None:
    assert faults({FRACTION: text}) == {FRACTION: False}
    assert settings({FRACTION: text}) == {}


@pytest.mark.parametrize(("text", "lost"), [(".5", True), ("", False)])
def test_both_names_lose_the_gpu_unless_one_is_empty(text: str, lost: bool) -> None:
    assert faults({FRACTION: ".5", NEWER: text}) == ({FRACTION: True} if lost else {})


@pytest.mark.parametrize(
    ("text", "value", "misleads"),
    [
        ("false", False, False),
        ("False", False, False),
        ("0", False, False),
        ("true", True, False),
        ("1", True, False),
        ("FALSE", True, True),
        ("no", True, True),
        ("off", True, True),
        (" false", True, True),
        ("false ", True, True),
    ],
)
def test_only_three_spellings_switch_preallocation_off(text: str, value: bool, misleads: bool) -> None:
    assert settings({PREALLOCATE: text}) == {"preallocate": value}
    assert faults({PREALLOCATE: text}) == ({PREALLOCATE: False} if misleads else {})


@pytest.mark.parametrize(
    ("text", "word"),
    [("bfc", "pool"), ("CUDA_ASYNC", "async"), ("Platform", "direct"), ("vmm", "vmm"), ("default", "default")],
)
def test_allocators_are_read_in_any_case(text: str, word: str) -> None:
    assert settings({ALLOCATOR: text}) == {"allocator": word}


@pytest.mark.parametrize(
    ("text", "versions", "lost"),
    [
        ("", NEW, True),
        (" bfc", NEW, True),
        ("cuda_malloc_async", NEW, True),
        ("vmm", OLD, True),
        ("address", NEW, False),
    ],
)
def test_unknown_allocators_lose_the_gpu(text: str, versions: dict[str, str], lost: bool) -> None:
    assert faults({ALLOCATOR: text}, versions) == ({ALLOCATOR: True} if lost else {})


@pytest.mark.parametrize("version", ["0.10.1", "0.10.2"])
def test_the_broken_platform_allocator_is_told(version: str) -> None:
    assert faults({ALLOCATOR: "platform"}, dict.fromkeys(NEW, version)) == {ALLOCATOR: False}


def test_a_fraction_is_no_limit_without_the_pool() -> None:
    """Neither under cuda_async, nor below 1 under unified memory."""
    for other in ({ALLOCATOR: "cuda_async"}, {UNIFIED: "1"}):
        environ = {FRACTION: ".5", **other}
        assert "fraction" not in settings(environ)
        assert faults(environ) == {FRACTION: False}


def test_unified_memory_takes_a_fraction_above_one() -> None:
    assert settings({FRACTION: "1.5", UNIFIED: "TRUE"}) == {"fraction": 1.5, "allocator": "managed"}
    assert faults({UNIFIED: "yes"}) == {UNIFIED: False}


def test_whole_numbers_are_checked_where_they_are_read() -> None:
    abort = "XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE"
    assert faults({abort: "true"}) == {abort: True}
    assert faults({abort: ""}) == {abort: True}
    assert faults({abort: "true"}, OLD) == {}
    size = "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"
    assert (faults({size: "1.5"}), faults({size: ""})) == ({size: True}, {})
    ahead = "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC"
    assert (faults({ahead: "x"}), faults({ahead: "x", ALLOCATOR: "cuda_async"})) == ({}, {ahead: True})


def test_options_of_the_client_as_text() -> None:
    """They beat the variables; numbers cannot stand in them."""
    name = "JAX_PJRT_CLIENT_CREATE_OPTIONS"
    assert settings({name: "allocator:cuda_async", ALLOCATOR: "bfc"}) == {"allocator": "async"}
    assert faults({name: "memory_fraction:0.5"}) == {name: True}
    assert faults({name: "allocator:nonsense"}) == {name: True}


def test_names_that_do_not_do_what_they_say() -> None:
    assert faults({"JAX_CUDA_VISIBLE_DEVICES": "0"}) == {"JAX_CUDA_VISIBLE_DEVICES": False}
    assert faults({"JAX_PLATFORMS": "gpu"}) == {"JAX_PLATFORMS": True}
    assert faults({"JAX_PLATFORMS": "cuda,cpu"}) == {}


@pytest.mark.parametrize(("text", "hidden"), [("cpu", True), ("tpu,cpu", True), ("cuda,cpu", False), ("", False)])
def test_platforms_without_a_gpu_hide_it(text: str, hidden: bool) -> None:
    assert bool(hidden_by({"JAX_PLATFORMS": text})) == hidden
