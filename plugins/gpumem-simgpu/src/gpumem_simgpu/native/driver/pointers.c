/* Questions about pointers. */
#include "driver.h"
#include <string.h>

/* How many bytes an attribute's answer has; cuda.h tells its type. */
static size_t answer_size(CUpointer_attribute attribute) {
  switch ((int)attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
  case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
  case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
  case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return 8;
  case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return 16;
  default: return 4;
  }
}

/* Locked. */
static CUresult answer(const Block *block, CUpointer_attribute attribute, CUdeviceptr address, void *out) {
  unsigned type = is_device_memory(block) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  memset(out, 0, answer_size(attribute));
  switch ((int)attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: *(Context **)out = block->context; break;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)out = type; break;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)out = address; break;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (type == CU_MEMORYTYPE_DEVICE && block->kind != MANAGED) return CUDA_ERROR_INVALID_VALUE;
    *(CUdeviceptr *)out = address;
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = block->dev; break;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)out = block->kind == MANAGED; break;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
  case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *(char **)out = block->start; break;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
  case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *(size_t *)out = block->bytes; break;
  case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)out = 1; break;
  case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)out = block->id; break;
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(Pool **)out = block->pool; break;
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    *(unsigned *)out = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
    break;
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: break;
  default: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

API cuPointerGetAttribute(void *out, CUpointer_attribute attribute, CUdeviceptr address) {
  NEED(out);
  TRY(driver_ready());
  lock();
  Block *block = block_at((void *)address);
  CUresult rc = block ? answer(block, attribute, address, out) : CUDA_ERROR_INVALID_VALUE;
  unlock();
  return rc;
}
/* "does not return an error" for memory that CUDA does not know, but zeros (cuda.h). */
API cuPointerGetAttributes(unsigned count, CUpointer_attribute *attribute, void **out, CUdeviceptr address) {
  NEED(count && attribute && out);
  TRY(driver_ready());
  for (unsigned i = 0; i < count; i++) {
    NEED(out[i]);
    if (cuPointerGetAttribute(out[i], attribute[i], address)) memset(out[i], 0, answer_size(attribute[i]));
  }
  return CUDA_SUCCESS;
}
API cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  NEED(value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
  TRY(driver_ready());
  lock();
  Block *block = block_at((void *)address);
  unlock();
  return block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
