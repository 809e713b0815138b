/* Copies, streams, events and kernels. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct CUstream_st {
  int dev, prio;
  unsigned flags;
  unsigned long long id;
};
struct CUevent_st {
  int dev, recorded;
  unsigned flags;
  double ms;
};
struct CUmod_st {
  int n;
  struct {
    char name[256];
    void *p;
  } var[64];
};
struct CUfunc_st {
  struct CUmod_st *mod;
  char name[200];
};

/* ---- copies and fills: real, on the backing memory, but a large fill commits nothing ---- */
#define FILL_LIMIT ((size_t)256 << 20)
static CUresult copy(void *d, const void *s, size_t n) {
  if (n <= FILL_LIMIT) memmove(d, s, n);
  return 0;
}
static CUresult fill(void *d, unsigned v, int width, size_t n) {
  size_t bytes = n * width;
  if (!v && bytes >= (1 << 20)) { /* drop the pages: they read as zero again */
    char *a = (char *)sim_round_up((size_t)d, 4096), *e = (char *)(((size_t)d + bytes) & ~(size_t)4095);
    memset(d, 0, (size_t)(a - (char *)d));
    memset(e, 0, (size_t)((char *)d + bytes - e));
    madvise(a, (size_t)(e - a), MADV_DONTNEED);
    return 0;
  }
  if (bytes > FILL_LIMIT) return 0;
  if (width == 1)
    memset(d, (int)v, n);
  else
    for (size_t i = 0; i < n; i++)
      if (width == 2)
        ((unsigned short *)d)[i] = (unsigned short)v;
      else
        ((unsigned *)d)[i] = v;
  return 0;
}
#define P(x) ((void *)(uintptr_t)(x))
API cuMemcpy(CUdeviceptr d, CUdeviceptr s, size_t n) { return copy(P(d), P(s), n); }
API cuMemcpyAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream q) { return copy(P(d), P(s), n); }
API cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) { return copy(P(d), s, n); }
API cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) { return copy(d, P(s), n); }
API cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr s, size_t n) { return copy(P(d), P(s), n); }
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream q) { return copy(P(d), s, n); }
API cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream q) { return copy(d, P(s), n); }
API cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream q) { return copy(P(d), P(s), n); }
API cuMemcpyPeer(CUdeviceptr d, CUcontext a, CUdeviceptr s, CUcontext b, size_t n) {
  return copy(P(d), P(s), n);
}
API cuMemcpyPeerAsync(CUdeviceptr d, CUcontext a, CUdeviceptr s, CUcontext b, size_t n, CUstream q) {
  return copy(P(d), P(s), n);
}
API cuMemsetD8_v2(CUdeviceptr d, unsigned char v, size_t n) { return fill(P(d), v, 1, n); }
API cuMemsetD16_v2(CUdeviceptr d, unsigned short v, size_t n) { return fill(P(d), v, 2, n); }
API cuMemsetD32_v2(CUdeviceptr d, unsigned v, size_t n) { return fill(P(d), v, 4, n); }
API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) { return fill(P(d), v, 1, n); }
API cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream s) { return fill(P(d), v, 2, n); }
API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream s) { return fill(P(d), v, 4, n); }

/* ---- streams and events: everything has already finished ---- */
API cuStreamCreateWithPriority(CUstream *s, unsigned f, int prio) {
  NEED_CTX;
  *s = calloc(1, sizeof **s);
  (*s)->dev = c->dev, (*s)->prio = prio, (*s)->flags = f, (*s)->id = sim_next_id();
  TRACE(c->dev, -1, *s);
  return 0;
}
static int real_stream(CUstream s) { return (uintptr_t)s > 2; } /* not legacy/per-thread */
API cuStreamCreate(CUstream *s, unsigned f) { return cuStreamCreateWithPriority(s, f, 0); }
API cuStreamDestroy_v2(CUstream s) {
  if (real_stream(s)) free(s);
  return 0;
}
API cuStreamQuery(CUstream s) { return 0; }
API cuStreamSynchronize(CUstream s) { return 0; }
API cuStreamWaitEvent(CUstream s, CUevent e, unsigned f) { return 0; }
API cuStreamGetPriority(CUstream s, int *p) {
  *p = real_stream(s) ? s->prio : 0;
  return 0;
}
API cuStreamGetFlags(CUstream s, unsigned *f) {
  *f = real_stream(s) ? s->flags : 0;
  return 0;
}
API cuStreamGetId(CUstream s, unsigned long long *id) {
  *id = real_stream(s) ? s->id : 0;
  return 0;
}
API cuStreamGetCtx(CUstream s, CUcontext *c) {
  *c = real_stream(s) ? &sim_primary[s->dev] : sim_current();
  return 0;
}
API cuStreamGetDevice(CUstream s, CUdevice *d) {
  *d = real_stream(s) ? s->dev : sim_current() ? sim_current()->dev : 0;
  return 0;
}
API cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *v) {
  *v = CU_STREAM_CAPTURE_STATUS_NONE;
  return 0;
}
API cuStreamGetCaptureInfo_v2(CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id, CUgraph *g,
                              const CUgraphNode **d, size_t *n) {
  *v = CU_STREAM_CAPTURE_STATUS_NONE;
  if (id) *id = 0;
  return 0;
}
API cuStreamGetCaptureInfo_v3(CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id, CUgraph *g,
                              const CUgraphNode **d, const CUgraphEdgeData **e, size_t *n) {
  *v = CU_STREAM_CAPTURE_STATUS_NONE;
  if (id) *id = 0;
  return 0;
}
API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *m) {
  *m = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return 0;
}
API cuStreamWriteValue32_v2(CUstream s, CUdeviceptr p, cuuint32_t v, unsigned f) {
  *(cuuint32_t *)p = v;
  return 0;
}
API cuStreamWriteValue64_v2(CUstream s, CUdeviceptr p, cuuint64_t v, unsigned f) {
  *(cuuint64_t *)p = v;
  return 0;
}
API cuStreamWaitValue32_v2(CUstream s, CUdeviceptr p, cuuint32_t v, unsigned f) { return 0; }
API cuStreamWaitValue64_v2(CUstream s, CUdeviceptr p, cuuint64_t v, unsigned f) { return 0; }
API cuStreamAddCallback(CUstream s, CUstreamCallback f, void *u, unsigned x) {
  f(s, 0, u);
  return 0;
}
API cuLaunchHostFunc(CUstream s, CUhostFn f, void *u) {
  f(u);
  return 0;
}
API cuEventCreate(CUevent *e, unsigned f) {
  NEED_CTX;
  *e = calloc(1, sizeof **e);
  (*e)->dev = c->dev, (*e)->flags = f;
  return 0;
}
API cuEventRecord(CUevent e, CUstream s) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  e->ms = t.tv_sec * 1e3 + t.tv_nsec / 1e6;
  e->recorded = 1;
  return 0;
}
API cuEventRecordWithFlags(CUevent e, CUstream s, unsigned f) { return cuEventRecord(e, s); }
API cuEventQuery(CUevent e) { return 0; }
API cuEventSynchronize(CUevent e) { return 0; }
API cuEventDestroy_v2(CUevent e) {
  free(e);
  return 0;
}
API cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
  *ms = (float)(b->ms - a->ms);
  return 0;
}
API cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b) { return cuEventElapsedTime(ms, a, b); }

/* ---- modules: accepted, never executed ---- */
static CUresult module_new(const char *api, CUmodule *m) {
  *m = calloc(1, sizeof **m);
  if (sim_tracing()) sim_event(api, -1, -1, *m, 0, 0);
  return 0;
}
static CUresult func_get(void *out, CUmodule m, const char *name) {
  struct CUfunc_st *f = calloc(1, sizeof *f);
  f->mod = m;
  snprintf(f->name, sizeof f->name, "%s", name);
  *(void **)out = f;
  return 0;
}
static CUresult global_get(CUdeviceptr *p, size_t *n, CUmodule m, const char *name) {
  int i;
  for (i = 0; i < m->n && strcmp(m->var[i].name, name); i++) {}
  if (i == 64) return CUDA_ERROR_NOT_FOUND;
  if (i == m->n) {
    snprintf(m->var[i].name, sizeof m->var[i].name, "%s", name);
    m->var[i].p = sim_lazy(1 << 16);
    m->n++;
  }
  if (p) *p = (CUdeviceptr)m->var[i].p;
  if (n) *n = 1 << 16;
  return 0;
}
API cuModuleLoad(CUmodule *m, const char *f) { return module_new(__func__, m); }
API cuModuleLoadData(CUmodule *m, const void *d) { return module_new(__func__, m); }
API cuModuleLoadDataEx(CUmodule *m, const void *d, unsigned n, CUjit_option *o, void **v) {
  return module_new(__func__, m);
}
API cuModuleLoadFatBinary(CUmodule *m, const void *d) { return module_new(__func__, m); }
API cuModuleUnload(CUmodule m) { return 0; }
API cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) { return func_get(f, m, name); }
API cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *n, CUmodule m, const char *name) {
  return global_get(p, n, m, name);
}
API cuModuleGetLoadingMode(CUmoduleLoadingMode *m) {
  *m = CU_MODULE_LAZY_LOADING;
  return 0;
}
API cuLibraryLoadData(CUlibrary *l, const void *d, CUjit_option *o, void **v, unsigned n, CUlibraryOption *lo,
                      void **lv, unsigned ln) {
  return module_new(__func__, (CUmodule *)l);
}
API cuLibraryUnload(CUlibrary l) { return 0; }
API cuLibraryGetModule(CUmodule *m, CUlibrary l) {
  *m = (CUmodule)l;
  return 0;
}
API cuLibraryGetKernel(CUkernel *k, CUlibrary l, const char *name) { return func_get(k, (CUmodule)l, name); }
API cuLibraryGetGlobal(CUdeviceptr *p, size_t *n, CUlibrary l, const char *name) {
  return global_get(p, n, (CUmodule)l, name);
}
API cuKernelGetFunction(CUfunction *f, CUkernel k) {
  *f = (CUfunction)k;
  return 0;
}
API cuKernelGetName(const char **s, CUkernel k) {
  *s = ((CUfunction)k)->name;
  return 0;
}
API cuFuncGetName(const char **s, CUfunction f) {
  *s = f->name;
  return 0;
}
API cuFuncGetModule(CUmodule *m, CUfunction f) {
  *m = f->mod;
  return 0;
}
API cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
  *v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
       : a == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
       : a == CU_FUNC_ATTRIBUTE_PTX_VERSION || a == CU_FUNC_ATTRIBUTE_BINARY_VERSION
           ? CFG->cc_major * 10 + CFG->cc_minor
           : 0;
  return 0;
}
API cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { return 0; }
API cuFuncSetCacheConfig(CUfunction f, CUfunc_cache c) { return 0; }
API cuKernelSetAttribute(CUfunction_attribute a, int v, CUkernel k, CUdevice d) { return 0; }
API cuKernelGetAttribute(int *v, CUfunction_attribute a, CUkernel k, CUdevice d) {
  return cuFuncGetAttribute(v, a, (CUfunction)k);
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int b, size_t s) {
  *n = 2;
  return 0;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, CUfunction f, int b, size_t s, unsigned x) {
  *n = 2;
  return 0;
}
API cuOccupancyMaxPotentialBlockSize(int *g, int *b, CUfunction f, CUoccupancyB2DSize z, size_t s, int l) {
  *g = CFG->sms * 2;
  *b = 1024;
  return 0;
}
API cuLaunchKernel(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g,
                   unsigned sh, CUstream s, void **p, void **x) {
  if (sim_tracing()) sim_event(__func__, -1, -1, f, 0, f ? f->name : 0);
  return 0;
}
API cuLaunchKernelEx(const CUlaunchConfig *k, CUfunction f, void **p, void **x) {
  if (sim_tracing()) sim_event(__func__, -1, -1, f, 0, f ? f->name : 0);
  return 0;
}
API cuLaunchCooperativeKernel(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                              unsigned g, unsigned sh, CUstream s, void **p) {
  return 0;
}
