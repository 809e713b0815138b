"""Where there can be no simulated devices, one sentence says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumem_simgpu import SimulatedGpus, SimulationError
from gpumem_simgpu.platforms import require_platform


def test_this_machine_will_do() -> None:
    """Nothing is said."""
    require_platform()


@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        ("gpumem_simgpu.platforms.sys.platform", "darwin", "needs 64-bit Linux on x86-64, and this is"),
        ("gpumem_simgpu.platforms.platform.machine", lambda: "aarch64", "Linux on aarch64"),
        ("gpumem_simgpu.platforms.os.confstr", lambda _: None, "needs glibc"),
    ],
)
def test_another_platform_is_one_sentence(monkeypatch: pytest.MonkeyPatch, what: str, value: object, said: str) -> None:
    """Whoever runs a program there is told; describing devices is possible anywhere."""
    gpus = SimulatedGpus("2xT4")
    monkeypatch.setattr(what, value)

    with pytest.raises(SimulationError) as caught:
        gpus.run(["/bin/true"])
    assert said in str(caught.value)
    assert str(caught.value).count(".") <= 2


def test_without_a_compiler_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unless the devices have been built before."""
    from gpumem_simgpu.device import device_folder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    device_folder.cache_clear()
    try:
        with pytest.raises(SimulationError, match="apt-get install gcc"):
            device_folder()
    finally:
        device_folder.cache_clear()
