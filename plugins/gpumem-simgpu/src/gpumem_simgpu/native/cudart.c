/* The runtime API on top of the simulated driver: devices, errors, memory.  Compiled once per CUDA major
 * version against that version's headers (cudaDeviceProp differs). */
#include "cudart.h"
#include <string.h>

__thread cudaError_t rt_last;
static __thread int tls_dev; /* what cudaSetDevice chose on this thread */

int rt_init(void) {
  static int done;
  if (done) return 0;
  int rc = cuInit(0);
  if (!rc) done = 1;
  return rc;
}
int rt_context(void) {
  CUcontext c = 0;
  int rc = rt_init();
  if (rc) return rc;
  cuCtxGetCurrent(&c);
  if (c) return 0;
  if ((rc = cuDevicePrimaryCtxRetain(&c, tls_dev))) return rc;
  return cuCtxSetCurrent(c);
}

/* ---- devices ---- */
RT cudaGetDeviceCount(int *n) {
  *n = 0;
  INIT;
  return err(cuDeviceGetCount(n));
}
RT cudaGetDevice(int *d) {
  INIT;
  CUdevice x;
  *d = cuCtxGetDevice(&x) ? tls_dev : x;
  return 0;
}
RT cudaSetDevice(int d) {
  INIT;
  CUcontext c;
  int rc = cuDevicePrimaryCtxRetain(&c, d);
  if (rc) return err(rc); /* as the real runtime, it keeps the primary context active from now on */
  tls_dev = d;
  return err(cuCtxSetCurrent(c));
}
RT cudaInitDevice(int d, unsigned f, unsigned g) {
  INIT;
  CUcontext c;
  return err(cuDevicePrimaryCtxRetain(&c, d));
}
RT cudaDeviceReset(void) { return 0; }
RT cudaDeviceSynchronize(void) {
  CTX;
  return 0;
}
RT cudaSetDeviceFlags(unsigned f) { return 0; }
RT cudaGetDeviceFlags(unsigned *f) {
  *f = 0;
  return 0;
}
RT cudaSetValidDevices(int *d, int n) { return 0; }
RT cudaDeviceGetAttribute(int *v, enum cudaDeviceAttr a, int d) {
  INIT;
  return err(cuDeviceGetAttribute(v, (CUdevice_attribute)a, d));
}
RT cudaDeviceGetPCIBusId(char *s, int n, int d) {
  INIT;
  return err(cuDeviceGetPCIBusId(s, n, d));
}
RT cudaDeviceGetByPCIBusId(int *d, const char *s) {
  INIT;
  return err(cuDeviceGetByPCIBusId(d, s));
}
RT cudaDeviceCanAccessPeer(int *v, int a, int b) {
  INIT;
  return err(cuDeviceCanAccessPeer(v, a, b));
}
RT cudaDeviceEnablePeerAccess(int d, unsigned f) { return 0; }
RT cudaDeviceDisablePeerAccess(int d) { return 0; }
RT cudaDeviceGetStreamPriorityRange(int *lo, int *hi) { return err(cuCtxGetStreamPriorityRange(lo, hi)); }
RT cudaDeviceSetLimit(enum cudaLimit l, size_t v) { return 0; }
RT cudaDeviceGetLimit(size_t *v, enum cudaLimit l) { return err(cuCtxGetLimit(v, (CUlimit)l)); }
static cudaError_t props(struct cudaDeviceProp *p, int d) {
  INIT;
  size_t total;
  int rc = cuDeviceTotalMem(&total, d), v = 0;
  if (rc) return err(rc);
  memset(p, 0, sizeof *p);
  cuDeviceGetName(p->name, sizeof p->name, d);
  cuDeviceGetUuid_v2((CUuuid *)&p->uuid, d);
  cuDeviceComputeCapability(&p->major, &p->minor, d);
  p->totalGlobalMem = total;
#define A(attr) (cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_##attr, d), v)
  p->sharedMemPerBlock = A(MAX_SHARED_MEMORY_PER_BLOCK);
  p->sharedMemPerBlockOptin = A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p->sharedMemPerMultiprocessor = A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p->reservedSharedMemPerBlock = A(RESERVED_SHARED_MEMORY_PER_BLOCK);
  p->regsPerBlock = p->regsPerMultiprocessor = A(MAX_REGISTERS_PER_BLOCK);
  p->warpSize = A(WARP_SIZE), p->memPitch = A(MAX_PITCH);
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 65536, p->textureAlignment = 512, p->texturePitchAlignment = 32;
  p->multiProcessorCount = A(MULTIPROCESSOR_COUNT);
  p->canMapHostMemory = p->concurrentKernels = p->ECCEnabled = p->unifiedAddressing = 1;
  p->pciBusID = A(PCI_BUS_ID), p->asyncEngineCount = 2, p->memoryBusWidth = A(GLOBAL_MEMORY_BUS_WIDTH);
  p->l2CacheSize = A(L2_CACHE_SIZE), p->maxThreadsPerMultiProcessor = 2048,
  p->maxBlocksPerMultiProcessor = 32;
  p->streamPrioritiesSupported = p->managedMemory = p->concurrentManagedAccess = 1;
  p->cooperativeLaunch = p->memoryPoolsSupported = p->hostRegisterSupported = 1;
#if VERSION < 13000
  p->clockRate = A(CLOCK_RATE), p->memoryClockRate = A(MEMORY_CLOCK_RATE), p->deviceOverlap = 1;
#endif
  return 0;
}
RT cudaGetDeviceProperties(struct cudaDeviceProp *p, int d) { return props(p, d); }
#if VERSION < 13000
RT cudaGetDeviceProperties_v2(struct cudaDeviceProp *p, int d) { return props(p, d); }
#endif
RT cudaDriverGetVersion(int *v) { return err(cuDriverGetVersion(v)); }
RT cudaRuntimeGetVersion(int *v) {
  *v = VERSION;
  return 0;
}

/* ---- errors ---- */
RT cudaGetLastError(void) {
  cudaError_t e = rt_last;
  rt_last = 0;
  return e;
}
RT cudaPeekAtLastError(void) { return rt_last; }
__attribute__((visibility("default"))) const char *cudaGetErrorString(cudaError_t e) {
  const char *s;
  cuGetErrorString((CUresult)e, &s);
  return s;
}
__attribute__((visibility("default"))) const char *cudaGetErrorName(cudaError_t e) {
  switch ((int)e) {
  case 0: return "cudaSuccess";
  case 1: return "cudaErrorInvalidValue";
  case 2: return "cudaErrorMemoryAllocation";
  case 3: return "cudaErrorInitializationError";
  case 100: return "cudaErrorNoDevice";
  case 101: return "cudaErrorInvalidDevice";
  case 801: return "cudaErrorNotSupported";
  default: return "cudaErrorUnknown";
  }
}
RT cudaGetDriverEntryPointByVersion(const char *s, void **fn, unsigned ver, unsigned long long f,
                                    enum cudaDriverEntryPointQueryResult *st) {
  CUdriverProcAddressQueryResult q = 0;
  int rc = cuGetProcAddress_v2(s, fn, (int)ver, 0, &q);
  if (st) *st = (enum cudaDriverEntryPointQueryResult)q;
  return err(rc);
}
RT cudaGetDriverEntryPoint(const char *s, void **fn, unsigned long long f,
                           enum cudaDriverEntryPointQueryResult *st) {
  return cudaGetDriverEntryPointByVersion(s, fn, VERSION, f, st);
}

/* ---- memory ---- */
RT cudaMalloc(void **p, size_t n) {
  CTX;
  if (!n) {
    *p = 0;
    return 0;
  }
  return err(cuMemAlloc((CUdeviceptr *)p, n));
}
RT cudaFree(void *p) {
  CTX;
  return err(cuMemFree((CUdeviceptr)p));
}
RT cudaMallocManaged(void **p, size_t n, unsigned f) {
  CTX;
  return err(cuMemAllocManaged((CUdeviceptr *)p, n, f));
}
RT cudaMallocPitch(void **p, size_t *pitch, size_t w, size_t h) {
  CTX;
  return err(cuMemAllocPitch((CUdeviceptr *)p, pitch, w, h, 4));
}
RT cudaMallocHost(void **p, size_t n) {
  CTX;
  return err(cuMemAllocHost(p, n));
}
RT cudaHostAlloc(void **p, size_t n, unsigned f) {
  CTX;
  return err(cuMemHostAlloc(p, n, f));
}
RT cudaFreeHost(void *p) {
  CTX;
  return err(cuMemFreeHost(p));
}
RT cudaHostRegister(void *p, size_t n, unsigned f) {
  CTX;
  return err(cuMemHostRegister(p, n, f));
}
RT cudaHostUnregister(void *p) {
  CTX;
  return err(cuMemHostUnregister(p));
}
RT cudaHostGetDevicePointer(void **d, void *h, unsigned f) {
  *d = h;
  return 0;
}
RT cudaMemGetInfo(size_t *f, size_t *t) {
  CTX;
  return err(cuMemGetInfo(f, t));
}
RT cudaMallocAsync(void **p, size_t n, cudaStream_t s) {
  CTX;
  return err(cuMemAllocAsync((CUdeviceptr *)p, n, s));
}
RT cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t q, cudaStream_t s) {
  CTX;
  return err(cuMemAllocFromPoolAsync((CUdeviceptr *)p, n, q, s));
}
RT cudaFreeAsync(void *p, cudaStream_t s) {
  CTX;
  return err(cuMemFreeAsync((CUdeviceptr)p, s));
}
RT cudaDeviceGetDefaultMemPool(cudaMemPool_t *q, int d) {
  INIT;
  return err(cuDeviceGetDefaultMemPool(q, d));
}
RT cudaDeviceGetMemPool(cudaMemPool_t *q, int d) {
  INIT;
  return err(cuDeviceGetMemPool(q, d));
}
RT cudaDeviceSetMemPool(int d, cudaMemPool_t q) {
  INIT;
  return err(cuDeviceSetMemPool(d, q));
}
RT cudaMemPoolCreate(cudaMemPool_t *q, const struct cudaMemPoolProps *a) {
  INIT;
  return err(cuMemPoolCreate(q, (const CUmemPoolProps *)a));
}
RT cudaMemPoolDestroy(cudaMemPool_t q) { return err(cuMemPoolDestroy(q)); }
RT cudaMemPoolTrimTo(cudaMemPool_t q, size_t n) { return err(cuMemPoolTrimTo(q, n)); }
RT cudaMemPoolSetAttribute(cudaMemPool_t q, enum cudaMemPoolAttr a, void *v) {
  return err(cuMemPoolSetAttribute(q, (CUmemPool_attribute)a, v));
}
RT cudaMemPoolGetAttribute(cudaMemPool_t q, enum cudaMemPoolAttr a, void *v) {
  return err(cuMemPoolGetAttribute(q, (CUmemPool_attribute)a, v));
}
RT cudaMemPoolSetAccess(cudaMemPool_t q, const struct cudaMemAccessDesc *d, size_t n) { return 0; }
RT cudaDeviceGetGraphMemAttribute(int d, enum cudaGraphMemAttributeType a, void *v) {
  *(unsigned long long *)v = 0;
  return 0;
}
RT cudaDeviceSetGraphMemAttribute(int d, enum cudaGraphMemAttributeType a, void *v) { return 0; }
RT cudaMemcpy(void *d, const void *s, size_t n, enum cudaMemcpyKind k) {
  CTX;
  return err(cuMemcpy((CUdeviceptr)d, (CUdeviceptr)s, n));
}
RT cudaMemcpyAsync(void *d, const void *s, size_t n, enum cudaMemcpyKind k, cudaStream_t q) {
  return cudaMemcpy(d, s, n, k);
}
RT cudaMemcpyPeer(void *d, int a, const void *s, int b, size_t n) { return cudaMemcpy(d, s, n, 0); }
RT cudaMemcpyPeerAsync(void *d, int a, const void *s, int b, size_t n, cudaStream_t q) {
  return cudaMemcpy(d, s, n, 0);
}
RT cudaMemcpy2DAsync(void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, enum cudaMemcpyKind k,
                     cudaStream_t q) {
  CTX;
  for (size_t i = 0; i < h; i++) memmove((char *)d + i * dp, (const char *)s + i * sp, w);
  return 0;
}
RT cudaMemcpy2D(void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, enum cudaMemcpyKind k) {
  return cudaMemcpy2DAsync(d, dp, s, sp, w, h, k, 0);
}
RT cudaMemcpyToSymbol(const void *sym, const void *s, size_t n, size_t off, enum cudaMemcpyKind k) {
  return 0;
}
RT cudaMemset(void *d, int v, size_t n) {
  CTX;
  return err(cuMemsetD8((CUdeviceptr)d, (unsigned char)v, n));
}
RT cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t s) { return cudaMemset(d, v, n); }
RT cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) {
  INIT;
  unsigned kind = 0, managed = 0;
  int dev = -1;
  memset(a, 0, sizeof *a);
  if (cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)p)) {
    a->type = cudaMemoryTypeUnregistered, a->device = cudaInvalidDeviceId, a->hostPointer = (void *)p;
    return 0;
  }
  cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)p);
  cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)p);
  a->type = managed                        ? cudaMemoryTypeManaged
            : kind == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                           : cudaMemoryTypeHost;
  a->device = dev, a->devicePointer = (void *)p;
  if (a->type != cudaMemoryTypeDevice) a->hostPointer = (void *)p;
  return 0;
}
