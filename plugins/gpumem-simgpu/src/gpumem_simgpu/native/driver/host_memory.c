/* Page-locked host memory, and host memory that a program registers. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>

API cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  Context *context;
  NEED(out && bytes &&
       !(flags &
         ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)));
  TRY(context_current(&context));
  char *start = backing_new(bytes);
  if (!start) return CUDA_ERROR_OUT_OF_MEMORY;
  lock();
  Block *block = block_new(HOST, context->dev, start, bytes);
  if (block) block->context = context, block->flags = flags;
  unlock();
  if (!block) {
    backing_free(start, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = start;
  sim_trace("cuMemHostAlloc", -1, (long long)bytes, start, 0);
  return CUDA_SUCCESS;
}
API cuMemAllocHost_v2(void **out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }

/* Take the block that begins here out of the table; 0 where none of this kind does. */
static Block *forget(void *address, BlockKind kind) {
  lock();
  Block *block = address ? block_at(address) : 0;
  if (block && (block->start != address || block->kind != kind)) block = 0;
  if (block) block_remove(block);
  unlock();
  return block;
}

API cuMemFreeHost(void *address) {
  TRY(driver_ready());
  Block *block = forget(address, HOST);
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  backing_free(block->start, block->bytes);
  free(block);
  return CUDA_SUCCESS;
}

API cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  Context *context;
  uintptr_t past; /* compared as pointers, a range that wraps around would be undefined */
  NEED(address && bytes && !__builtin_add_overflow((uintptr_t)address, bytes, &past));
  TRY(context_current(&context));
  lock();
  Block *block = block_new(REGISTERED, context->dev, address, bytes);
  if (block) block->context = context, block->flags = flags;
  unlock();
  return block ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
API cuMemHostUnregister(void *address) {
  NEED(address);
  TRY(driver_ready());
  Block *block = forget(address, REGISTERED);
  if (!block) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  free(block);
  return CUDA_SUCCESS;
}

/* Host and device see such memory at one address. */
static CUresult host_block(const void *address, unsigned *flags) {
  TRY(driver_ready());
  lock();
  Block *block = block_at(address);
  int found = block && (block->kind == HOST || block->kind == REGISTERED);
  if (found && flags) *flags = block->flags;
  unlock();
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *address, unsigned flags) {
  NEED(out && !flags);
  TRY(host_block(address, 0));
  *out = (CUdeviceptr)address;
  return CUDA_SUCCESS;
}
API cuMemHostGetFlags(unsigned *flags, void *address) {
  NEED(flags);
  return host_block(address, flags);
}
