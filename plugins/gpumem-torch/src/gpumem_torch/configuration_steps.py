"""Steps that change the configuration string: by variable before the import, by PyTorch's setter after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpumem.plugin import (
    Answer,
    Deadline,
    Moment,
    NotExpressed,
    Origin,
    PlanPart,
    RuntimeCall,
    Scope,
    SetVariable,
    Step,
    Strength,
)
from gpumem_torch import configure_allocator
from gpumem_torch.choose_allocator import Choice
from gpumem_torch.keys import KEYS
from gpumem_torch.parse import Entry, merge
from gpumem_torch.release import ONE_CONFIGURATION, is_before
from gpumem_torch.situation import Situation
from gpumem_torch.translate_options import Options
from gpumem_torch.variables import CUDA_NAME, NEW_NAME


class ConfigurationSteps:
    """The changes of the string, from the allocator word and from options, put into steps.

    Args:
        framework: the framework's name, for refusals.
        choice: the allocator.
        options: the options.
        situation: what is there.
    """

    def __init__(self, framework: str, choice: Choice, options: Options, situation: Situation) -> None:
        """Put both sources together."""
        self.framework = framework
        self.situation = situation
        self.changes: dict[str, str | None] = {**choice.keys, **options.keys}
        self.origins: dict[tuple[str, str], Origin] = {}
        for key in choice.keys:
            if choice.origin:
                self.origins[key, "allocator"] = choice.origin
        for key, origin in options.origins.items():
            self.origins[key, f"options.{key}"] = origin

    def values(self) -> Mapping[str, str]:
        """Return what will be in force by key."""
        changed = {key: value for key, value in self.changes.items() if value is not None}
        return {**self.situation.configuration.values, **changed}

    def parts(self) -> PlanPart:
        """Return the steps."""
        if not self.changes:
            return PlanPart()
        if not self.situation.configuration.usable:
            return self._refused()
        return self._by_setter() if self.situation.imported else self._by_variable()

    def _refused(self) -> PlanPart:
        token = next(token for token in self.situation.configuration.bad if token.harm != "none")
        reason = (
            f"the user's own configuration string cannot be read by PyTorch: {token.text!r} at character "
            f"{token.position} {token.problem}. Repair or unset it first"
        )
        found = {of: origin for (_key, of), origin in self.origins.items()}
        return PlanPart(not_expressed=tuple(NotExpressed(self.framework, of, reason, o) for of, o in found.items()))

    def _by_variable(self) -> PlanPart:
        text = merge(self.situation.configuration.entries, self.changes)
        # The backend is read while PyTorch is being imported, the rest when CUDA starts (BackendStaticInitializer,
        # c10/cuda/CUDACachingAllocator.cpp).
        deadline = Deadline.IMPORT if "backend" in self.changes else Deadline.START
        # Both names: up to 2.9 only the first one counts for GPU memory, from 2.10 on it still wins; 2.9 warns unless
        # the second one is set as well (pytorch/pytorch#183387).
        return PlanPart(
            tuple(self._step(SetVariable(name, text), self.changes, deadline) for name in (CUDA_NAME, NEW_NAME))
        )

    def _by_setter(self) -> PlanPart:
        steps: list[Step] = []
        changes = dict(self.changes)
        backend = changes.pop("backend", None)
        if backend is not None and backend != self.situation.backend:
            # Too late, and never to be written now: PyTorch compares it with what it read at import and fails for good,
            # here and in children (pytorch/pytorch#104801). The core refuses steps that are late.
            text = merge(self.situation.configuration.entries, {"backend": backend})
            steps.append(self._step(SetVariable(CUDA_NAME, text), ("backend",), Deadline.IMPORT))
        elif backend is not None:
            changes["backend"] = backend
        for names, deadline in self._by_deadline(changes):
            text = merge(self._entries(), {name: changes[name] for name in names})
            old = is_before(self.situation.release, ONE_CONFIGURATION)
            setter = (
                "torch.cuda.memory._set_allocator_settings" if old else "torch._C._accelerator_setAllocatorSettings"
            )
            shown = f"{setter}({text!r})"
            call = RuntimeCall(configure_allocator.NAME, {"text": text}, shown)
            steps.append(self._step(call, names, deadline))
        return PlanPart(tuple(steps))

    def _entries(self) -> tuple[Entry, ...]:
        """Return the entries that may be sent again: a backend only if it is the one that was loaded."""
        entries = self.situation.configuration.entries
        return tuple(e for e in entries if e.key != "backend" or e.value == self.situation.backend)

    def _by_deadline(self, changes: Mapping[str, str | None]) -> Iterable[tuple[tuple[str, ...], Deadline]]:
        fixed = tuple(name for name in changes if not KEYS[name].dynamic and name != "backend")
        dynamic = tuple(name for name in changes if name not in fixed)
        if self.situation.started is Answer.NO:
            if changes:
                yield tuple(changes), Deadline.START if fixed else Deadline.NEVER
            return
        if dynamic:
            yield dynamic, Deadline.NEVER
        if fixed:
            yield fixed, Deadline.START

    def _step(self, action: SetVariable | RuntimeCall, keys: Iterable[str], deadline: Deadline) -> Step:
        chosen = [(of, origin) for (key, of), origin in self.origins.items() if key in set(keys)]
        return Step(
            action=action,
            fields=tuple(dict.fromkeys(of for of, _origin in chosen)),
            because=min((origin for _of, origin in chosen), key=lambda origin: origin.rank),
            moment=Moment.NOW if isinstance(action, SetVariable) else Moment.ON_IMPORT,
            deadline=deadline,
            scope=Scope.PROCESS,
            strength=Strength.HARD,
        )
