/* Stream-ordered pools: what they reserve, keep and give back.  Expectations are those of the documentation of
 * cuMemPoolSetAttribute, cuMemPoolTrimTo and cuMemPoolDestroy in cuda.h. */
#include "pool_calls.h"

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
