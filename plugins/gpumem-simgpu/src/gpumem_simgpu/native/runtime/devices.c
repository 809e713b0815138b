/* Devices: what the driver says about them, in the runtime's words. */
#include "runtime.h"
#include <string.h>

RT cudaGetDeviceCount(int *count) {
  NEED(count);
  *count = 0;
  TRY(started());
  return failed((int)cuDeviceGetCount(count));
}
RT cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int dev) {
  TRY(started());
  return failed((int)cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, dev));
}
RT cudaDeviceGetPCIBusId(char *text, int size, int dev) {
  TRY(started());
  return failed((int)cuDeviceGetPCIBusId(text, size, dev));
}
RT cudaDeviceGetByPCIBusId(int *dev, const char *text) {
  TRY(started());
  return failed((int)cuDeviceGetByPCIBusId(dev, text));
}
RT cudaDeviceCanAccessPeer(int *can, int a, int b) {
  TRY(started());
  return failed((int)cuDeviceCanAccessPeer(can, a, b));
}
RT cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  CUdevice found;
  TRY(in_context());
  return failed((int)cuDeviceGet(&found, peer));
}
RT cudaDeviceDisablePeerAccess(int peer) { return cudaDeviceEnablePeerAccess(peer, 0); }
RT cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  TRY(in_context());
  return failed((int)cuCtxGetStreamPriorityRange(least, greatest));
}
RT cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  TRY(in_context());
  return failed((int)cuCtxSetLimit((CUlimit)limit, value));
}
RT cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
  TRY(in_context());
  return failed((int)cuCtxGetLimit(value, (CUlimit)limit));
}
RT cudaSetDeviceFlags(unsigned flags) {
  TRY(started());
  return failed((int)cuDevicePrimaryCtxSetFlags(chosen_device(), flags));
}
RT cudaGetDeviceFlags(unsigned *flags) {
  int active;
  TRY(started());
  return failed((int)cuDevicePrimaryCtxGetState(chosen_device(), flags, &active));
}
RT cudaSetValidDevices(int *dev, int count) {
  TRY(started());
  return cudaSuccess;
}

static cudaError_t fill(struct cudaDeviceProp *p, int d) {
  NEED(p);
  TRY(started());
  size_t total;
  TRY(cuDeviceTotalMem(&total, d));
  int value = 0;
  memset(p, 0, sizeof *p);
  cuDeviceGetName(p->name, sizeof p->name, d);
  cuDeviceGetUuid_v2((CUuuid *)&p->uuid, d);
  cuDeviceComputeCapability(&p->major, &p->minor, d);
  p->totalGlobalMem = total;
#define A(name) (cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##name, d), value)
  p->sharedMemPerBlock = (size_t)A(MAX_SHARED_MEMORY_PER_BLOCK);
  p->sharedMemPerBlockOptin = (size_t)A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p->sharedMemPerMultiprocessor = (size_t)A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p->reservedSharedMemPerBlock = (size_t)A(RESERVED_SHARED_MEMORY_PER_BLOCK);
  p->regsPerBlock = p->regsPerMultiprocessor = A(MAX_REGISTERS_PER_BLOCK);
  p->warpSize = A(WARP_SIZE), p->memPitch = (size_t)A(MAX_PITCH);
  p->maxThreadsPerBlock = A(MAX_THREADS_PER_BLOCK);
  p->maxThreadsDim[0] = A(MAX_BLOCK_DIM_X), p->maxThreadsDim[1] = A(MAX_BLOCK_DIM_Y);
  p->maxThreadsDim[2] = A(MAX_BLOCK_DIM_Z);
  p->maxGridSize[0] = A(MAX_GRID_DIM_X), p->maxGridSize[1] = A(MAX_GRID_DIM_Y),
  p->maxGridSize[2] = A(MAX_GRID_DIM_Z);
  p->totalConstMem = (size_t)A(TOTAL_CONSTANT_MEMORY), p->textureAlignment = (size_t)A(TEXTURE_ALIGNMENT);
  p->texturePitchAlignment = (size_t)A(TEXTURE_PITCH_ALIGNMENT);
  p->multiProcessorCount = A(MULTIPROCESSOR_COUNT), p->integrated = A(INTEGRATED);
  p->canMapHostMemory = A(CAN_MAP_HOST_MEMORY), p->concurrentKernels = A(CONCURRENT_KERNELS);
  p->ECCEnabled = A(ECC_ENABLED), p->unifiedAddressing = A(UNIFIED_ADDRESSING);
  p->pciBusID = A(PCI_BUS_ID), p->asyncEngineCount = A(ASYNC_ENGINE_COUNT);
  p->memoryBusWidth = A(GLOBAL_MEMORY_BUS_WIDTH), p->l2CacheSize = A(L2_CACHE_SIZE);
  p->maxThreadsPerMultiProcessor = A(MAX_THREADS_PER_MULTIPROCESSOR);
  p->maxBlocksPerMultiProcessor = A(MAX_BLOCKS_PER_MULTIPROCESSOR);
  p->streamPrioritiesSupported = A(STREAM_PRIORITIES_SUPPORTED), p->managedMemory = A(MANAGED_MEMORY);
  p->concurrentManagedAccess = A(CONCURRENT_MANAGED_ACCESS), p->cooperativeLaunch = A(COOPERATIVE_LAUNCH);
  p->pageableMemoryAccess = A(PAGEABLE_MEMORY_ACCESS), p->memoryPoolsSupported = A(MEMORY_POOLS_SUPPORTED);
  p->pageableMemoryAccessUsesHostPageTables = A(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
  p->directManagedMemAccessFromHost = A(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
  p->hostRegisterSupported = A(HOST_REGISTER_SUPPORTED);
  p->computePreemptionSupported = A(COMPUTE_PREEMPTION_SUPPORTED);
#if CUDART_VERSION < 13000
  p->clockRate = A(CLOCK_RATE), p->memoryClockRate = A(MEMORY_CLOCK_RATE), p->deviceOverlap = A(GPU_OVERLAP);
#endif
#undef A
  return cudaSuccess;
}
RT cudaGetDeviceProperties(struct cudaDeviceProp *p, int dev) { return fill(p, dev); }
#if CUDART_VERSION < 13000
RT cudaGetDeviceProperties_v2(struct cudaDeviceProp *p, int dev) { return fill(p, dev); }
#endif
