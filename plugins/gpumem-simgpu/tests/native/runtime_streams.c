/* Streams, kernels and questions in passing, asked of the CUDA runtime; built like runtime.c. */
#include "check.h"
#include <cuda_runtime_api.h>

// Streams and events.
CASE(streams_and_events, "DEVICES=64MiB") {
  cudaStream_t stream;
  cudaEvent_t one, two;
  float milliseconds = -1;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&one, cudaEventDefault));
  OK(cudaEventCreate(&two));
  OK(cudaEventRecord(one, stream));
  OK(cudaEventRecord(two, stream));
  OK(cudaStreamWaitEvent(stream, two, 0));
  OK(cudaEventSynchronize(two));
  OK(cudaEventElapsedTime(&milliseconds, one, two));
  HOLDS(milliseconds >= 0);
  OK(cudaEventDestroy(one));
  OK(cudaEventDestroy(two));
  OK(cudaStreamQuery(stream));
  OK(cudaStreamDestroy(stream));
}

static int called;
static void count_call(void *data) { called += *(int *)data; }
static void count_callback(cudaStream_t stream, cudaError_t status, void *data) {
  (void)stream;
  IS(status, 0);
  count_call(data);
}

// Streams know what they were made with, and call functions of the host.
CASE(more_about_streams, "DEVICES=64MiB") {
  cudaStream_t plain, stream;
  cudaEvent_t event;
  enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)9;
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  unsigned flags = 9;
  unsigned long long id = 0;
  int priority = 9, least = 9, greatest = 9, one = 1;
  OK(cudaStreamCreate(&plain));
  OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
  OK(cudaStreamGetPriority(stream, &priority));
  IS(priority, -1);
  OK(cudaStreamGetFlags(stream, &flags));
  IS(flags, cudaStreamNonBlocking);
  OK(cudaStreamGetId(stream, &id));
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  HOLDS(greatest <= least);
  OK(cudaStreamIsCapturing(stream, &status));
  IS(status, cudaStreamCaptureStatusNone);
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  IS(mode, cudaStreamCaptureModeGlobal);
  OK(cudaLaunchHostFunc(stream, count_call, &one));
  OK(cudaStreamAddCallback(stream, count_callback, &one, 0));
  IS(called, 2);
  OK(cudaEventCreate(&event));
  OK(cudaEventRecordWithFlags(event, stream, 0));
  OK(cudaEventQuery(event));
  OK(cudaEventDestroy(event));
  OK(cudaStreamDestroy(stream));
  HOLDS(cudaStreamQuery(stream) != cudaSuccess);
  OK(cudaStreamDestroy(plain));
}

static void kernel(void) {}
static int variable;

// What compilers put around kernels is accepted; kernels do not run.
CASE(kernels, "DEVICES=64MiB") {
  dim3 one = {1, 1, 1}, grid, block;
  size_t shared = 9;
  void *stream = (void *)9, *address = 0;
  struct cudaFuncAttributes about;
  int count = 0;
  extern void **__cudaRegisterFatBinary(void *);
  extern void __cudaRegisterFatBinaryEnd(void **), __cudaUnregisterFatBinary(void **);
  extern unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, struct CUstream_st *);
  extern cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
  void **handle = __cudaRegisterFatBinary(0);
  __cudaRegisterFatBinaryEnd(handle);
  IS(__cudaPushCallConfiguration(one, one, 77, 0), 0);
  OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  IS(shared, 77);
  HOLDS(stream == 0);
  IS(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
  OK(cudaLaunchKernel((void *)kernel, one, one, 0, 0, 0));
  OK(cudaLaunchCooperativeKernel((void *)kernel, one, one, 0, 0, 0));
  OK(cudaFuncGetAttributes(&about, (void *)kernel));
  HOLDS(about.maxThreadsPerBlock > 0);
  OK(cudaFuncSetAttribute((void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, (void *)kernel, 128, 0));
  HOLDS(count > 0);
  OK(cudaGetSymbolAddress(&address, &variable));
  OK(cudaMemset(address, 1, 16));
  OK(cudaMemcpyToSymbol(&variable, &count, sizeof count, 0, cudaMemcpyHostToDevice));
  OK(cudaDeviceReset());
  OK(cudaGetSymbolAddress(&address, &variable));
  OK(cudaMemset(address, 1, 16));
  __cudaUnregisterFatBinary(handle);
}

// The rest of what allocators and frameworks ask the runtime.
CASE(other_questions, "DEVICES=2x64MiB") {
  char bus[32];
  int device = 9, value = 9;
  unsigned flags = 9;
  size_t limit = 0;
  void *host = 0, *seen = 0, *function = 0, *pointer = 0;
  cudaMemPool_t pool = 0;
  enum cudaDriverEntryPointQueryResult found = (enum cudaDriverEntryPointQueryResult)9;
  OK(cudaInitDevice(1, 0, 0));
  OK(cudaSetDevice(0));
  OK(cudaDriverGetVersion(&value));
  IS(value, 13000);
  OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
  OK(cudaDeviceGetByPCIBusId(&device, bus));
  IS(device, 1);
  OK(cudaDeviceCanAccessPeer(&value, 0, 1));
  IS(value, 1);
  OK(cudaDeviceEnablePeerAccess(1, 0));
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, MIB));
  OK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  OK(cudaGetDeviceFlags(&flags));
  OK(cudaMallocHost(&host, 64));
  OK(cudaHostGetDevicePointer(&seen, host, 0));
  HOLDS(seen == host);
  OK(cudaHostGetFlags(&flags, host));
  char *mine = malloc(64);
  OK(cudaHostRegister(mine, 64, 0));
  OK(cudaHostUnregister(mine));
  free(mine);
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, 0, &found));
  HOLDS(function != 0);
  OK(cudaMalloc(&pointer, MIB));
  OK(cudaMemcpyPeer(pointer, 0, pointer, 0, 16));
  OK(cudaMemcpy2DAsync(pointer, 16, pointer, 16, 8, 2, cudaMemcpyDefault, 0));
  IS(cudaMemcpy2D(pointer, 4, pointer, 16, 8, 2, cudaMemcpyDefault), cudaErrorInvalidValue);
}
