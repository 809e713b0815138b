/* The runtime API: streams, events and kernels.  Kernels are registered and launched, and never run. */
#include "cudart.h"
#include <stdlib.h>
#include <string.h>

/* ---- streams, events ---- */
RT cudaStreamCreateWithPriority(cudaStream_t *s, unsigned f, int p) {
  CTX;
  return err(cuStreamCreateWithPriority(s, f, p));
}
RT cudaStreamCreateWithFlags(cudaStream_t *s, unsigned f) {
  CTX;
  return err(cuStreamCreate(s, f));
}
RT cudaStreamCreate(cudaStream_t *s) {
  CTX;
  return err(cuStreamCreate(s, 0));
}
RT cudaStreamDestroy(cudaStream_t s) { return err(cuStreamDestroy(s)); }
RT cudaStreamSynchronize(cudaStream_t s) { return 0; }
RT cudaStreamQuery(cudaStream_t s) { return 0; }
RT cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned f) { return 0; }
RT cudaStreamGetPriority(cudaStream_t s, int *p) { return err(cuStreamGetPriority(s, p)); }
RT cudaStreamGetFlags(cudaStream_t s, unsigned *f) { return err(cuStreamGetFlags(s, f)); }
RT cudaStreamGetDevice(cudaStream_t s, int *d) { return err(cuStreamGetDevice(s, d)); }
RT cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *v) {
  *v = cudaStreamCaptureStatusNone;
  return 0;
}
RT cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *v, unsigned long long *id,
                            cudaGraph_t *g, const cudaGraphNode_t **d, const cudaGraphEdgeData **e,
                            size_t *n) {
  *v = cudaStreamCaptureStatusNone;
  if (id) *id = 0;
  return 0;
}
RT cudaStreamGetCaptureInfo_v2(cudaStream_t s, enum cudaStreamCaptureStatus *v, unsigned long long *id,
                               cudaGraph_t *g, const cudaGraphNode_t **d, size_t *n) {
  *v = cudaStreamCaptureStatusNone;
  if (id) *id = 0;
  return 0;
}
RT cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *m) {
  return err(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)m));
}
RT cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f, void *u, unsigned x) {
  f(s, 0, u);
  return 0;
}
RT cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *u) {
  f(u);
  return 0;
}
RT cudaEventCreateWithFlags(cudaEvent_t *e, unsigned f) {
  CTX;
  return err(cuEventCreate(e, f));
}
RT cudaEventCreate(cudaEvent_t *e) {
  CTX;
  return err(cuEventCreate(e, 0));
}
RT cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return err(cuEventRecord(e, s)); }
RT cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned f) { return err(cuEventRecord(e, s)); }
RT cudaEventQuery(cudaEvent_t e) { return 0; }
RT cudaEventSynchronize(cudaEvent_t e) { return 0; }
RT cudaEventDestroy(cudaEvent_t e) { return err(cuEventDestroy(e)); }
RT cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) { return err(cuEventElapsedTime(ms, a, b)); }

/* ---- kernels: registered, launched, never run ---- */
__attribute__((visibility("default"))) void **__cudaRegisterFatBinary(void *f) {
  static void *h;
  return &h;
}
__attribute__((visibility("default"))) void __cudaRegisterFatBinaryEnd(void **h) {}
__attribute__((visibility("default"))) void __cudaUnregisterFatBinary(void **h) {}
__attribute__((visibility("default"))) void __cudaRegisterFunction(void **h, const char *hf, char *df,
                                                                   const char *n, int t, void *a, void *b,
                                                                   void *c, void *d, int *w) {}
__attribute__((visibility("default"))) void __cudaRegisterVar(void **h, char *hv, char *da, const char *n,
                                                              int e, size_t s, int c, int g) {}
__attribute__((visibility("default"))) void
__cudaRegisterManagedVar(void **h, void **p, char *d, const char *n, int e, size_t s, int c, int g) {}
__attribute__((visibility("default"))) char __cudaInitModule(void **h) { return 1; }
static __thread struct {
  dim3 g, b;
  size_t sh;
  void *s;
} call[16];
static __thread int calls;
__attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t sh,
                                                                            struct CUstream_st *s) {
  if (calls == 16) return 1;
  call[calls].g = g, call[calls].b = b, call[calls].sh = sh, call[calls].s = s;
  calls++;
  return 0;
}
RT __cudaPopCallConfiguration(dim3 *g, dim3 *b, size_t *sh, void *s) {
  if (!calls) return 1;
  calls--;
  *g = call[calls].g, *b = call[calls].b, *sh = call[calls].sh, *(void **)s = call[calls].s;
  return 0;
}
RT cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t sh, cudaStream_t s) {
  CTX;
  if (sim_tracing()) sim_event("cudaLaunchKernel", -1, -1, f, 0, 0);
  return 0;
}
RT __cudaLaunchKernel(void *f, dim3 g, dim3 b, void **a, size_t sh, cudaStream_t s) {
  return cudaLaunchKernel(f, g, b, a, sh, s);
}
RT cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **a) {
  CTX;
  return 0;
}
RT cudaLaunchCooperativeKernel(const void *f, dim3 g, dim3 b, void **a, size_t sh, cudaStream_t s) {
  CTX;
  return 0;
}
RT __cudaGetKernel(cudaKernel_t *k, const void *f) {
  *k = (cudaKernel_t)f;
  return 0;
}
RT cudaGetKernel(cudaKernel_t *k, const void *f) {
  *k = (cudaKernel_t)f;
  return 0;
}
RT cudaGetFuncBySymbol(cudaFunction_t *k, const void *f) {
  *k = (cudaFunction_t)f;
  return 0;
}
RT cudaFuncSetAttribute(const void *f, enum cudaFuncAttribute a, int v) { return 0; }
RT cudaFuncSetCacheConfig(const void *f, enum cudaFuncCache c) { return 0; }
RT cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f) {
  INIT;
  memset(a, 0, sizeof *a);
  a->maxThreadsPerBlock = 1024, a->numRegs = 32;
  a->ptxVersion = a->binaryVersion = sim_conf.cc_major * 10 + sim_conf.cc_minor;
  a->maxDynamicSharedSizeBytes = 49152;
  return 0;
}
RT cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int b, size_t s,
                                                          unsigned x) {
  *n = 2;
  return 0;
}
RT cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int b, size_t s) {
  *n = 2;
  return 0;
}
RT cudaGetSymbolAddress(void **p, const void *sym) {
  CTX;
  static void *scratch;
  if (!scratch) scratch = calloc(1, 1 << 20);
  *p = scratch;
  return 0;
}
RT cudaProfilerStart(void) { return 0; }
RT cudaProfilerStop(void) { return 0; }
