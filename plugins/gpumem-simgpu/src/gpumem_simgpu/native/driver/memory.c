/* Device memory: plain and managed. */
#include "driver.h"

API cuMemGetInfo_v2(size_t *free, size_t *total) {
  Context *context;
  SimTotals now;
  TRY(context_current(&context));
  size_t all = sim_device(context->dev)->total;
  sim_ledger_totals(driver.device[context->dev].bus, &now);
  size_t left = now.all > all ? 0 : all - now.all;
  if (free) *free = left;
  if (total) *total = all;
  sim_trace("cuMemGetInfo_v2", context->dev, (long long)left, 0, 0);
  return CUDA_SUCCESS;
}

API cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  Context *context;
  TRY(context_of_request(&context));
  return request_memory("cuMemAlloc", context, bytes, DEVICE, out);
}
API cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned element) {
  Context *context;
  size_t bytes;
  NEED(pitch && width && (element == 4 || element == 8 || element == 16));
  TRY(context_of_request(&context));
  size_t step = round_up(width, 512);
  if (step < width || __builtin_mul_overflow(step, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  TRY(request_memory("cuMemAllocPitch", context, bytes, DEVICE, out));
  *pitch = step;
  return CUDA_SUCCESS;
}
API cuMemFree_v2(CUdeviceptr address) { return free_memory("cuMemFree", address); }

API cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags) {
  Context *context;
  TRY(context_of_request(&context));
  NEED(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
  if (!sim_device(context->dev)->managed) return CUDA_ERROR_NOT_SUPPORTED;
  return request_memory("cuMemAllocManaged", context, bytes, MANAGED, out);
}

/* Managed memory is in one place only, so advice and prefetching change nothing. */
static CUresult managed_range(CUdeviceptr address, size_t bytes) {
  TRY(driver_ready());
  lock();
  Block *block = block_at((void *)address);
  int inside = block && block->kind == MANAGED && bytes && bytes <= block->bytes &&
               (char *)address + bytes <= block->start + block->bytes;
  unlock();
  return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice dev) {
  return managed_range(address, bytes);
}
API cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation place) {
  return managed_range(address, bytes);
}
API cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice dev, CUstream stream) {
  return managed_range(address, bytes);
}
API cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation place, unsigned flags,
                          CUstream stream) {
  return managed_range(address, bytes);
}

API cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *bytes, CUdeviceptr address) {
  TRY(driver_ready());
  lock();
  Block *block = block_at((void *)address);
  int found = block && is_device_memory(block);
  if (found && start) *start = (CUdeviceptr)block->start;
  if (found && bytes) *bytes = block->bytes;
  unlock();
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
