"""Playing the scenes, each in fresh processes on a simulated card of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpumem_tools.demo.scenes import Plan, Scene, plan_for, scene_of, script_of
from gpumem_tools.frameworks import Tryable
from gpumem_tools.trial.launch import launch

if TYPE_CHECKING:
    from gpumem_simgpu import SimulatedGpus

Say = Callable[[str], None]


@dataclass(frozen=True)
class Stage:
    """Where the scenes are played.

    Attributes:
        gpus: the simulated card.
        environ: the environment of every process, without what would change the frameworks' defaults.
        say: how progress is told.
    """

    gpus: SimulatedGpus
    environ: Mapping[str, str]
    say: Say

    def play(
        self, title: str, frameworks: Sequence[Tryable], plan: Plan, policy: Mapping[str, Any] | None, processes: int
    ) -> Scene:
        """Play one scene."""
        self.say(f"playing: {title}")
        script = script_of(frameworks, plan, policy, processes=processes)
        launched = launch(script, self.environ, self.gpus)
        return scene_of(Scene(title, policy, plan.total), frameworks, plan, launched, processes)

    def play_all(self, frameworks: Sequence[Tryable], plan: Plan) -> tuple[Scene, ...]:
        """Play every scene; those that do not depend on each other at the same time."""
        everybody = "one process with " + _together([framework.title for framework in frameworks])
        with ThreadPoolExecutor(2) as pool:
            plain = pool.submit(self.play, f"{everybody}, no policy", frameworks, plan, None, 1)
            cured = pool.submit(self.play, f"{everybody}, one policy", frameworks, plan, plan.policy, 1)
            scenes = [plain.result(), cured.result()]
            halves = plan_for(plan.total, 2)
            greedy = greediest(scenes[0], frameworks, halves)
            if greedy is None:
                return tuple(scenes)
            both = f"two processes with {greedy.title}"
            alone = pool.submit(self.play, f"{both}, no policy", [greedy], halves, None, 2)
            shared = pool.submit(self.play, f"{both}, one policy", [greedy], halves, halves.policy, 2)
            return (scenes[0], alone.result(), scenes[1], shared.result())


def greediest(scene: Scene, frameworks: Sequence[Tryable], plan: Plan) -> Tryable | None:
    """Return the framework that leaves a second process of its kind without room, None where there is none.

    Args:
        scene: the frameworks without a policy.
        frameworks: those that took part.
        plan: what a process would ask for if two shared the card.
    """
    ahead = {part.framework: part.first_taken or 0 for part in scene.parts}
    name = max(ahead, key=lambda framework: ahead[framework], default="")
    if ahead.get(name, 0) + plan.wanted <= plan.total:
        return None
    return next(framework for framework in frameworks if framework.name == name)


def clean_environment(environ: Mapping[str, str], frameworks: Sequence[Tryable]) -> dict[str, str]:
    """Return an environment in which the frameworks have their defaults and see every device.

    Args:
        environ: the present one.
        frameworks: whose variables are left out.
    """
    left_out = {name for framework in frameworks for name in framework.variables}
    left_out |= {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}
    return {name: value for name, value in environ.items() if name not in left_out and not name.startswith("GPUMEM_")}


def _together(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
