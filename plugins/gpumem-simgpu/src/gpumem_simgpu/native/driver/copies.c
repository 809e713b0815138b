/* Copies and fills: real, on the memory that stands for the device's, up to a limit; a large fill with zeros
 * commits nothing. */
#define _GNU_SOURCE
#include "driver.h"
#include <string.h>
#include <sys/mman.h>

#define LIMIT ((size_t)256 << 20) /* larger copies are accepted and not done */
#define PAGE ((size_t)4096)

typedef enum { HOST_SIDE, DEVICE_SIDE, EITHER_SIDE } Side;

/* Locked.  A device pointer must be ours; one that may be either is taken for the host's when it is not. */
static int valid(const void *address, size_t bytes, Side side) {
  if (!address) return 0;
  if (side == HOST_SIDE || (side == EITHER_SIDE && !block_at(address))) return 1;
  return blocks_cover(address, bytes);
}

static CUresult copy(void *to, Side to_side, const void *from, Side from_side, size_t bytes) {
  Context *context;
  TRY(context_current(&context));
  if (!bytes) return CUDA_SUCCESS;
  lock();
  int both = valid(to, bytes, to_side) && valid(from, bytes, from_side);
  unlock();
  if (!both) return CUDA_ERROR_INVALID_VALUE;
  if (bytes <= LIMIT) memmove(to, from, bytes);
  return CUDA_SUCCESS;
}

/* Give the pages back to the host: they read as zeros again. */
static void clear(char *start, size_t bytes, int shared) {
  char *first = (char *)round_up((size_t)start, PAGE),
       *last = (char *)((size_t)(start + bytes) & ~(PAGE - 1));
  memset(start, 0, (size_t)(first - start));
  memset(last, 0, (size_t)(start + bytes - last));
  if (madvise(first, (size_t)(last - first), shared ? MADV_REMOVE : MADV_DONTNEED))
    memset(first, 0, (size_t)(last - first));
}

static void write_values(char *start, unsigned value, size_t width, size_t count) {
  if (width == 1) {
    memset(start, (int)value, count);
    return;
  }
  for (size_t i = 0; i < count; i++) memcpy(start + i * width, &value, width); /* little-endian */
}

static CUresult fill(CUdeviceptr to, unsigned value, size_t width, size_t count) {
  Context *context;
  size_t bytes;
  char *start = (char *)to;
  TRY(context_current(&context));
  if (!count) return CUDA_SUCCESS;
  NEED(!__builtin_mul_overflow(width, count, &bytes) && !(to % width));
  lock();
  int inside = valid(start, bytes, DEVICE_SIDE);
  Block *block = inside ? block_at(start) : 0;
  int ours = block && block->kind != REGISTERED, shared = block && block->kind == MAPPED;
  ours = ours && start + bytes <= block->start + block->bytes;
  unlock();
  if (!inside) return CUDA_ERROR_INVALID_VALUE;
  if (!value && ours && bytes >= 2 * PAGE)
    clear(start, bytes, shared);
  else if (bytes <= LIMIT)
    write_values(start, value, width, count);
  return CUDA_SUCCESS;
}

#define AT(address) ((void *)(uintptr_t)(address))

API cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(AT(to), EITHER_SIDE, AT(from), EITHER_SIDE, bytes);
}
API cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpy(to, from, bytes);
}
API cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copy(AT(to), DEVICE_SIDE, from, HOST_SIDE, bytes);
}
API cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copy(to, HOST_SIDE, AT(from), DEVICE_SIDE, bytes);
}
API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}
API cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(AT(to), DEVICE_SIDE, AT(from), DEVICE_SIDE, bytes);
}
API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}
API cuMemcpyPeer(CUdeviceptr to, CUcontext a, CUdeviceptr from, CUcontext b, size_t bytes) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}
API cuMemcpyPeerAsync(CUdeviceptr to, CUcontext a, CUdeviceptr from, CUcontext b, size_t bytes,
                      CUstream stream) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}

API cuMemcpy2D_v2(const CUDA_MEMCPY2D *what) {
  NEED(what);
  const int from_host = what->srcMemoryType == CU_MEMORYTYPE_HOST,
            to_host = what->dstMemoryType == CU_MEMORYTYPE_HOST;
  if (what->srcMemoryType == CU_MEMORYTYPE_ARRAY || what->dstMemoryType == CU_MEMORYTYPE_ARRAY)
    return (CUresult)sim_stub("cuMemcpy2D with arrays", CUDA_ERROR_NOT_SUPPORTED);
  const char *from = from_host ? what->srcHost : AT(what->srcDevice);
  char *to = to_host ? what->dstHost : AT(what->dstDevice);
  Side from_side = from_host                                     ? HOST_SIDE
                   : what->srcMemoryType == CU_MEMORYTYPE_DEVICE ? DEVICE_SIDE
                                                                 : EITHER_SIDE;
  Side to_side = to_host                                       ? HOST_SIDE
                 : what->dstMemoryType == CU_MEMORYTYPE_DEVICE ? DEVICE_SIDE
                                                               : EITHER_SIDE;
  for (size_t row = 0; row < what->Height; row++)
    TRY(copy(to + (what->dstY + row) * what->dstPitch + what->dstXInBytes, to_side,
             from + (what->srcY + row) * what->srcPitch + what->srcXInBytes, from_side, what->WidthInBytes));
  return CUDA_SUCCESS;
}
API cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *what) { return cuMemcpy2D_v2(what); }
API cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *what, CUstream stream) { return cuMemcpy2D_v2(what); }

API cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) { return fill(to, value, 1, count); }
API cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) { return fill(to, value, 2, count); }
API cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) { return fill(to, value, 4, count); }
API cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, value, 1, count);
}
API cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill(to, value, 2, count);
}
API cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill(to, value, 4, count);
}
