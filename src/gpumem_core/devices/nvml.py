"""The machine's devices as NVML lists them. NVML makes no CUDA context and takes no device memory."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True, slots=True)
class NvmlDevice:
    """One device of the machine, in the order of the bus.

    Attributes:
        index: NVML's index, which is not CUDA's ordinal.
        uuid: the UUID, None where NVML does not say.
        name: the product name, None where NVML does not say.
        total: bytes in all, None where NVML does not say (integrated GPUs, some virtual ones).
        free: bytes free, None where NVML does not say.
    """

    index: int
    uuid: str | None
    name: str | None
    total: int | None
    free: int | None


@dataclass(frozen=True, slots=True)
class NvmlReading:
    """What NVML said.

    Attributes:
        devices: the devices that could be asked.
        driver: False where there is no driver, True where there is one, None where that is unknown.
        why: a sentence where something could not be asked, else empty.
    """

    devices: tuple[NvmlDevice, ...] = ()
    driver: bool | None = None
    why: str = ""


def read_nvml(uuids: tuple[str, ...] = ()) -> NvmlReading:
    """List the devices, and the MIG instances named in `uuids`, which no index reaches.

    Nothing is raised: what cannot be asked is None, with the reason in `why`.
    """
    try:
        import pynvml
    except ImportError as error:
        return NvmlReading(why=f"the NVML binding cannot be imported ({error})")
    if not hasattr(pynvml, "nvmlMemory_v2"):
        # Older distributions ship a module of the same name.
        return NvmlReading(why="the module pynvml is not the one of nvidia-ml-py; uninstall the other distribution")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return NvmlReading(driver=_no_driver(pynvml, error), why=f"NVML cannot be opened: {error}")
    try:
        count = int(pynvml.nvmlDeviceGetCount())
        problems: list[str] = []
        devices = [_by_index(pynvml, index, problems) for index in range(count)]
        devices += [_by_uuid(pynvml, uuid, problems) for uuid in uuids if uuid.startswith("MIG-")]
        return NvmlReading(tuple(device for device in devices if device), True, "; ".join(problems))
    except pynvml.NVMLError as error:
        return NvmlReading(driver=True, why=f"NVML cannot list the devices: {error}")
    finally:
        pynvml.nvmlShutdown()


def _no_driver(pynvml: ModuleType, error: Exception) -> bool | None:
    # A missing NVML library does not mean a missing driver: containers may bring one without the other.
    return False if getattr(error, "value", None) == pynvml.NVML_ERROR_DRIVER_NOT_LOADED else None


def _by_index(pynvml: ModuleType, index: int, problems: list[str]) -> NvmlDevice | None:
    try:
        return _ask(pynvml, index, pynvml.nvmlDeviceGetHandleByIndex(index), problems)
    except pynvml.NVMLError as error:
        # One bad device must not hide the others.
        problems.append(f"device {index} cannot be asked: {error}")
        return NvmlDevice(index, None, None, None, None)


def _by_uuid(pynvml: ModuleType, uuid: str, problems: list[str]) -> NvmlDevice | None:
    try:
        return _ask(pynvml, -1, pynvml.nvmlDeviceGetHandleByUUID(uuid), problems)
    except pynvml.NVMLError as error:
        problems.append(f"{uuid} cannot be asked: {error}")
        return None


def _ask(pynvml: ModuleType, index: int, handle: object, problems: list[str]) -> NvmlDevice:
    total, free = _memory(pynvml, index, handle, problems)
    return NvmlDevice(
        index, _text(pynvml, "nvmlDeviceGetUUID", handle), _text(pynvml, "nvmlDeviceGetName", handle), total, free
    )


def _memory(pynvml: ModuleType, index: int, handle: object, problems: list[str]) -> tuple[int | None, int | None]:
    try:
        try:
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
        except pynvml.NVMLError_FunctionNotFound:  # a driver before 510
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    except pynvml.NVMLError as error:
        problems.append(f"device {index} does not tell its memory: {error}")
        return None, None
    return (int(memory.total) or None), int(memory.free)


def _text(pynvml: ModuleType, function: str, handle: object) -> str | None:
    try:
        value = getattr(pynvml, function)(handle)
    except pynvml.NVMLError:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
