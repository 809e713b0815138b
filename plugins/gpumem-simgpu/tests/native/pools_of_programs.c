/* Pools that programs make, choose and destroy, and what is refused.  Expectations are those of the
 * documentation of cuDeviceSetMemPool and cuMemPoolDestroy in cuda.h. */
#include "pool_calls.h"

// cuMemAllocAsync takes from the current pool, which a device sets; the default pool stays what it is.
CASE(current_pool, "DEVICES=64MiB") {
  CUmemoryPool current = 0, mine;
  CUdeviceptr pointer;
  start();
  CUmemoryPool first = default_pool();
  OK(cuDeviceGetMemPool(&current, 0));
  HOLDS(current == first);
  mine = new_pool(0);
  OK(cuDeviceSetMemPool(0, mine));
  OK(cuDeviceGetMemPool(&current, 0));
  HOLDS(current == mine);
  HOLDS(default_pool() == first);
  OK(cuMemAllocAsync(&pointer, 4 * MIB, 0));
  IS(used(mine), 4 * MIB);
  IS(used(first), 0);
  freed(pointer);
  /* The current pool destroyed, the default one is current again. */
  OK(cuMemPoolDestroy(mine));
  OK(cuDeviceGetMemPool(&current, 0));
  HOLDS(current == first);
  IS(cuMemPoolDestroy(first), CUDA_ERROR_INVALID_VALUE);
}

// A pool of another device cannot become current here, and takes from its own device.
CASE(pool_of_another_device, "DEVICES=2x64MiB") {
  CUmemoryPool pool = 0;
  CUmemPoolProps there = on_device(1, 0), nowhere = on_device(2, 0);
  CUcontext first = start_on(0);
  start_on(1);
  OK(cuCtxSetCurrent(first));
  OK(cuMemPoolCreate(&pool, &there));
  IS(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr pointer = from(pool, 6 * MIB);
  IS(used_bytes(), 0);
  IS(used(pool), 6 * MIB);
  freed(pointer);
  OK(cuMemPoolDestroy(pool));
  HOLDS(cuMemPoolCreate(&pool, &nowhere) != CUDA_SUCCESS);
}

// A pool destroyed while in use goes when the last of its memory is freed.
CASE(destroyed_in_use, "DEVICES=64MiB") {
  start();
  CUmemoryPool pool = new_pool(0);
  keep(pool, ~0ull);
  CUdeviceptr one = from(pool, 8 * MIB), two = from(pool, 4 * MIB), three = from(pool, 2 * MIB);
  freed(three);
  OK(cuMemPoolDestroy(pool));
  HOLDS(used_bytes() >= 12 * MIB);
  OK(cuMemsetD8(one, 1, 8 * MIB)); /* still usable */
  freed(one);
  freed(two);
  IS(used_bytes(), 0);
}

// What a destroyed pool kept without use goes at once.
CASE(destroyed_unused, "DEVICES=64MiB") {
  start();
  CUmemoryPool pool = new_pool(0);
  keep(pool, ~0ull);
  freed(from(pool, 16 * MIB));
  IS(used_bytes(), 16 * MIB);
  OK(cuMemPoolDestroy(pool));
  IS(used_bytes(), 0);
}

// Requests that a pool cannot serve say so and leave it as it was.
CASE(refusals, "DEVICES=16MiB") {
  CUdeviceptr pointer = 0;
  CUmemoryPool pool = 0;
  start();
  CUmemPoolProps host = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
  HOLDS(cuMemPoolCreate(&pool, &host) != CUDA_SUCCESS);
  IS(cuMemPoolCreate(0, &host), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolCreate(&pool, 0), CUDA_ERROR_INVALID_VALUE);
  pool = new_pool(0);
  IS(cuMemAllocFromPoolAsync(&pointer, 0, pool, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAllocFromPoolAsync(0, MIB, pool, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAllocFromPoolAsync(&pointer, MIB, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolTrimTo(0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolDestroy(0), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr most = from(pool, 16 * MIB);
  IS(cuMemAllocFromPoolAsync(&pointer, 1, pool, 0), CUDA_ERROR_OUT_OF_MEMORY);
  IS(used(pool), 16 * MIB);
  IS(told(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 16 * MIB);
  freed(most);
  OK(cuMemPoolDestroy(pool));
}

// Who may use a pool's memory is asked and answered; devices that do not exist are refused.
CASE(access_by_devices, "DEVICES=2x64MiB") {
  CUmemAccess_flags flags = 0;
  start();
  CUmemoryPool pool = new_pool(0);
  CUmemLocation other = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemAccessDesc wanted = {other, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemPoolSetAccess(pool, &wanted, 1));
  OK(cuMemPoolGetAccess(&flags, pool, &other));
  IS(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  wanted.location.id = 7;
  HOLDS(cuMemPoolSetAccess(pool, &wanted, 1) != CUDA_SUCCESS);
  IS(cuMemPoolGetAccess(0, pool, &other), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolGetAccess(&flags, 0, &other), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemPoolDestroy(pool));
  IS(cuMemPoolSetAccess(pool, &wanted, 0), CUDA_ERROR_INVALID_VALUE);
}

// A device without pools says so and answers every call of theirs with "not supported".
CASE(device_without_pools, "DEVICES=2x64MiB POOLS=no,yes") {
  CUmemoryPool pool = 0;
  CUdeviceptr pointer = 0;
  CUmemPoolProps here = on_device(0, 0);
  start();
  IS(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0), 0);
  IS(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1), 1);
  IS(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_ERROR_NOT_SUPPORTED);
  IS(cuDeviceGetMemPool(&pool, 0), CUDA_ERROR_NOT_SUPPORTED);
  IS(cuMemPoolCreate(&pool, &here), CUDA_ERROR_NOT_SUPPORTED);
  IS(cuMemAllocAsync(&pointer, MIB, 0), CUDA_ERROR_NOT_SUPPORTED);
  IS(used_bytes(), 0);
  OK(cuMemFree(allocated(64 * MIB)));
  OK(cuDeviceGetDefaultMemPool(&pool, 1));
}
