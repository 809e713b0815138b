"""PyTorch whose start fails on the user's own configuration string: gpumem still reports, without a crash."""

import json
import warnings

import gpumem

heard = []
warnings.showwarning = lambda message, *_args: heard.append(str(message))
gpumem.configure(cap="2GiB", growth=True)
import torch  # noqa: E402 - the policy comes first

try:
    torch.empty(1, device="cuda")
    refused = ""
except (RuntimeError, ValueError) as error:
    refused = str(error)
states = sorted({row.state for row in gpumem.verify().rows if row.framework == "torch"})
print(json.dumps({"refused": refused, "states": states, "warnings": heard}))
