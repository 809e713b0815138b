/* Kernels and variables of compiled programs: registered, launched, never run. */
#include "runtime.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 16

VISIBLE void **__cudaRegisterFatBinary(void *binary) {
  static void *handle;
  return &handle;
}
VISIBLE void __cudaRegisterFatBinaryEnd(void **handle) {}
VISIBLE void __cudaUnregisterFatBinary(void **handle) {}
VISIBLE void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                    int limit, void *thread, void *block, void *thread_dim, void *block_dim,
                                    int *warp) {}
VISIBLE void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                               size_t bytes, int constant, int global) {}
VISIBLE void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                      int external, size_t bytes, int constant, int global) {}
VISIBLE char __cudaInitModule(void **handle) { return 1; }

/* How the next kernel of this thread is to be launched: "<<<...>>>" pushes it, the compiled stub pops it. */
typedef struct {
  dim3 grid, block;
  size_t shared;
  void *stream;
} Call;
static __thread Call call[CALLS];
static __thread int calls;

VISIBLE unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                             struct CUstream_st *stream) {
  if (calls == CALLS) return 1;
  call[calls++] = (Call){grid, block, shared, stream};
  return 0;
}
RT __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (!calls) return failed(cudaErrorMissingConfiguration);
  const Call *top = &call[--calls];
  *grid = top->grid, *block = top->block, *shared = top->shared, *(void **)stream = top->stream;
  return cudaSuccess;
}

static cudaError_t launch(const char *api, const void *function) {
  TRY(in_context());
  sim_trace(api, -1, -1, function, 0);
  return cudaSuccess;
}
RT cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **argument, size_t shared,
                    cudaStream_t stream) {
  return launch("cudaLaunchKernel", function);
}
RT __cudaLaunchKernel(void *function, dim3 grid, dim3 block, void **argument, size_t shared,
                      cudaStream_t stream) {
  return launch("cudaLaunchKernel", function);
}
RT cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *function, void **argument) {
  return launch("cudaLaunchKernelExC", function);
}
RT cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **argument, size_t shared,
                               cudaStream_t stream) {
  return launch("cudaLaunchCooperativeKernel", function);
}

/* A function is known by the address of its stub on the host. */
RT __cudaGetKernel(cudaKernel_t *out, const void *function) {
  NEED(out);
  *out = (cudaKernel_t)function;
  return cudaSuccess;
}
RT cudaGetKernel(cudaKernel_t *out, const void *function) { return __cudaGetKernel(out, function); }
RT cudaGetFuncBySymbol(cudaFunction_t *out, const void *function) {
  NEED(out);
  *out = (cudaFunction_t)function;
  return cudaSuccess;
}
RT cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
  return cudaSuccess;
}
RT cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) { return cudaSuccess; }
RT cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *function) {
  NEED(out);
  TRY(in_context());
  memset(out, 0, sizeof *out);
  cuFuncGetAttribute(&out->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (CUfunction)function);
  cuFuncGetAttribute(&out->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)function);
  cuFuncGetAttribute(&out->ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION, (CUfunction)function);
  cuFuncGetAttribute(&out->binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION, (CUfunction)function);
  out->maxDynamicSharedSizeBytes = 49152;
  return cudaSuccess;
}
RT cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *function, int threads,
                                                          size_t shared, unsigned flags) {
  TRY(started());
  return failed(
      (int)cuOccupancyMaxActiveBlocksPerMultiprocessor(count, (CUfunction)function, threads, shared));
}
RT cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *function, int threads,
                                                 size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, threads, shared, 0);
}

/* All variables of a device share one place, which is made again when its context is. */
RT cudaGetSymbolAddress(void **out, const void *symbol) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static CUdeviceptr place[16];
  CUmodule module;
  CUdevice dev;
  unsigned type;
  int rc = 0;
  NEED(out);
  TRY(in_context());
  TRY(cuCtxGetDevice(&dev));
  pthread_mutex_lock(&mutex);
  if (!place[dev] || cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place[dev]))
    if (!(rc = (int)cuModuleLoadData(&module, "")))
      rc = (int)cuModuleGetGlobal(&place[dev], 0, module, "variables");
  *out = (void *)place[dev];
  pthread_mutex_unlock(&mutex);
  return failed(rc);
}
RT cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                      enum cudaMemcpyKind kind) {
  NEED(symbol && from);
  TRY(in_context());
  return cudaSuccess;
}
RT cudaProfilerStart(void) { return cudaSuccess; }
RT cudaProfilerStop(void) { return cudaSuccess; }
