"""What TensorFlow read when its context was created. It tells neither growth nor allocator afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StartRecord:
    """What stood in the variables and in the ConfigProto at the moment of the start.

    Attributes:
        variables: TensorFlow's memory variables as they were then.
        allow_growth: what the ConfigProto said.
        unified_memory: whether the ConfigProto asked for managed memory.
        async_allocator: whether the ConfigProto asked for cuda_malloc_async.
        source: from where this is known: seen by the guard at the start, or as it is now.
    """

    variables: Mapping[str, str]
    allow_growth: bool
    unified_memory: bool
    async_allocator: bool
    source: Literal["seen at the start", "as it is now"]
