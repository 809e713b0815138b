"""The plugin's parser of PYTORCH_ALLOC_CONF against PyTorch's own, with strings put together at random."""

import json
import random
import sys

import torch

from gpumem_torch.keys import KEYS
from gpumem_torch.parse import read
from gpumem_torch.release import release_of

seed = int(sys.argv[1])
dice = random.Random(seed)
release = release_of(torch.__version__)
setter = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
setter = setter or torch._C._cuda_cudaCachingAllocator_set_allocator_settings
WHITE = ["", "", "", " ", "\t", "\n"]
VALUES = [
    "True",
    "False",
    "true",
    "0",
    "1",
    "16",
    "20",
    "21",
    "64",
    "64MB",
    "0.5",
    "1.0",
    "-1",
    "[64:8,>:1]",
    "[64:7]",
    "[",
    "native",
]
KEY_NAMES = [*KEYS, "foo", "C"]


def piece():
    parts = [dice.choice(KEY_NAMES), dice.choice([":"] * 9 + ["=", "::"]), dice.choice(VALUES)]
    return dice.choice(WHITE).join(parts)


def accepted(text):
    try:
        setter(text)
    except (RuntimeError, ValueError, IndexError):
        return False
    finally:
        setter("large_segment_size_mb:20" if release >= (2, 11) else "max_split_size_mb:100")
    return True


wrong, right = [], 0
for _ in range(3000):
    text = dice.choice([","] * 9 + [";", ",,"]).join(piece() for _ in range(dice.randint(1, 3)))
    text += dice.choice(["", "", "", ","])
    verdict = accepted(text)
    right += verdict
    if read(text, release).usable != verdict:
        wrong.append([text, verdict])
print(json.dumps({"wrong": wrong[:5], "accepted": right, "version": torch.__version__}))
