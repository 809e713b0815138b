"""Allocate blocks under a cap until one is refused; print the error and what PyTorch's cache counted by then."""

import json
import sys

import torch

import gpumem
from gpumem_torch.allocate import allocate

BLOCK = 64 << 20
gpumem.configure(cap=sys.argv[1], growth=True)

kept, error = [], ""
while not error:
    try:
        kept.append(allocate(BLOCK))
    except Exception as refused:
        error = f"{type(refused).__name__}: {refused}"
counted = torch.cuda.memory_reserved()
print(json.dumps({"error": error, "blocks": len(kept), "counted": counted}))
