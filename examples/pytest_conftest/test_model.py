"""Tests as usual: they need not know of the policy."""

import pytest
import torch


def test_a_small_model_fits() -> None:
    """What fits into the cap is allocated."""
    assert torch.empty(1 << 30, dtype=torch.uint8, device="cuda").numel() == 1 << 30


def test_a_leak_is_found_early() -> None:
    """What exceeds the cap is refused, even where the card has more."""
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
