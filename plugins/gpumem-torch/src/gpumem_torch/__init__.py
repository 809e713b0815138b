"""The gpumem plugin for PyTorch. Nothing here imports PyTorch; see `gpumem_torch.plugin` for the hooks."""
