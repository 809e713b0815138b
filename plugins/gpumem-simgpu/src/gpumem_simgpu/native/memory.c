/* Device memory: plain, managed, page-locked and pooled. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>
#include <sys/mman.h>

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;

CUresult sim_device_alloc(const char *api, int dev, size_t n, int kind, CUdeviceptr *out) {
  CUresult rc = CUDA_SUCCESS;
  Block *b = 0;
  char *p = 0;
  if (!n || !out)
    rc = CUDA_ERROR_INVALID_VALUE;
  else if (sim_take(dev, n))
    rc = CUDA_ERROR_OUT_OF_MEMORY;
  else if (!(p = sim_lazy(n))) {
    sim_give(dev, n);
    rc = CUDA_ERROR_OUT_OF_MEMORY;
  } else {
    b = sim_block_new(kind, dev, p, n);
    *out = (CUdeviceptr)p;
  }
  sim_memory(
      &(SimMemory){.api = api, .dev = dev, .bytes = (long long)n, .ptr = p, .id = b ? b->id : 0, .rc = rc});
  return rc;
}

/* A free is logged before the memory is given back: another thread or process can then be granted it only by
 * a later line, and whoever replays the log never sees more held than there is. */
CUresult sim_device_free(const char *api, CUdeviceptr p) {
  if (!p) return CUDA_SUCCESS;
  Block *b = sim_block_at((void *)p, 1);
  if (!b || b->mapped || (b->kind != DEVICE && b->kind != MANAGED && b->kind != POOLED)) {
    sim_memory(
        &(SimMemory){.api = api, .dev = -1, .bytes = -1, .ptr = (void *)p, .rc = CUDA_ERROR_INVALID_VALUE});
    return CUDA_ERROR_INVALID_VALUE;
  }
  SimMemory said = {.api = api, .dev = b->dev, .bytes = (long long)b->n, .ptr = b->p, .id = b->id};
  if (b->kind == POOLED) {
    struct CUmemPoolHandle_st *q = b->pool;
    pthread_mutex_lock(&pool_mutex);
    q->used -= b->n;
    size_t keep = q->used > q->threshold ? q->used : q->threshold;
    said.freed = q->reserved > keep ? q->reserved - keep : 0;
    q->reserved -= said.freed;
    pthread_mutex_unlock(&pool_mutex);
  } else
    said.freed = b->n;
  sim_memory(&said);
  munmap(b->p, b->n);
  sim_give(said.dev, said.freed);
  sim_block_drop(b);
  return CUDA_SUCCESS;
}

API cuMemGetInfo_v2(size_t *free_, size_t *total) {
  NEED_CTX;
  size_t t = sim_total(c->dev), u = sim_used(c->dev);
  if (free_) *free_ = u > t ? 0 : t - u;
  if (total) *total = t;
  TRACE(c->dev, free_ ? (long long)*free_ : -1, 0);
  return 0;
}
API cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
  NEED_CTX;
  return sim_device_alloc("cuMemAlloc", c->dev, n, DEVICE, p);
}
API cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t w, size_t h, unsigned e) {
  NEED_CTX;
  *pitch = sim_round_up(w, 512);
  return sim_device_alloc("cuMemAllocPitch", c->dev, *pitch * h, DEVICE, p);
}
API cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned f) {
  NEED_CTX;
  return sim_device_alloc("cuMemAllocManaged", c->dev, n, MANAGED, p);
}
API cuMemFree_v2(CUdeviceptr p) { return sim_device_free("cuMemFree", p); }
API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *n, CUdeviceptr p) {
  Block *b = sim_block_at((void *)p, 0);
  if (!b) return CUDA_ERROR_INVALID_VALUE;
  if (base) *base = (CUdeviceptr)b->p;
  if (n) *n = b->n;
  return 0;
}
API cuMemHostAlloc(void **p, size_t n, unsigned f) {
  NEED_CTX;
  char *m = sim_lazy(n);
  if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
  sim_block_new(HOST, c->dev, m, n)->flags = f;
  *p = m;
  TRACE(-1, (long long)n, m);
  return 0;
}
API cuMemAllocHost_v2(void **p, size_t n) { return cuMemHostAlloc(p, n, 0); }
API cuMemFreeHost(void *p) {
  Block *b = p ? sim_block_at(p, 1) : 0;
  if (!b || b->kind != HOST) return CUDA_ERROR_INVALID_VALUE;
  munmap(b->p, b->n);
  sim_block_drop(b);
  return 0;
}
API cuMemHostRegister_v2(void *p, size_t n, unsigned f) {
  NEED_CTX;
  sim_block_new(REGISTERED, c->dev, p, n)->flags = f;
  return 0;
}
API cuMemHostUnregister(void *p) {
  Block *b = sim_block_at(p, 1);
  if (!b || b->kind != REGISTERED) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  sim_block_drop(b);
  return 0;
}
API cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned f) {
  *d = (CUdeviceptr)p;
  return 0;
}
API cuMemHostGetFlags(unsigned *f, void *p) {
  Block *b = sim_block_at(p, 0);
  if (!b) return CUDA_ERROR_INVALID_VALUE;
  *f = b->flags;
  return 0;
}

/* Stream-ordered pools: what is reserved follows what is used, and falls back to the release threshold. */
static CUresult pool_alloc(const char *api, struct CUmemPoolHandle_st *q, size_t n, CUdeviceptr *out) {
  CUresult rc = 0;
  Block *b = 0;
  char *p = 0;
  pthread_mutex_lock(&pool_mutex);
  size_t more = q->used + n > q->reserved ? q->used + n - q->reserved : 0;
  if (q->max && q->used + n > q->max)
    rc = CUDA_ERROR_OUT_OF_MEMORY;
  else if (more && sim_take(q->dev, more))
    rc = CUDA_ERROR_OUT_OF_MEMORY;
  else if (!(p = sim_lazy(n))) {
    sim_give(q->dev, more);
    rc = CUDA_ERROR_OUT_OF_MEMORY;
  } else {
    q->used += n, q->reserved += more;
    if (q->used > q->used_high) q->used_high = q->used;
    if (q->reserved > q->reserved_high) q->reserved_high = q->reserved;
    b = sim_block_new(POOLED, q->dev, p, n);
    b->pool = q;
    *out = (CUdeviceptr)p;
  }
  pthread_mutex_unlock(&pool_mutex);
  sim_memory(&(SimMemory){
      .api = api, .dev = q->dev, .bytes = (long long)n, .ptr = p, .id = b ? b->id : 0, .rc = rc});
  return rc;
}
API cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s) {
  NEED_CTX;
  return pool_alloc("cuMemAllocAsync", sim_current_pool[c->dev], n, p);
}
API cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t n, CUmemoryPool q, CUstream s) {
  return pool_alloc("cuMemAllocFromPoolAsync", q, n, p);
}
API cuMemFreeAsync(CUdeviceptr p, CUstream s) { return sim_device_free("cuMemFreeAsync", p); }
API cuDeviceGetDefaultMemPool(CUmemoryPool *q, CUdevice d) {
  NEED_DEV(d);
  *q = &sim_pool[d];
  return 0;
}
API cuDeviceGetMemPool(CUmemoryPool *q, CUdevice d) {
  NEED_DEV(d);
  *q = sim_current_pool[d];
  return 0;
}
API cuDeviceSetMemPool(CUdevice d, CUmemoryPool q) {
  NEED_DEV(d);
  sim_current_pool[d] = q;
  return 0;
}
API cuMemPoolCreate(CUmemoryPool *q, const CUmemPoolProps *a) {
  *q = calloc(1, sizeof **q);
  (*q)->dev = a->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? a->location.id : 0;
  (*q)->max = a->maxSize;
  sim_event("cuMemPoolCreate", (*q)->dev, (long long)a->maxSize, *q, 0, "maxSize");
  return 0;
}
API cuMemPoolDestroy(CUmemoryPool q) {
  sim_event("cuMemPoolDestroy", q->dev, (long long)q->reserved, q, 0, 0);
  sim_give(q->dev, q->reserved);
  if (q != &sim_pool[q->dev]) free(q);
  return 0;
}
API cuMemPoolTrimTo(CUmemoryPool q, size_t keep) {
  pthread_mutex_lock(&pool_mutex);
  if (keep < q->used) keep = q->used;
  size_t extra = q->reserved > keep ? q->reserved - keep : 0;
  q->reserved -= extra;
  pthread_mutex_unlock(&pool_mutex);
  sim_give(q->dev, extra);
  sim_event("cuMemPoolTrimTo", q->dev, (long long)keep, q, 0, 0);
  return 0;
}
API cuMemPoolSetAttribute(CUmemoryPool q, CUmemPool_attribute a, void *v) {
  if (a == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    q->threshold = *(cuuint64_t *)v;
    sim_event("cuMemPoolSetAttribute", q->dev, (long long)q->threshold, q, 0, "release_threshold");
  }
  if (a == CU_MEMPOOL_ATTR_USED_MEM_HIGH) q->used_high = q->used;
  if (a == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) q->reserved_high = q->reserved;
  return 0;
}
API cuMemPoolGetAttribute(CUmemoryPool q, CUmemPool_attribute a, void *v) {
  switch (a) {
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(cuuint64_t *)v = q->threshold; break;
  case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)v = q->used; break;
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)v = q->used_high; break;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)v = q->reserved; break;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)v = q->reserved_high; break;
  default: *(int *)v = 1;
  }
  return 0;
}
API cuMemPoolSetAccess(CUmemoryPool q, const CUmemAccessDesc *d, size_t n) { return 0; }
API cuMemPoolGetAccess(CUmemAccess_flags *f, CUmemoryPool q, CUmemLocation *l) {
  *f = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return 0;
}
