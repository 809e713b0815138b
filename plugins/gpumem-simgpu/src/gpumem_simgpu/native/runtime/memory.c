/* Memory of devices and of the host. */
#include "runtime.h"
#include <string.h>

RT cudaMalloc(void **out, size_t bytes) {
  NEED(out);
  TRY(in_context());
  *out = 0;
  return bytes ? failed((int)cuMemAlloc((CUdeviceptr *)out, bytes)) : cudaSuccess;
}
RT cudaFree(void *address) {
  TRY(in_context());
  return failed((int)cuMemFree((CUdeviceptr)address));
}
RT cudaMallocManaged(void **out, size_t bytes, unsigned flags) {
  TRY(in_context());
  return failed((int)cuMemAllocManaged((CUdeviceptr *)out, bytes, flags));
}
RT cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  TRY(in_context());
  return failed((int)cuMemAllocPitch((CUdeviceptr *)out, pitch, width, height, 4));
}
RT cudaMemGetInfo(size_t *free, size_t *total) {
  TRY(in_context());
  return failed((int)cuMemGetInfo(free, total));
}

RT cudaMallocHost(void **out, size_t bytes) {
  TRY(in_context());
  return failed((int)cuMemAllocHost(out, bytes));
}
RT cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
  TRY(in_context());
  return failed((int)cuMemHostAlloc(out, bytes, flags));
}
RT cudaFreeHost(void *address) {
  TRY(in_context());
  return address ? failed((int)cuMemFreeHost(address)) : cudaSuccess;
}
RT cudaHostRegister(void *address, size_t bytes, unsigned flags) {
  TRY(in_context());
  return failed((int)cuMemHostRegister(address, bytes, flags));
}
RT cudaHostUnregister(void *address) {
  TRY(in_context());
  return failed((int)cuMemHostUnregister(address));
}
RT cudaHostGetDevicePointer(void **out, void *address, unsigned flags) {
  TRY(in_context());
  return failed((int)cuMemHostGetDevicePointer((CUdeviceptr *)out, address, flags));
}
RT cudaHostGetFlags(unsigned *flags, void *address) {
  TRY(in_context());
  return failed((int)cuMemHostGetFlags(flags, address));
}

/* Memory that CUDA does not know is no error here. */
RT cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *address) {
  CUdeviceptr pointer = (CUdeviceptr)address;
  unsigned kind = 0, managed = 0;
  int dev = -1;
  NEED(out);
  TRY(started());
  memset(out, 0, sizeof *out);
  if (cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer)) {
    out->type = cudaMemoryTypeUnregistered, out->device = cudaInvalidDeviceId,
    out->hostPointer = (void *)pointer;
    return cudaSuccess;
  }
  cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
  cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
  out->type = managed                        ? cudaMemoryTypeManaged
              : kind == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                             : cudaMemoryTypeHost;
  out->device = dev, out->devicePointer = (void *)pointer;
  if (out->type != cudaMemoryTypeDevice) out->hostPointer = (void *)pointer;
  return cudaSuccess;
}
