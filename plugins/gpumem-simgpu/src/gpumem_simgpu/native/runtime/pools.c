/* Stream-ordered pools. */
#include "runtime.h"

RT cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
  TRY(in_context());
  return failed((int)cuMemAllocAsync((CUdeviceptr *)out, bytes, stream));
}
RT cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  TRY(in_context());
  return failed((int)cuMemAllocFromPoolAsync((CUdeviceptr *)out, bytes, pool, stream));
}
RT cudaFreeAsync(void *address, cudaStream_t stream) {
  TRY(in_context());
  return failed((int)cuMemFreeAsync((CUdeviceptr)address, stream));
}
RT cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int dev) {
  TRY(started());
  return failed((int)cuDeviceGetDefaultMemPool(out, dev));
}
RT cudaDeviceGetMemPool(cudaMemPool_t *out, int dev) {
  TRY(started());
  return failed((int)cuDeviceGetMemPool(out, dev));
}
RT cudaDeviceSetMemPool(int dev, cudaMemPool_t pool) {
  TRY(started());
  return failed((int)cuDeviceSetMemPool(dev, pool));
}
RT cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *properties) {
  TRY(started());
  return failed((int)cuMemPoolCreate(out, (const CUmemPoolProps *)properties));
}
RT cudaMemPoolDestroy(cudaMemPool_t pool) { return failed((int)cuMemPoolDestroy(pool)); }
RT cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) { return failed((int)cuMemPoolTrimTo(pool, keep)); }
RT cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  return failed((int)cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
}
RT cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  return failed((int)cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
}
RT cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *wanted, size_t count) {
  return failed((int)cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)wanted, count));
}
RT cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *place) {
  return failed((int)cuMemPoolGetAccess((CUmemAccess_flags *)flags, pool, (CUmemLocation *)place));
}

/* Graphs are not simulated, so they hold no memory. */
RT cudaDeviceGetGraphMemAttribute(int dev, enum cudaGraphMemAttributeType attribute, void *value) {
  NEED(value);
  TRY(started());
  *(unsigned long long *)value = 0;
  return cudaSuccess;
}
RT cudaDeviceSetGraphMemAttribute(int dev, enum cudaGraphMemAttributeType attribute, void *value) {
  TRY(started());
  return cudaSuccess;
}
RT cudaDeviceGraphMemTrim(int dev) {
  TRY(started());
  return cudaSuccess;
}
