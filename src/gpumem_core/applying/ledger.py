"""What was changed in this process, what is still to come, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from gpumem_core.applying.announce import announce
from gpumem_core.applying.import_watch import ImportWatch, fully_imported
from gpumem_core.applying.variables import VariableJournal
from gpumem_core.devices.cuda_state import cuda_state
from gpumem_core.devices.probe import known_devices
from gpumem_core.model.device import Devices
from gpumem_core.model.outcome import Outcome
from gpumem_core.model.plan import RuntimeCall, Step
from gpumem_core.plugins.hookspecs import Undo
from gpumem_core.plugins.registry import PluginProblem, Registry

Key = tuple[str, int]
"""A framework and the position of a step in its plan."""


class Ledger:
    """The changes of one `configure`, and how to take them back.

    Args:
        registry: the plugins.
        journal: the variables, shared with the ledgers before.
        ignored: codes of warnings that are not given.
    """

    def __init__(self, registry: Registry, journal: VariableJournal, ignored: Iterable[str] = ()) -> None:
        """Start with nothing done."""
        self.registry = registry
        self.journal = journal
        self.ignored = tuple(ignored)
        self.outcomes: dict[Key, Outcome] = {}
        self._undo: list[tuple[str, str, Undo | None]] = []
        self._waiting: dict[str, list[tuple[int, Step]]] = {}
        self._warnings: dict[str, list[tuple[str, str]]] = {}
        # No lock: a callback of the import watch takes its entry with one atomic pop, so that it never waits for
        # `configure` in another thread, and no fork can leave a lock taken in the child.
        self._watch = ImportWatch(self._imported)
        self._closed = False

    def record(self, framework: str, position: int, outcome: Outcome) -> None:
        """Write down what became of a step."""
        self.outcomes[framework, position] = outcome

    def call(self, framework: str, position: int, step: Step, module: ModuleType) -> None:
        """Carry out a runtime call.

        Raises:
            PluginProblem: when the plugin raises.
        """
        assert isinstance(step.action, RuntimeCall)
        progress = StepProgress(self, framework, position, step)
        undo = self.registry.apply(framework, step.action, module, progress)
        self._undo.append((framework, str(step.action), undo))
        self.outcomes.setdefault((framework, position), Outcome("applied"))

    def wait_for_import(self, framework: str, steps: list[tuple[int, Step]]) -> None:
        """Carry out runtime calls as soon as the framework is imported."""
        for position, _step in steps:
            self.record(framework, position, Outcome("pending", f"until {framework} is imported"))
        self._waiting[framework] = steps
        self._watch.add(framework)
        module = fully_imported(framework)
        if module is not None:  # another thread finished the import meanwhile
            self._imported(framework, module)

    def warn_when_imported(self, framework: str, code: str, text: str) -> None:
        """Give a warning when a framework is imported."""
        self._warnings.setdefault(framework, []).append((code, text))
        self._watch.add(framework)

    def catch_up(self) -> None:
        """Do what waited for imports that another thread has finished meanwhile."""
        self._watch.tell_finished()

    def _imported(self, framework: str, module: ModuleType) -> None:
        """Do what waited for this import. Never raises: that would make the user's import fail."""
        steps = self._waiting.pop(framework, [])
        texts = self._warnings.pop(framework, [])
        if self._closed:
            return
        for code, text in texts:
            announce(code, text, self.ignored, deferred=True, skip=(framework,))
        for position, step in steps:
            self.outcomes.pop((framework, position), None)
            try:
                self.call(framework, position, step, module)
            except PluginProblem as problem:
                self.failed(framework, position, step, str(problem))

    def failed(self, framework: str, position: int, step: Step, text: str) -> None:
        """Record the failure of a deferred step and give the warning for it."""
        self.record(framework, position, Outcome("failed", text))
        message = (
            f"{framework}: {', '.join(step.fields)} ({step.because}) is not in force: {step.action} failed: {text}"
        )
        announce("GM203", message, self.ignored, deferred=True, skip=(framework,))

    def withdraw(self, framework: str, names: frozenset[str]) -> None:
        """Take back the changes made for one framework, whose plugin failed."""
        mine = [entry for entry in self._undo if entry[0] == framework]
        self._undo = [entry for entry in self._undo if entry[0] != framework]
        _undo_all(mine)
        self.journal.restore(names)
        self._waiting.pop(framework, None)

    def close(self) -> tuple[str, ...]:
        """Stop waiting and take the runtime calls back; return what could not be taken back."""
        self._closed = True
        self._watch.remove()
        self._waiting.clear()
        self._warnings.clear()
        entries, self._undo = self._undo, []
        return _undo_all(entries)


def _undo_all(entries: list[tuple[str, str, Undo | None]]) -> tuple[str, ...]:
    left: list[str] = []
    for framework, text, undo in reversed(entries):
        if undo is None:
            left.append(f"{framework}: {text} cannot be taken back in this process")
            continue
        try:
            undo()
        except Exception as error:  # noqa: BLE001 - the other changes must still be taken back; this one is told
            left.append(f"{framework}: {text} could not be taken back: {type(error).__name__}: {error}")
    return tuple(left)


def without_plugin(framework: str, distribution: str) -> str:
    """Return the sentence on a framework that is imported without its plugin."""
    return (
        f"{framework} is imported, but no plugin for it is installed: the policy does not reach it; "
        f"install it with: pip install {distribution}"
    )


class StepProgress:
    """How a plugin tells what became of a deferred call; see `gpumem.plugin.Progress`."""

    def __init__(self, ledger: Ledger, framework: str, position: int, step: Step) -> None:
        """Remember which step it is about."""
        self._ledger = ledger
        self._framework = framework
        self._position = position
        self._step = step

    def pending(self, until: str) -> None:
        """Say that the call takes effect later."""
        self._ledger.record(self._framework, self._position, Outcome("pending", until))

    def done(self, note: str = "") -> None:
        """Say that the call has taken effect."""
        self._ledger.record(self._framework, self._position, Outcome("applied", note))

    def failed(self, error: BaseException | str) -> None:
        """Say that the call failed; gives a warning at the user's line."""
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self._ledger.failed(self._framework, self._position, self._step, text)

    def devices(self) -> Devices:
        """Return the devices with the driver's own totals if CUDA is initialised; starts nothing."""
        cuda = cuda_state()
        if cuda.initialised:
            return Devices(cuda.devices, complete=True, source="cuda", driver=True)
        return known_devices({})
