/* What can be asked and set about pools. */
#include "driver.h"

/* Locked. */
static CUresult set(Pool *pool, CUmemPool_attribute attribute, const void *value) {
  switch ((int)attribute) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(const int *)value != 0;
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->threshold = *(const cuuint64_t *)value; return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    if (*(const cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    pool->used_high = pool->used;
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    if (*(const cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    pool->reserved_high = pool->reserved;
    return CUDA_SUCCESS;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
}

/* Locked. */
static CUresult get(const Pool *pool, CUmemPool_attribute attribute, void *value) {
  switch ((int)attribute) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    *(int *)value = pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(cuuint64_t *)value = pool->threshold; return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value = pool->used; return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value = pool->used_high; return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)value = pool->reserved; return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)value = pool->reserved_high; return CUDA_SUCCESS;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
}

/* Locked. */
static Pool *find(CUmemoryPool address) {
  Pool *pool = handle_find(POOL, address);
  return pool && !pool->destroyed ? pool : 0;
}

API cuMemPoolSetAttribute(CUmemoryPool address, CUmemPool_attribute attribute, void *value) {
  NEED(value);
  TRY(driver_ready());
  lock();
  Pool *pool = find(address);
  CUresult rc = pool ? set(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
  int dev = pool ? pool->dev : 0;
  unlock();
  if (rc || attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return rc;
  cuuint64_t threshold = *(cuuint64_t *)value;
  long long bytes = threshold > INT64_MAX ? INT64_MAX : (long long)threshold;
  sim_log(&SIM_LINE(.api = "cuMemPoolSetAttribute", .dev = dev, .bus = driver.device[dev].bus, .bytes = bytes,
                    .ptr = address, .note = "release_threshold"));
  return rc;
}
API cuMemPoolGetAttribute(CUmemoryPool address, CUmemPool_attribute attribute, void *value) {
  NEED(value);
  TRY(driver_ready());
  lock();
  Pool *pool = find(address);
  CUresult rc = pool ? get(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
  unlock();
  return rc;
}

/* Every device can read and write every pool, whatever is asked for. */
static CUresult check(CUmemoryPool address) {
  TRY(driver_ready());
  lock();
  Pool *pool = find(address);
  unlock();
  return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuMemPoolSetAccess(CUmemoryPool address, const CUmemAccessDesc *wanted, size_t count) {
  NEED(wanted || !count);
  TRY(check(address));
  for (size_t i = 0; i < count; i++)
    if (wanted[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE) TRY(device_ready(wanted[i].location.id));
  return CUDA_SUCCESS;
}
API cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool address, CUmemLocation *location) {
  NEED(flags && location);
  TRY(check(address));
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}
