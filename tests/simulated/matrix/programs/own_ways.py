"""Each framework in its own words: how it is discovered, asked for a block, and limited without gpumem."""

import os
import sys


class Jax:
    name = "jax"
    patient = True  # waits ten seconds for memory to come back before it refuses

    def discover(self):
        """Read the variables without making a client; JAX has no public call that does only this."""
        import jax._src.xla_bridge as bridge

        bridge._discover_and_register_pjrt_plugins()

    def take(self, size, device):
        import jax
        import numpy as np

        places = {getattr(place, "local_hardware_id", place.id): place for place in jax.local_devices()}
        return jax.device_put(np.zeros(size, np.uint8), places.get(device)).block_until_ready()

    def gpus(self):
        import jax

        return sum(place.platform == "gpu" for place in jax.local_devices())

    def held(self, device):
        import jax

        place = next(p for p in jax.local_devices() if getattr(p, "local_hardware_id", p.id) == device)
        statistics = place.memory_stats() or {}
        return statistics.get("peak_bytes_in_use")

    def refuses(self, error):
        return "RESOURCE_EXHAUSTED" in str(error) or "Out of memory" in str(error)

    def limit_itself(self, size, word):
        """Set JAX's own limit and allocator; call it before JAX starts."""
        os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = str(size / (16 << 30))
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        if word == "managed":
            os.environ["TF_FORCE_UNIFIED_MEMORY"] = "1"
        else:
            os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = {"async": "cuda_async", "direct": "platform"}[word]


class TensorFlow:
    name = "tensorflow"
    patient = True

    def discover(self):
        import tensorflow as tf

        tf.config.list_physical_devices("GPU")

    def take(self, size, device):
        import tensorflow as tf

        with tf.device("CPU:0" if device is None else f"GPU:{device}"):
            return tf.zeros([size // 4])

    def gpus(self):
        import tensorflow as tf

        return len(tf.config.list_logical_devices("GPU"))

    def held(self, device):
        import tensorflow as tf

        return tf.config.experimental.get_memory_info(f"GPU:{device}")["peak"]

    def refuses(self, error):
        return type(error).__name__ == "ResourceExhaustedError"

    def limit_itself(self, size, word):
        os.environ["TF_GPU_ALLOCATOR"] = {"async": "cuda_malloc_async", "direct": "cuda_malloc"}[word]
        import tensorflow as tf

        gpu = tf.config.list_physical_devices("GPU")[0]
        limit = tf.config.LogicalDeviceConfiguration(memory_limit=size >> 20)
        tf.config.set_logical_device_configuration(gpu, [limit])


class Torch:
    name = "torch"
    patient = False

    def discover(self):
        import torch

        torch.cuda.is_available()

    def take(self, size, device):
        import torch

        return torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")

    def gpus(self):
        import torch

        return torch.cuda.device_count()

    def held(self, device):
        import torch

        return torch.cuda.max_memory_reserved(device)

    def refuses(self, error):
        return type(error).__name__ == "OutOfMemoryError"

    def limit_itself(self, size, word):
        assert word == "direct"
        os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
        import torch

        torch.cuda.set_per_process_memory_fraction(size / torch.cuda.get_device_properties(0).total_memory)


class CuPy:
    name = "cupy"
    patient = False

    def discover(self):
        import cupy

        cupy.cuda.runtime.getDeviceCount()

    def take(self, size, device):
        import cupy

        with cupy.cuda.Device(device):
            return cupy.empty(size, "u1")

    def gpus(self):
        import cupy

        return cupy.cuda.runtime.getDeviceCount()

    def held(self, device):
        import cupy

        with cupy.cuda.Device(device):
            return cupy.get_default_memory_pool().total_bytes() or None

    def refuses(self, error):
        return type(error).__name__ == "OutOfMemoryError"

    def limit_itself(self, size, word):
        assert word == "direct"
        import cupy

        cupy.get_default_memory_pool().set_limit(size=size)
        cupy.cuda.set_allocator(None)


WAYS = {way.name: way for way in (Jax(), TensorFlow(), Torch(), CuPy())}


def version(name):
    """Return the version of a framework that is imported."""
    return sys.modules[name].__version__
