"""The keys of PyTorch's allocator configuration: since when, which values, what can change while CUDA runs.

Every row was asked of the wheels of 2.5.1, 2.6.0, 2.9.1 and 2.14.1, through their own runtime setters; what they
answered is kept in ``tests/recorded_verdicts.json``. The releases in between are read from the headers of the wheels
(``c10/cuda/CUDAAllocatorConfig.h``, ``c10/core/AllocatorConfig.h``).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal

from gpumem_torch.release import ONE_CONFIGURATION, Release, is_before

Form = Literal[
    "switch", "split", "segment", "open share", "share", "divisions", "threads", "positive", "whole", "backend"
]

_WHOLE = re.compile(r"[+-]?\d+")
_REAL = re.compile(
    r"[+-]?(?:0x[0-9a-f]+(?:\.[0-9a-f]*)?(?:p[+-]?\d+)?"
    r"|\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf(?:inity)?|nan)",
    re.IGNORECASE,
)
_WRAP: Final = 1 << 64
_INT_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the configuration string.

    Attributes:
        name: the key.
        form: what its value looks like.
        since: the first release that knows it; ``(0, 0)`` for older than 2.5.
        dynamic: whether the runtime setter still changes it after CUDA has started.
        default: the value that stands for "not set", as text; empty where the setter resets the key by itself.
        snapshot: the name under which `torch._C._cuda_memorySnapshot` reports the value, empty if it does not.
    """

    name: str
    form: Form
    since: Release = (0, 0)
    dynamic: bool = True
    default: str = ""
    snapshot: str = ""


ACCEPTED: Final[dict[Form, str]] = {
    "switch": "True or False",
    "split": "a whole number of MiB, at least 21 before PyTorch 2.10 and at least the large segment (20) since",
    "segment": "a whole number of MiB above 10",
    "open share": "a number between 0 and 1, neither of them included",
    "share": "a number from 0 to 1",
    "divisions": 'a power of two, or a list such as "[64:8,256:4,>:1]" of powers of two',
    "threads": "a power of two, at most 128",
    "positive": "a whole number above 0",
    "whole": "a whole number, 0 or more",
    "backend": "native or cudaMallocAsync",
}

_ALL = (
    Key("backend", "backend", dynamic=False),
    Key("expandable_segments", "switch", default="False", snapshot="expandable_segments"),
    Key("max_split_size_mb", "split", snapshot="max_split_size"),
    Key("garbage_collection_threshold", "open share", snapshot="garbage_collection_threshold"),
    Key("roundup_power2_divisions", "divisions"),
    Key("release_lock_on_cudamalloc", "switch", default="False", snapshot="release_lock_on_cudamalloc"),
    Key("release_lock_on_hipmalloc", "switch", default="False"),
    Key("pinned_use_cuda_host_register", "switch", default="False", snapshot="pinned_use_cuda_host_register"),
    Key("pinned_use_hip_host_register", "switch", default="False"),
    Key("pinned_num_register_threads", "threads", default="1", snapshot="pinned_num_register_threads"),
    Key("max_non_split_rounding_mb", "split", (2, 6), default="21"),
    Key("pinned_use_background_threads", "switch", (2, 6), dynamic=False, default="False"),
    Key("graph_capture_record_stream_reuse", "switch", (2, 9), default="False"),
    Key("per_process_memory_fraction", "share", (2, 10), dynamic=False, default="1.0"),
    Key("pinned_reserve_segment_size_mb", "positive", (2, 10), dynamic=False),
    Key("large_segment_size_mb", "segment", (2, 11), default="20"),
    Key("throw_on_cudamalloc_oom", "switch", (2, 12), default="False"),
    Key("pinned_free_catch_all", "switch", (2, 12), dynamic=False, default="False"),
    Key("pinned_max_round_threshold_mb", "whole", (2, 13), dynamic=False),
    Key("pinned_max_cached_size_mb", "whole", (2, 13), dynamic=False),
)
KEYS: Final[dict[str, Key]] = {key.name: key for key in _ALL}


def known(name: str, release: Release | None) -> Key | None:
    """Return a key if `release` knows it; an unknown release is taken for the newest tested one."""
    key = KEYS.get(name)
    return None if key is None or (release is not None and release < key.since) else key


def reads_whole(text: str, release: Release | None) -> int | None:
    """Return the whole number that PyTorch reads: the leading digits, as `stoi` and `stoull` do; None if none.

    From 2.10 on a minus sign wraps around to a number near 2**64.
    """
    match = _WHOLE.match(text)
    if match is None:
        return None
    number = int(match[0])
    if is_before(release, ONE_CONFIGURATION):
        return number % _WRAP if -_INT_MAX - 1 <= number <= _INT_MAX else None
    return number % _WRAP if abs(number) < _WRAP else None


def reads_real(text: str) -> float | None:
    """Return the number that PyTorch reads: the leading part, as `stod` does; None if there is none."""
    match = _REAL.match(text)
    if match is None:
        return None
    return float.fromhex(match[0]) if "x" in match[0].lower() else float(match[0])


def _power_of_two(number: int | None) -> bool:
    return number is not None and number > 0 and number & (number - 1) == 0


def accepts(key: Key, value: str, release: Release | None, large_segment: int = 20) -> bool:
    """Return whether PyTorch takes a value for a key.

    Args:
        key: the key.
        value: its text without white space; a list with its brackets.
        release: the release of PyTorch.
        large_segment: the large segment in MiB that the same string sets.
    """
    if key.form == "switch":
        return value in {"True", "False"}
    if key.form == "backend":
        return value in {"native", "cudaMallocAsync"}
    if key.form in {"open share", "share"}:
        share = reads_real(value)
        if share is None or math.isnan(share):
            return False
        return 0 < share < 1 if key.form == "open share" else 0 <= share <= 1
    if key.form == "divisions" and value.startswith("["):
        return _accepts_list(value, release)
    number = reads_whole(value, release)
    if number is None:
        return False
    if key.form == "split":
        return number > 20 if is_before(release, ONE_CONFIGURATION) else number >= large_segment
    if key.form == "threads":
        return _power_of_two(number) and number <= 128
    if key.form == "divisions":
        return _power_of_two(number)
    return number > {"segment": 10, "positive": 0}.get(key.form, -1)


def _accepts_list(value: str, release: Release | None) -> bool:
    """Follow PyTorch through ``[interval:divisions,...]``; from 2.10 on it does not look at the separators."""
    parts = [part for part in re.split(r"([:,\[\]])", value.strip("[]")) if part]
    strict = is_before(release, ONE_CONFIGURATION)
    position = 0
    while position < len(parts):
        interval, rest = parts[position], parts[position + 1 : position + 4]
        if len(rest) < 2 or (strict and rest[0] != ":"):
            return False
        divisions = reads_whole(rest[1], release)
        if divisions is None or not (divisions == 0 or _power_of_two(divisions)):
            return False
        if interval != ">" and not _power_of_two(reads_whole(interval, release)):
            return False
        if strict and len(rest) > 2 and rest[2] != ",":
            return False
        position += 4
    return True


def looks_like(key: Key, value: str) -> bool:
    """Return whether a value reads as a person would; PyTorch takes ``64MB`` for 64 and ``-1`` for 2**64 - 1."""
    if key.form in {"split", "segment", "threads", "positive", "whole"}:
        return value.isdigit()
    if key.form in {"open share", "share"}:
        return re.fullmatch(r"\d*\.?\d+(?:[eE][+-]?\d+)?|\d+\.", value) is not None
    if key.form == "divisions":
        return value.isdigit() or re.fullmatch(r"\[(?:(?:\d+|>):\d+)?(?:,(?:\d+|>):\d+)*,?\]", value) is not None
    return True


def option_text(value: object) -> str:
    """Return an option's value as the configuration string has it.

    Example:
        >>> option_text(True), option_text(128), option_text(0.8), option_text("[64:8, >:1]")
        ('True', '128', '0.8', '[64:8,>:1]')
    """
    if isinstance(value, str):
        text = "".join(value.split())
        return text.capitalize() if text.lower() in {"true", "false"} else text
    return str(value)


def comparable(key: Key, text: str) -> object:
    """Return a value in the form in which observations are compared: bool, int, float or text.

    Example:
        >>> comparable(KEYS["max_split_size_mb"], "128"), comparable(KEYS["expandable_segments"], "True")
        (128, True)
    """
    if key.form == "switch":
        return text == "True"
    if key.form in {"open share", "share"}:
        return reads_real(text)
    if key.form in {"backend", "divisions"}:
        return text
    return reads_whole(text, None)
