/* Stream-ordered pools: what they reserve, keep and give back.  Expectations are those of the documentation of
 * cuMemPoolSetAttribute, cuMemPoolTrimTo and cuMemPoolDestroy in cuda.h. */
#include "device.h"

static cuuint64_t told(CUmemoryPool pool, CUmemPool_attribute which) {
  cuuint64_t value = ~0ull;
  OK(cuMemPoolGetAttribute(pool, which, &value));
  return value;
}
static cuuint64_t used(CUmemoryPool pool) { return told(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
static cuuint64_t reserved(CUmemoryPool pool) { return told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
static void keep(CUmemoryPool pool, cuuint64_t bytes) {
  OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static CUmemoryPool default_pool(void) {
  CUmemoryPool pool = 0;
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  return pool;
}
static CUmemPoolProps on_device(int device, size_t most) {
  return (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
                          .maxSize = most};
}
static CUmemoryPool new_pool(size_t most) {
  CUmemoryPool pool = 0;
  CUmemPoolProps properties = on_device(0, most);
  OK(cuMemPoolCreate(&pool, &properties));
  return pool;
}
static CUdeviceptr from(CUmemoryPool pool, size_t bytes) {
  CUdeviceptr pointer = 0;
  OK(cuMemAllocFromPoolAsync(&pointer, bytes, pool, 0));
  return pointer;
}
static void freed(CUdeviceptr pointer) {
  OK(cuMemFreeAsync(pointer, 0));
  OK(cuStreamSynchronize(0));
}

// Without a release threshold all that is free goes back when the stream is synchronised.
CASE(keeps_nothing_by_default, "DEVICES=64MiB") {
  start();
  CUmemoryPool pool = default_pool();
  IS(told(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0);
  CUdeviceptr one = from(pool, 10 * MIB), two = from(pool, 4 * MIB);
  IS(used(pool), 14 * MIB);
  IS(used_bytes(), 14 * MIB);
  freed(one);
  IS(used(pool), 4 * MIB);
  IS(reserved(pool), 4 * MIB);
  IS(used_bytes(), 4 * MIB);
  freed(two);
  IS(used_bytes(), 0);
}

// Up to its threshold a pool keeps what was freed, and serves the next request from it.
CASE(keeps_its_threshold, "DEVICES=64MiB") {
  start();
  CUmemoryPool pool = default_pool();
  keep(pool, 8 * MIB);
  IS(told(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 8 * MIB);
  CUdeviceptr one = from(pool, 12 * MIB);
  freed(one);
  IS(used(pool), 0);
  IS(reserved(pool), 8 * MIB);
  IS(used_bytes(), 8 * MIB);
  one = from(pool, 6 * MIB);
  IS(used(pool), 6 * MIB);
  IS(used_bytes(), 8 * MIB);
  CUdeviceptr two = from(pool, 4 * MIB);
  IS(used_bytes(), 10 * MIB);
  freed(one);
  freed(two);
  IS(used_bytes(), 8 * MIB);
}

// A lower threshold is obeyed at the next synchronisation.
CASE(threshold_lowered, "DEVICES=64MiB") {
  start();
  CUmemoryPool pool = default_pool();
  keep(pool, ~0ull);
  freed(from(pool, 20 * MIB));
  IS(used_bytes(), 20 * MIB);
  keep(pool, 6 * MIB);
  OK(cuCtxSynchronize());
  IS(used_bytes(), 6 * MIB);
  keep(pool, 0);
  OK(cuStreamSynchronize(0));
  IS(used_bytes(), 0);
}

// Trimming gives back what is kept, never what is used.
CASE(trimmed, "DEVICES=64MiB") {
  start();
  CUmemoryPool pool = default_pool();
  keep(pool, ~0ull);
  CUdeviceptr used_up = from(pool, 8 * MIB), spare = from(pool, 8 * MIB);
  freed(spare);
  IS(used_bytes(), 16 * MIB);
  OK(cuMemPoolTrimTo(pool, 32 * MIB)); /* it has less: nothing happens */
  IS(used_bytes(), 16 * MIB);
  OK(cuMemPoolTrimTo(pool, 12 * MIB));
  IS(used_bytes(), 12 * MIB);
  OK(cuMemPoolTrimTo(pool, 0));
  IS(used_bytes(), 8 * MIB);
  IS(reserved(pool), 8 * MIB);
  freed(used_up);
  OK(cuMemPoolTrimTo(pool, 0));
  IS(used_bytes(), 0);
}

// At least what was asked for stays reserved.
CASE(trimmed_to_at_least, "DEVICES=64MiB") {
  start();
  CUmemoryPool pool = default_pool();
  keep(pool, ~0ull);
  freed(from(pool, 16 * MIB));
  OK(cuMemPoolTrimTo(pool, 5 * MIB + 1));
  IS(reserved(pool), 6 * MIB);
  IS(used_bytes(), 6 * MIB);
}

// A pool with a maximum refuses what goes beyond it, though the device has room.
CASE(largest_size, "DEVICES=64MiB") {
  CUdeviceptr pointer = 0;
  start();
  CUmemoryPool pool = new_pool(8 * MIB);
  CUdeviceptr most = from(pool, 8 * MIB);
  IS(cuMemAllocFromPoolAsync(&pointer, 2 * MIB, pool, 0), CUDA_ERROR_OUT_OF_MEMORY);
  IS(used_bytes(), 8 * MIB);
  freed(most);
  IS(cuMemAllocFromPoolAsync(&pointer, 8 * MIB + 1, pool, 0), CUDA_ERROR_OUT_OF_MEMORY);
  freed(from(pool, 8 * MIB));
  OK(cuMemPoolDestroy(pool));
  IS(used_bytes(), 0);
}

// High-water marks hold the most there ever was, until they are set back to what is now.
CASE(high_water_marks, "DEVICES=64MiB") {
  cuuint64_t zero = 0, more = 5;
  start();
  CUmemoryPool pool = new_pool(0);
  keep(pool, ~0ull);
  CUdeviceptr one = from(pool, 4 * MIB), two = from(pool, 6 * MIB);
  freed(two);
  IS(told(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 10 * MIB);
  IS(told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 10 * MIB);
  OK(cuMemPoolTrimTo(pool, 0));
  IS(told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 10 * MIB);
  OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
  IS(told(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 4 * MIB);
  IS(told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 4 * MIB);
  IS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &more), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)999, &zero), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)999, &zero), CUDA_ERROR_INVALID_VALUE);
  freed(one);
}

// The three ways of reuse are on at first, and are remembered when they are set.
CASE(ways_of_reuse, "DEVICES=64MiB") {
  static const CUmemPool_attribute way[] = {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                            CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                            CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES};
  start();
  CUmemoryPool pool = new_pool(0);
  for (int i = 0; i < 3; i++) {
    int value = -1, off = 0;
    OK(cuMemPoolGetAttribute(pool, way[i], &value));
    IS(value, 1);
    OK(cuMemPoolSetAttribute(pool, way[i], &off));
    OK(cuMemPoolGetAttribute(pool, way[i], &value));
    IS(value, 0);
  }
  OK(cuMemPoolDestroy(pool));
}

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

// Memory of a pool may be freed by cuMemFree, and other memory by cuMemFreeAsync.
CASE(either_free, "DEVICES=64MiB") {
  start();
  CUdeviceptr pooled = from(default_pool(), 4 * MIB), plain = allocated(4 * MIB);
  OK(cuMemFree(pooled));
  OK(cuMemFreeAsync(plain, 0));
  OK(cuCtxSynchronize());
  IS(used_bytes(), 0);
  IS(cuMemFreeAsync(pooled, 0), CUDA_ERROR_INVALID_VALUE);
}

// A pool's small requests share what it reserves, and are exact where the granularity is 1.
CASE(small_requests, "DEVICES=64MiB") {
  CUdeviceptr pointer[64];
  start();
  CUmemoryPool pool = new_pool(0);
  for (int i = 0; i < 64; i++) pointer[i] = from(pool, 32 * KIB);
  IS(used(pool), 2 * MIB);
  IS(reserved(pool), 2 * MIB);
  IS(used_bytes(), 2 * MIB);
  for (int i = 0; i < 64; i++) freed(pointer[i]);
  IS(used_bytes(), 0);
}
CASE(exact_requests, "DEVICES=64MiB GRANULARITY=1") {
  start();
  CUmemoryPool pool = new_pool(0);
  CUdeviceptr one = from(pool, 1000), two = from(pool, 24);
  IS(used_bytes(), 1024);
  freed(one);
  IS(used_bytes(), 24);
  freed(two);
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
