"""A share of what is free, configured after PyTorch has started and taken memory."""

import json

import torch

import gpumem

kept = torch.empty(4 << 30, dtype=torch.uint8, device="cuda:0")
gpumem.configure(frameworks={"torch": {"cap": "50% free"}})
print(json.dumps([[row.device, row.state, row.in_force] for row in gpumem.verify().rows_of("torch", "cap")]))
