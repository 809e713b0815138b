"""The options that are passed through."""

from __future__ import annotations

import pytest

from gpumem_tensorflow.options import OptionError, option_text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("TF_DEVICE_MIN_SYS_MEMORY_IN_MB", 1024, "1024"),
        ("TF_GPU_HOST_MEM_LIMIT_IN_MB", "4096", "4096"),
        ("TF_ENABLE_GPU_GARBAGE_COLLECTION", False, "false"),
        ("TF_ENABLE_GPU_GARBAGE_COLLECTION", "TRUE", "true"),
    ],
)
def test_a_value_is_written_as_tensorflow_reads_it(name: str, value: object, text: str) -> None:
    assert option_text(name, value) == text


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("TF_DEVICE_MIN_SYS_MEMORY_IN_MB", "1GiB", "whole number of MB"),
        ("TF_DEVICE_MIN_SYS_MEMORY_IN_MB", True, "whole number of MB"),
        ("TF_DEVICE_MIN_SYS_MEMORY_IN_MB", -1, "whole number of MB"),
        ("TF_ENABLE_GPU_GARBAGE_COLLECTION", 1, "true or false"),
        ("TF_FORCE_GPU_ALLOW_GROWTH", "true", "write growth"),
        ("memory_limit", 4096, "write cap"),
        ("TF_PER_DEVICE_MEMORY_LIMIT_MB", 4096, "write cap"),
        ("TF_DEVICE_MIN_SYS_MEMORY_MB", 1, "did you mean TF_DEVICE_MIN_SYS_MEMORY_IN_MB?"),
        ("no_such_option", 1, "the options are"),
    ],
)
def test_what_cannot_be_passed_through_is_refused_with_what_to_write_instead(
    name: str, value: object, part: str
) -> None:
    with pytest.raises(OptionError) as caught:
        option_text(name, value)
    assert part in str(caught.value)
