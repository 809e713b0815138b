"""Take 3 GiB under a cap of 4 GiB, then ask for 2 GiB more."""

import torch

torch.cuda.set_per_process_memory_fraction(0.25)
kept = torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
try:
    torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("refused")
