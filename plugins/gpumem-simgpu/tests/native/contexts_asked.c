/* Contexts: what is refused as one, and what the driver tells of them. */
#include "context_calls.h"

// What is no context is refused.
CASE(no_contexts, "DEVICES=64MiB") {
  CUcontext context = 0;
  unsigned long long id = 0, other = 0;
  start();
  IS(cuCtxDestroy(0), CUDA_ERROR_INVALID_CONTEXT);
  IS(cuCtxPushCurrent(0), CUDA_ERROR_INVALID_CONTEXT);
  IS(cuCtxCreate(&context, 0, 5), CUDA_ERROR_INVALID_DEVICE);
  IS(cuCtxCreate(0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuDevicePrimaryCtxRetain(0, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxGetId(0, &id));
  context = created(0);
  OK(cuCtxGetId(context, &other));
  HOLDS(id != other);
  OK(cuCtxDestroy(context));
  HOLDS(cuCtxDestroy(context) != CUDA_SUCCESS);
}

// Flags and devices of contexts are remembered.
CASE(facts_about_contexts, "DEVICES=2x64MiB") {
  unsigned flags = 0, version = 0;
  int active = -1, least = 0, greatest = 0;
  CUdevice device = -1;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxSetFlags(1, CU_CTX_SCHED_BLOCKING_SYNC));
  OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
  IS(flags, CU_CTX_SCHED_BLOCKING_SYNC);
  IS(active, 0);
  start_on(1);
  OK(cuCtxGetDevice(&device));
  IS(device, 1);
  OK(cuCtxGetFlags(&flags));
  HOLDS(flags & CU_CTX_SCHED_BLOCKING_SYNC);
  OK(cuCtxGetApiVersion(current(), &version));
  HOLDS(version > 0);
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  HOLDS(greatest <= least);
  OK(cuCtxSynchronize());
}

// Peers are other devices; limits are accepted and told.
CASE(peers_and_limits, "DEVICES=2x64MiB") {
  size_t value = 0;
  int rank = 9;
  CUcontext first = start_on(0), second = start_on(1);
  OK(cuCtxEnablePeerAccess(first, 0));
  OK(cuCtxDisablePeerAccess(first));
  HOLDS(cuCtxEnablePeerAccess(second, 0) != CUDA_SUCCESS);
  IS(cuCtxEnablePeerAccess(first, 1), CUDA_ERROR_INVALID_VALUE);
  HOLDS(cuCtxEnablePeerAccess(0, 0) != CUDA_SUCCESS);
  OK(cuDeviceGetP2PAttribute(&rank, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  IS(rank, 1);
  IS(cuDeviceGetP2PAttribute(&rank, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1), CUDA_ERROR_INVALID_DEVICE);
  OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 * MIB));
  OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  HOLDS(value > 0);
  IS(cuCtxGetLimit(0, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
}

/* Of CUDA 13, whose header renames the calls of before. */
extern CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context);
extern CUresult cuCtxSynchronize_v2(CUcontext context);
extern CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device);
extern CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *parameters, int count, unsigned flags,
                               CUdevice device);

// The calls of newer versions ask about any context.
CASE(newer_versions, "DEVICES=2x64MiB CONTEXT=1MiB") {
  CUdevice device = 9;
  CUcontext context = 0;
  CUctxCreateParams none = {0};
  CUexecAffinityParam affinity = {0};
  CUcontext first = start_on(0);
  start_on(1);
  OK(cuCtxGetDevice_v2(&device, first));
  IS(device, 0);
  OK(cuCtxGetDevice_v2(&device, 0));
  IS(device, 1);
  OK(cuCtxSynchronize_v2(first));
  OK(cuCtxSynchronize_v2(0));
  OK(cuCtxCreate_v4(&context, &none, 0, 1));
  IS(used_bytes(), 2 * MIB);
  OK(cuCtxDestroy(context));
  IS(cuCtxGetDevice_v2(&device, context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  OK(cuCtxCreate_v3(&context, 0, 0, 0, 1));
  OK(cuCtxDestroy(context));
  IS(cuCtxCreate_v3(&context, &affinity, 1, 0, 1), CUDA_ERROR_NOT_SUPPORTED);
  IS(used_bytes(), 1 * MIB);
}
