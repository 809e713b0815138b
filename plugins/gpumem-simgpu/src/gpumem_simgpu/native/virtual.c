/* Virtual memory management: address ranges, physical memory, and what is mapped where. */
#define _GNU_SOURCE
#include "driver.h"
#include <string.h>
#include <sys/mman.h>

API cuMemGetAllocationGranularity(size_t *g, const CUmemAllocationProp *p,
                                  CUmemAllocationGranularity_flags f) {
  *g = 2 << 20;
  return 0;
}
API cuMemAddressReserve(CUdeviceptr *out, size_t n, size_t align, CUdeviceptr want, unsigned long long f) {
  if (align < (2 << 20)) align = 2 << 20;
  char *p = mmap(0, n + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  char *q = (char *)sim_round_up((size_t)p, align);
  if (q > p) munmap(p, (size_t)(q - p));
  munmap(q + n, (size_t)(p + align - q));
  sim_block_new(RESERVED, -1, q, n);
  *out = (CUdeviceptr)q;
  sim_event("cuMemAddressReserve", -1, (long long)n, q, 0, 0);
  return 0;
}
API cuMemAddressFree(CUdeviceptr p, size_t n) {
  Block *b = sim_block_at((void *)p, 1);
  if (!b || b->kind != RESERVED) return CUDA_ERROR_INVALID_VALUE;
  munmap(b->p, b->n);
  sim_block_drop(b);
  return 0;
}
API cuMemCreate(CUmemGenericAllocationHandle *h, size_t n, const CUmemAllocationProp *p,
                unsigned long long f) {
  int host = p->location.type != CU_MEM_LOCATION_TYPE_DEVICE, dev = host ? -1 : p->location.id;
  if (!host && (dev < 0 || dev >= CFG->ndev)) return CUDA_ERROR_INVALID_DEVICE;
  CUresult rc = n % (2 << 20)               ? CUDA_ERROR_INVALID_VALUE
                : !host && sim_take(dev, n) ? CUDA_ERROR_OUT_OF_MEMORY
                                            : 0;
  Block *b = 0;
  if (!rc) {
    b = sim_block_new(PHYSICAL, dev, 0, n);
    *h = (CUmemGenericAllocationHandle)(uintptr_t)b;
  }
  sim_memory(&(SimMemory){
      .api = "cuMemCreate", .dev = dev, .bytes = (long long)n, .ptr = b, .id = b ? b->id : 0, .rc = rc});
  return rc;
}
/* The memory goes back when the last handle and the last mapping are gone; that is when the log says so. */
static void phys_unref(Block *b) {
  if (--b->refs) return;
  sim_memory(&(SimMemory){.api = "cuMemRelease",
                          .dev = b->dev,
                          .bytes = (long long)b->n,
                          .ptr = b,
                          .id = b->id,
                          .freed = b->dev >= 0 ? b->n : 0,
                          .note = "returned"});
  if (b->dev >= 0) sim_give(b->dev, b->n);
  sim_block_drop(b);
}
API cuMemRelease(CUmemGenericAllocationHandle h) {
  phys_unref((Block *)(uintptr_t)h);
  return 0;
}
API cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *h, void *p) {
  Block *b = sim_block_at(p, 0);
  if (!b || !b->phys) return CUDA_ERROR_INVALID_VALUE;
  b->phys->refs++;
  *h = (CUmemGenericAllocationHandle)(uintptr_t)b->phys;
  return 0;
}
API cuMemMap(CUdeviceptr p, size_t n, size_t off, CUmemGenericAllocationHandle h, unsigned long long f) {
  Block *ph = (Block *)(uintptr_t)h, *b = sim_block_new(DEVICE, ph->dev, (char *)p, n);
  b->mapped = 1, b->phys = ph;
  ph->refs++;
  TRACE(ph->dev, (long long)n, p);
  return 0;
}
API cuMemUnmap(CUdeviceptr p, size_t n) {
  for (char *q = (char *)p, *end = q + n; q < end;) {
    Block *b = sim_block_at(q, 0);
    if (!b || !b->mapped) return CUDA_ERROR_INVALID_VALUE;
    q = b->p + b->n;
    mmap(b->p, b->n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    phys_unref(b->phys);
    sim_block_drop(b);
  }
  TRACE(-1, (long long)n, p);
  return 0;
}
API cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *d, size_t k) {
  mprotect((void *)p, n, PROT_READ | PROT_WRITE);
  return 0;
}
API cuMemGetAccess(unsigned long long *f, const CUmemLocation *l, CUdeviceptr p) {
  *f = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return 0;
}
API cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *p, CUmemGenericAllocationHandle h) {
  memset(p, 0, sizeof *p);
  p->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p->location.id = ((Block *)(uintptr_t)h)->dev;
  return 0;
}
