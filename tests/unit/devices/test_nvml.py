"""NVML is asked carefully: what it does not tell is unknown, with the reason, and nothing is ever raised."""

import sys
from types import SimpleNamespace

import pytest

from gpumem_core.devices import probe
from gpumem_core.devices.cuda_state import CudaState
from gpumem_core.devices.nvml import read_nvml
from gpumem_core.sizes import GIB


class NVMLError(Exception):
    def __init__(self, value=999):
        self.value = value
        super().__init__(f"error {value}")


class NVMLError_FunctionNotFound(NVMLError):  # noqa: N801 - NVML's own name
    pass


class FakeNvml:
    """Stands in for pynvml: two cards, of which parts can be made to fail."""

    nvmlMemory_v2 = 2  # noqa: N815
    NVML_ERROR_LIBRARY_NOT_FOUND, NVML_ERROR_DRIVER_NOT_LOADED = 12, 9
    NVMLError, NVMLError_FunctionNotFound = NVMLError, NVMLError_FunctionNotFound

    def __init__(self, **failing):
        self.failing = failing
        self.open = 0

    def __getattr__(self, name):
        if not name.startswith("nvml"):
            raise AttributeError(name)
        return lambda *arguments, **options: self.answer(name, *arguments, **options)

    def answer(self, name, *arguments, version=None):
        error = self.failing.get(name)
        if callable(error):
            error = error(*arguments, version)
        if error is not None:
            raise error
        if name in ("nvmlInit", "nvmlShutdown"):
            self.open += 1 if name == "nvmlInit" else -1
        return {
            "nvmlDeviceGetCount": 2,
            "nvmlDeviceGetHandleByIndex": arguments[0] if arguments else None,
            "nvmlDeviceGetHandleByUUID": 7,
            "nvmlDeviceGetUUID": f"GPU-{arguments[0] if arguments else ''}",
            "nvmlDeviceGetName": b"Numbat 1000",
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=16 * GIB, free=15 * GIB),
        }.get(name)


@pytest.fixture
def nvml(monkeypatch):
    """Put a fake in the place of pynvml."""

    def fake(**failing):
        module = FakeNvml(**failing)
        monkeypatch.setitem(sys.modules, "pynvml", module)
        return module

    return fake


def test_every_card_is_listed_and_nvml_is_closed_again(nvml):
    module = nvml()
    reading = read_nvml()
    assert [(d.index, d.uuid, d.name, d.total, d.free) for d in reading.devices] == [
        (0, "GPU-0", "Numbat 1000", 16 * GIB, 15 * GIB),
        (1, "GPU-1", "Numbat 1000", 16 * GIB, 15 * GIB),
    ]
    assert (reading.driver, module.open) == (True, 0)


def test_a_mig_instance_is_asked_for_by_its_uuid(nvml):
    nvml()
    assert [device.index for device in read_nvml(("MIG-5", "GPU-0")).devices] == [0, 1, -1]


def test_one_bad_card_does_not_hide_the_others(nvml):
    nvml(nvmlDeviceGetHandleByIndex=lambda index, _v: NVMLError(15) if index == 0 else None)
    reading = read_nvml()
    assert [device.total for device in reading.devices] == [None, 16 * GIB]
    assert "device 0 cannot be asked" in reading.why


def test_a_total_that_is_not_told_is_unknown_with_the_reason(nvml):
    nvml(nvmlDeviceGetMemoryInfo=lambda *_: NVMLError(3))
    reading = read_nvml()
    assert [device.total for device in reading.devices] == [None, None]
    assert "does not tell its memory" in reading.why


def test_an_old_driver_is_asked_in_the_old_way(nvml):
    nvml(nvmlDeviceGetMemoryInfo=lambda _handle, version: NVMLError_FunctionNotFound(13) if version else None)
    assert [device.total for device in read_nvml().devices] == [16 * GIB, 16 * GIB]


@pytest.mark.parametrize(("code", "driver"), [(12, None), (9, False), (18, None)])
def test_whether_there_is_a_driver_follows_from_the_error(nvml, code, driver):
    nvml(nvmlInit=NVMLError(code))
    reading = read_nvml()
    assert (reading.devices, reading.driver) == ((), driver)
    assert "NVML cannot be opened" in reading.why


def test_a_list_that_cannot_be_read_is_no_error(nvml):
    module = nvml(nvmlDeviceGetCount=NVMLError(999))
    assert "cannot list" in read_nvml().why
    assert module.open == 0


def test_without_the_binding_nothing_is_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "cannot be imported" in read_nvml().why
    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace())
    assert "nvidia-ml-py" in read_nvml().why


def test_nvml_is_opened_only_where_there_is_a_driver(nvml, monkeypatch, tmp_path):
    module = nvml(nvmlInit=AssertionError("opened"))
    monkeypatch.setattr(probe, "cuda_state", lambda: CudaState("not loaded"))
    monkeypatch.setattr(probe, "_NODES", ())
    devices = probe.probe_devices({})
    assert (devices.driver, devices.why, module.open) == (False, "no NVIDIA driver was found", 0)
    monkeypatch.setattr(probe, "_NODES", (str(tmp_path),))
    nvml()
    assert [device.total for device in probe.probe_devices({}).found] == [16 * GIB, 16 * GIB]
    assert probe.known_devices({}).found == ()


def test_a_running_driver_is_asked_before_nvml(nvml, monkeypatch):
    from gpumem_core.model.device import Device

    nvml(nvmlInit=AssertionError("opened"))
    monkeypatch.setattr(probe, "cuda_state", lambda: CudaState("initialised", (Device(0, total=GIB),)))
    devices = probe.probe_devices({})
    assert (devices.source, devices.found[0].total) == ("cuda", GIB)


def test_what_is_free_is_asked_of_nvml_though_the_driver_runs(nvml, monkeypatch):
    """The driver keeps the totals and the order: its ordinal 0 is NVML's card 1 here; a third card NVML lacks."""
    from gpumem_core.model.device import Device

    running = tuple(Device(n, uuid, total=14 * GIB) for n, uuid in enumerate(("GPU-1", "GPU-0", "GPU-2", None)))
    module = nvml(nvmlDeviceGetMemoryInfo=lambda card, _version: NVMLError(3) if card == 0 else None)
    monkeypatch.setattr(probe, "cuda_state", lambda: CudaState("initialised", running))
    devices = probe.probe_devices({}, free=True)
    assert [(d.total, d.free) for d in devices.found] == [(14 * GIB, 15 * GIB), *[(14 * GIB, None)] * 3]
    assert (devices.source, devices.complete, module.open) == ("cuda", True, 0)
    assert "device 0 does not tell its memory" in devices.why


def test_assumed_devices_are_never_asked_for(nvml):
    nvml(nvmlInit=AssertionError("opened"))
    assert probe.probe_devices({"GPUMEM_ASSUME_DEVICES": "16GiB"}).source == "assumed"
