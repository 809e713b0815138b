"""In which state PyTorch is, found without importing or starting anything."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import Answer, FrameworkState, NativeSetting, cuda_state, installed_versions
from gpumem_torch.build import imported_build, installed_build, why_not
from gpumem_torch.call_record import RECORD
from gpumem_torch.imported import Torch, UnreadableError, imported_module
from gpumem_torch.keys import reads_real
from gpumem_torch.observe import observe
from gpumem_torch.parse import read
from gpumem_torch.variables import text_in_force


def examine(environ: Mapping[str, str]) -> FrameworkState:
    """Return the state of PyTorch in this process."""
    versions = installed_versions(("torch",))
    module = imported_module()
    if module is None:
        reason = why_not(installed_build()) if versions else ""
        return FrameworkState(versions, evidence="torch is not imported", applicable=not reason, why_not=reason)
    torch = Torch(module)
    if not torch.genuine:
        return FrameworkState(
            versions,
            imported=Answer.YES,
            evidence="the module named torch is not PyTorch",
            applicable=False,
            why_not="the module named torch is not PyTorch",
        )
    if torch.version:
        versions = {"torch": torch.version}
    reason = why_not(imported_build(module))
    if not reason and torch.bad_fork:
        reason = "CUDA was initialised before this process was forked, and PyTorch refuses the GPU in such a process"
    if reason:
        return FrameworkState(
            versions, imported=Answer.YES, evidence="torch is imported", applicable=False, why_not=reason
        )
    started, evidence = _started(torch)
    return FrameworkState(
        versions,
        imported=Answer.YES,
        started=started,
        evidence=evidence,
        settings=_user_limits(torch, environ),
        observations=observe(module),
        details={"backend": torch.backend, "configuration": _configuration(torch, started)},
    )


def _started(torch: Torch) -> tuple[Answer, str]:
    if torch.cuda_started:
        return Answer.YES, "torch.cuda.is_initialized() is True"
    allocator = torch.allocator_started
    if allocator:
        # Tensor.pin_memory() starts the allocator and leaves is_initialized() False.
        return Answer.YES, "PyTorch's GPU allocator runs already, though torch.cuda.is_initialized() is False"
    if allocator is None and cuda_state().contexts:
        return Answer.UNKNOWN, "another library has started CUDA, and this PyTorch does not tell if its allocator has"
    return Answer.NO, "torch is imported, torch.cuda.is_initialized() is False"


def _configuration(torch: Torch, started: Answer) -> str | None:
    """Return the string that PyTorch has read, None where it has read none yet or does not tell."""
    if started is not Answer.YES:
        return None
    try:
        return torch.configuration_text()
    except UnreadableError:
        return None


def _user_limits(torch: Torch, environ: Mapping[str, str]) -> tuple[NativeSetting, ...]:
    """Return the limits that the user set with PyTorch's own call: those that are neither gpumem's nor the string's."""
    if not torch.cuda_started:
        return ()
    in_string = reads_real(read(text_in_force(environ, torch.release)).values.get("per_process_memory_fraction", "1"))
    found = []
    for device in range(torch.count()):
        try:
            fraction = torch.fraction(device)
        except UnreadableError:
            continue
        allowed = round(fraction * torch.total(device))
        ours = RECORD.allowed.get(device)
        if not 0 < fraction < 1 or (ours is not None and abs(allowed - ours) <= 1):
            continue
        if in_string is not None and abs(fraction - in_string) < 1e-6:
            continue
        source = f"torch.cuda.set_per_process_memory_fraction({fraction:.6g}, {device})"
        found.append(NativeSetting("fraction", fraction, source, device))
    return tuple(found)
