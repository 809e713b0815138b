/* What the programs do with pools, in one word each. */
#ifndef POOL_CALLS_H
#define POOL_CALLS_H
#include "device.h"

static inline cuuint64_t told(CUmemoryPool pool, CUmemPool_attribute which) {
  cuuint64_t value = ~0ull;
  OK(cuMemPoolGetAttribute(pool, which, &value));
  return value;
}
static inline cuuint64_t used(CUmemoryPool pool) { return told(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
static inline cuuint64_t reserved(CUmemoryPool pool) { return told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
static inline void keep(CUmemoryPool pool, cuuint64_t bytes) {
  OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static inline CUmemoryPool default_pool(void) {
  CUmemoryPool pool = 0;
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  return pool;
}
static inline CUmemPoolProps on_device(int device, size_t most) {
  return (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
                          .maxSize = most};
}
static inline CUmemoryPool new_pool(size_t most) {
  CUmemoryPool pool = 0;
  CUmemPoolProps properties = on_device(0, most);
  OK(cuMemPoolCreate(&pool, &properties));
  return pool;
}
static inline CUdeviceptr from(CUmemoryPool pool, size_t bytes) {
  CUdeviceptr pointer = 0;
  OK(cuMemAllocFromPoolAsync(&pointer, bytes, pool, 0));
  return pointer;
}
static inline void freed(CUdeviceptr pointer) {
  OK(cuMemFreeAsync(pointer, 0));
  OK(cuStreamSynchronize(0));
}

#endif
