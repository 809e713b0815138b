"""The demo's arithmetic and words: what is asked, which promises are checked, and what the reader is told."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from gpumem_tools.demo import words
from gpumem_tools.demo.command import nothing_to_play, to_dict
from gpumem_tools.demo.page_of_scenes import demo_page
from gpumem_tools.demo.play import clean_environment, greediest
from gpumem_tools.demo.promises import broken_promises
from gpumem_tools.demo.scenes import Part, Scene, plan_for, scene_of, script_of
from gpumem_tools.demo.show import show
from gpumem_tools.frameworks import Frameworks, Tryable
from gpumem_tools.trial.launch import Launched
from gpumem_tools.trial.record import Record, Taken
from gpumem_tools.trial.script import Turn

MIB, GIB = 1 << 20, 1 << 30
ALPHA, BETA = (
    Tryable(name, name.title(), "1.0", (f"{name.upper()}_LIMIT",), Turn(name, f"{name}:allocate", (r"^Full",)))
    for name in ("alpha", "beta")
)
POLICY = {"cap": "8GiB", "growth": True}


def rows(state: str = "in_force") -> tuple[dict[str, Any], ...]:
    """Return the rows of a framework whose cap and growth are in this state."""
    more = {"in_force": None, "set": "x", "why": "because"}
    return tuple({"field": name, "asked": "y", "state": state, **more} for name in ("cap", "preallocate"))


def part(name: str = "alpha", **changes: Any) -> Part:
    """Return a part of a cured scene, as it should be."""
    good = Part(name.title(), name, 6 * GIB, 6 * GIB, 2 * MIB, 7 * GIB, "", rows())
    return replace(good, **changes)


GREEDY = part(first_taken=12 * GIB, held=12 * GIB, rows=())
STARVED = part("beta", granted=GIB, held=GIB, error="FullError: no room\nmore", rows=())
PROBLEM = Scene("one process with Alpha and Beta, no policy", None, 16 * GIB, (GREEDY, STARVED))
CURE = Scene("one process with Alpha and Beta, one policy", POLICY, 16 * GIB, (part(), part("beta")))


@pytest.mark.parametrize("frameworks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("total", [2 * GIB, 15633219584, 16 * GIB, 80 * GIB])
def test_under_the_policy_everybody_fits(frameworks: int, total: int) -> None:
    """The caps together fit on the card, and what each wants fits within its cap with room for rounding."""
    plan = plan_for(total, frameworks)
    assert plan.cap * max(frameworks, 2) <= total
    assert plan.cap // 2 < plan.wanted <= plan.cap * 3 // 4
    assert plan.blocks[0] == MIB


def test_each_takes_its_turn_in_each_process() -> None:
    """A second process is started by the first, while that keeps its memory."""
    script = script_of([ALPHA, BETA], plan_for(16 * GIB, 2), POLICY, processes=2)
    assert [turn.framework for turn in script.turns] == ["alpha", "beta"]
    assert (script.declare, script.policy) == ("arguments", POLICY)
    assert script.second is not None
    assert script.second.turns == script.turns
    assert script_of([ALPHA], plan_for(16 * GIB, 1), None).declare == "nothing"


def test_the_cure_that_holds_breaks_no_promise() -> None:
    """Scenes without a policy promise nothing."""
    assert broken_promises([PROBLEM, CURE]) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"granted": GIB, "held": GIB, "error": "FullError: no\nroom"},
            "Alpha got 1 GiB of 6 GiB within its cap: FullError: no",
        ),
        ({"held": 9 * GIB}, "held 9 GiB, more than the cap of 8 GiB"),
        ({"held": GIB}, "of which the card saw only 1 GiB"),
        ({"first_taken": 8 * GIB}, "took 8 GiB for its first 1 MiB although growth was asked"),
        ({"rows": rows("differs")}, "cap=y is differs: because"),
        ({"rows": ()}, "the report says nothing about cap"),
    ],
)
def test_every_promise_is_checked(changes: dict[str, Any], said: str) -> None:
    """Whatever the policy promised and did not keep is a sentence, so that the exit code can be 3."""
    broken = broken_promises([PROBLEM, replace(CURE, parts=(part(**changes), part("beta")))])
    assert any(said in sentence for sentence in broken), broken


def test_a_scene_that_was_not_played_to_its_end_breaks_the_demo() -> None:
    """A crash of a framework is no proof of a cure, nor of a problem."""
    assert broken_promises([replace(PROBLEM, trouble="it was ended by signal 11"), CURE]) == (
        "one process with Alpha and Beta, no policy: it was ended by signal 11",
    )


def test_two_processes_are_played_with_whoever_leaves_no_room() -> None:
    """Who takes ahead so much that a second process of its kind starves; nobody, where nobody does."""
    plan = plan_for(16 * GIB, 2)
    assert greediest(PROBLEM, [ALPHA, BETA], plan) == ALPHA
    modest = replace(PROBLEM, parts=(part(), part("beta")))
    assert greediest(modest, [ALPHA, BETA], plan) is None
    assert greediest(replace(PROBLEM, parts=()), [ALPHA, BETA], plan) is None


def test_the_defaults_are_the_frameworks_own() -> None:
    """Neither gpumem's variables nor the frameworks' own nor a selection of devices reach the scenes."""
    environ = {"GPUMEM_CAP": "1GiB", "ALPHA_LIMIT": "5", "CUDA_VISIBLE_DEVICES": "", "HOME": "/h"}
    assert clean_environment(environ, [ALPHA, BETA]) == {"HOME": "/h"}


def test_an_error_that_is_not_about_memory_is_trouble() -> None:
    """It must not be shown as starving."""
    taken = Taken("alpha", 0, 7, granted=(MIB,), error="ValueError: odd", over=True)
    scene = scene_of(PROBLEM, [ALPHA], plan_for(16 * GIB, 1), Launched(0, "", Record((taken,))), 1)
    assert "not about memory: ValueError: odd" in scene.trouble


def test_the_reader_is_told_who_took_what_and_who_starved() -> None:
    """The last words name the greedy one, those without room, and the line that cures it."""
    told = words.takeaway([PROBLEM, CURE], ())
    assert told.startswith("Alpha took 12 GiB for its first 1 MiB, and Beta starved.")
    assert "gpumem.configure(cap='8GiB', growth=True)" in told
    assert words.next_step([PROBLEM, CURE]) == "gpumem prove --cap 8GiB --growth true"
    modest = replace(PROBLEM, parts=(part(rows=()), part("beta", rows=())))
    assert "nobody starves" in words.takeaway([modest, CURE], ())
    assert "did not hold" in words.takeaway([PROBLEM, CURE], ("x",))


@pytest.mark.parametrize("width", [60, 80, 110])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_terminal_shows_it_in_any_width_and_encoding(width: int, encoding: str) -> None:
    """In a plain pipe there is no escape code, and nothing that the encoding lacks."""
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding=encoding) as file:
        show(Console(file=file, width=width, highlight=False), [PROBLEM, CURE], ("It broke.",), ["alpha", "beta"])
        file.flush()
        text = raw.getvalue().decode(encoding)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "BROKEN  It broke." in text
    assert text.splitlines()[-1].strip() == "gpumem prove --cap 8GiB --growth true"


def test_the_page_is_whole_in_itself() -> None:
    """No script, nothing from elsewhere, both grounds, and what a framework says cannot write into it."""
    evil = replace(PROBLEM, parts=(replace(STARVED, title="<script>x</script>"), GREEDY))
    page = demo_page([evil, CURE], (), ["alpha", "beta"], "With Alpha 1.0.")
    assert "<script" not in page
    assert "http" not in page
    assert "prefers-color-scheme:dark" in page
    assert page.count('role="img"') == 2
    assert "<code>gpumem.configure(cap=&#x27;8GiB&#x27;, growth=True)</code>" in page


def test_json_has_a_schema_and_bytes() -> None:
    """The numbers are those of the scenes."""
    data: Any = to_dict([PROBLEM, CURE], (), Frameworks((ALPHA, BETA), (), ("alpha", "beta")))
    assert (data["schema"], data["simulated"], data["ok"]) == (1, True, True)
    assert data["scenes"][0]["parts"][0]["held"] == 12 * GIB


def test_without_a_framework_one_sentence_says_what_to_install() -> None:
    """The extras are those of the plugins that are known here."""
    told = nothing_to_play(Frameworks((), (), ("alpha", "beta")))
    assert told.endswith('pip install "gpumem-core[alpha,beta,cli,simulation]"')
    assert "Alpha: no" in nothing_to_play(Frameworks((), ("Alpha: no",), ("alpha",)))
