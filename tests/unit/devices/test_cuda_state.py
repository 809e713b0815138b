"""The driver is asked only if it is loaded already, and for details only if it is initialised already."""

import uuid

import pytest

from gpumem_core.devices import cuda_state as module
from gpumem_core.devices.cuda_state import cuda_state
from gpumem_core.sizes import GIB

ONE = uuid.UUID("0a1b2c3d-1111-2222-3333-444455556666")


class FakeDriver:
    """Stands in for libcuda with two devices; every call is written down."""

    def __init__(self, code=0, broken=()):
        self.code = code
        self.broken = broken
        self.calls = []

    def __getattr__(self, name):
        if not name.startswith("cu") or name in ("cuInit", "cuCtxCreate_v2", "cuDevicePrimaryCtxRetain"):
            raise AttributeError(name)
        return lambda *arguments: self.call(name, *arguments)

    def call(self, name, *arguments):
        self.calls.append(name)
        if name in self.broken:
            return 999
        if name == "cuDeviceGetCount":
            arguments[0]._obj.value = 2
            return self.code
        if name == "cuDeviceGet":
            arguments[0]._obj.value = arguments[1]
        elif name == "cuDevicePrimaryCtxGetState":
            arguments[2]._obj.value = int(arguments[0].value == 1)
        elif name == "cuDeviceTotalMem_v2":
            arguments[0]._obj.value = (16 - 8 * arguments[1].value) * GIB
        elif name == "cuDeviceGetUuid_v2":
            arguments[0].raw = ONE.bytes
        elif name == "cuDeviceGetName":
            arguments[0].value = b"Numbat 1000"
        return 0


@pytest.fixture
def driver(monkeypatch):
    def load(**how):
        fake = FakeDriver(**how)
        monkeypatch.setattr(module, "_mapped_driver", lambda: fake)
        return fake

    return load


def test_a_driver_that_is_not_loaded_is_not_loaded_for_this(monkeypatch):
    monkeypatch.setattr(module, "_mapped_driver", lambda: None)
    assert cuda_state().status == "not loaded"
    assert not cuda_state().initialised


def test_before_its_initialisation_the_driver_is_asked_one_thing_only(driver):
    fake = driver(code=3)
    assert cuda_state().status == "not initialised"
    assert fake.calls == ["cuDeviceGetCount"]


def test_another_error_is_told_with_its_number(driver):
    driver(code=100)
    assert (cuda_state().status, cuda_state().code) == ("error", 100)


def test_an_initialised_driver_tells_its_devices_and_contexts(driver):
    driver()
    found = cuda_state()
    assert found.initialised
    assert [(d.ordinal, d.uuid, d.name, d.total) for d in found.devices] == [
        (0, f"GPU-{ONE}", "Numbat 1000", 16 * GIB),
        (1, f"GPU-{ONE}", "Numbat 1000", 8 * GIB),
    ]
    assert found.contexts == {1}


@pytest.mark.parametrize("call", ["cuDeviceGet", "cuDeviceTotalMem_v2", "cuDeviceGetUuid_v2", "cuDeviceGetName"])
def test_what_the_driver_does_not_tell_is_unknown(driver, call):
    driver(broken=(call,))
    device = cuda_state().devices[0]
    known = {"cuDeviceTotalMem_v2": device.total, "cuDeviceGetUuid_v2": device.uuid, "cuDeviceGetName": device.name}
    assert known.get(call) is None
    assert len(cuda_state().devices) == 2
