/* Reserved addresses, and what is mapped there.  A mapping is made and unmade as a whole; several beside each
 * other may be unmade at once. */
#define _GNU_SOURCE
#include "virtual.h"
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct {
  char *start;
  size_t bytes;
  unsigned mappings;
} Range;

static void *tree; /* of tsearch(3): the reservations, which do not overlap */

static int by_range(const void *a, const void *b) {
  const Range *x = a, *y = b;
  if (x->start + x->bytes <= y->start) return -1;
  return x->start >= y->start + y->bytes;
}

/* Locked.  The reservation that holds all of these addresses. */
static Range *reservation(const char *start, size_t bytes) {
  const Range wanted = {(char *)start, 1, 0};
  Range **found = tfind(&wanted, &tree, by_range);
  if (!found || !bytes || bytes > (*found)->bytes) return 0;
  return (size_t)(start - (*found)->start) <= (*found)->bytes - bytes ? *found : 0;
}

API cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wanted,
                        unsigned long long flags) {
  NEED(out && bytes && !flags && !(bytes % 4096) && !(wanted % 4096) && !(alignment & (alignment - 1)));
  TRY(driver_ready());
  if (!virtual_supported()) return CUDA_ERROR_NOT_SUPPORTED;
  if (alignment < VMM_STEP) alignment = VMM_STEP;
  size_t space = bytes + alignment;
  if (space < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  char *got = mmap((void *)wanted, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Range *range = got == MAP_FAILED ? 0 : malloc(sizeof *range);
  if (!range) {
    if (got != MAP_FAILED) munmap(got, space);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  char *start = (char *)round_up((size_t)got, alignment);
  if (start > got) munmap(got, (size_t)(start - got));
  munmap(start + bytes, (size_t)(got + space - (start + bytes)));
  *range = (Range){start, bytes, 0};
  lock();
  tsearch(range, &tree, by_range);
  unlock();
  *out = (CUdeviceptr)start;
  sim_log(&SIM_LINE(.api = "cuMemAddressReserve", .bytes = (long long)bytes, .ptr = start));
  return CUDA_SUCCESS;
}
API cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  char *start = (char *)address;
  TRY(driver_ready());
  lock();
  Range *range = reservation(start, bytes);
  if (range && (range->start != start || range->bytes != bytes || range->mappings)) range = 0;
  if (range) tdelete(range, &tree, by_range);
  unlock();
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  munmap(start, bytes);
  free(range);
  return CUDA_SUCCESS;
}

API cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags) {
  char *start = (char *)address;
  NEED(bytes && !flags && !offset && !(address % VMM_STEP) && !(bytes % VMM_STEP));
  TRY(driver_ready());
  lock();
  Physical *physical = physical_find(handle);
  Range *range = reservation(start, bytes);
  Block *block = 0;
  CUresult rc = CUDA_ERROR_INVALID_VALUE;
  if (physical && range && bytes <= physical->bytes)
    rc = physical->dev >= 0 && is_lost(physical->dev) ? DEVICE_LOST : CUDA_SUCCESS;
  if (!rc && !(block = block_new(MAPPED, physical->dev, start, bytes))) rc = CUDA_ERROR_INVALID_VALUE;
  if (!rc && !physical_map(start, bytes, physical)) {
    block_remove(block);
    free(block);
    rc = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (!rc) {
    block->physical = physical;
    physical->mappings++, range->mappings++;
  }
  unlock();
  TRY(rc);
  sim_trace("cuMemMap", -1, (long long)bytes, start, 0);
  return CUDA_SUCCESS;
}

/* ---- mapping ---- */

/* Locked.  Whether the range is exactly one or more mappings beside each other.  It may be any: what is left of it
 * is counted down, since its end need not be an address. */
static int whole_mappings(char *start, size_t bytes) {
  size_t left = bytes;
  for (char *at = start; left;) {
    Block *block = block_at(at);
    if (!block || block->kind != MAPPED || block->start != at || block->bytes > left) return 0;
    at += block->bytes, left -= block->bytes;
  }
  return bytes > 0;
}

API cuMemUnmap(CUdeviceptr address, size_t bytes) {
  Block *gone = 0;
  TRY(driver_ready());
  const char *lib = sim_caller();
  char *start = (char *)address;
  lock();
  int whole = whole_mappings(start, bytes);
  for (char *at = start; whole && at < start + bytes;) {
    Block *block = block_at(at);
    at += block->bytes;
    block_remove(block);
    reservation(block->start, block->bytes)->mappings--;
    physical_unmap(block->start, block->bytes);
    block->next = gone, gone = block;
    /* From here on `access` says whether this was the last to hold the memory: then nobody finds it any more.
     */
    block->access = !--block->physical->mappings && !block->physical->handles;
  }
  unlock();
  if (!whole) return CUDA_ERROR_INVALID_VALUE;
  for (Block *block = gone, *next; block; block = next) {
    next = block->next;
    if (block->access) physical_end(block->physical, lib);
    free(block);
  }
  sim_trace("cuMemUnmap", -1, (long long)bytes, start, 0);
  return CUDA_SUCCESS;
}

API cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *wanted, size_t count) {
  int access = 0;
  NEED(wanted && count && !(address % VMM_STEP) && !(bytes % VMM_STEP));
  TRY(driver_ready());
  for (size_t i = 0; i < count; i++) {
    if (wanted[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE) TRY(device_ready(wanted[i].location.id));
    NEED(wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
         wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
         wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access |= (int)wanted[i].flags;
  }
  char *start = (char *)address;
  lock();
  int whole = whole_mappings(start, bytes);
  for (char *at = start; whole && at < start + bytes;) {
    Block *block = block_at(at);
    block->access = access;
    at += block->bytes;
  }
  /* Copies into memory that only devices may read are refused by us; the host's page tables need not know. */
  if (whole) mprotect(start, bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE);
  unlock();
  return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address) {
  NEED(flags && location);
  TRY(driver_ready());
  lock();
  Block *block = block_at((void *)address);
  int mapped = block && block->kind == MAPPED;
  if (mapped) *flags = (unsigned long long)block->access;
  unlock();
  return mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
