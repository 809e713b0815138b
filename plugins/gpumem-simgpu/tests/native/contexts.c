/* Contexts: what they cost, and what dies with them. */
#include "context_calls.h"

static int is_active(CUdevice device) {
  unsigned flags;
  int active = -1;
  OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
  return active;
}

// The primary context is charged when it is first retained, whoever retains it later.
CASE(primary_retained_twice, "DEVICES=64MiB CONTEXT=8MiB") {
  CUcontext again = 0;
  CUcontext primary = start();
  IS(used_bytes(), 8 * MIB);
  OK(cuDevicePrimaryCtxRetain(&again, 0));
  HOLDS(again == primary);
  IS(used_bytes(), 8 * MIB);
  OK(cuDevicePrimaryCtxRelease(0));
  IS(is_active(0), 1);
  IS(used_bytes(), 8 * MIB);
}

// The last release gives back the context and what was allocated in it.
CASE(primary_released, "DEVICES=64MiB CONTEXT=8MiB") {
  OK(cuInit(0));
  CUcontext watch = created(0), primary = 0;
  IS(used_bytes(), 8 * MIB);
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  IS(is_active(0), 1);
  OK(cuCtxPushCurrent(primary));
  allocated(16 * MIB);
  allocated(KIB);
  OK(cuCtxPopCurrent(0));
  IS(used_bytes(), (8 + 8 + 16 + 2) * MIB);
  OK(cuDevicePrimaryCtxRelease(0));
  IS(is_active(0), 0);
  IS(used_bytes(), 8 * MIB);
  IS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
  IS(used_bytes(), 8 * MIB);
  OK(cuCtxDestroy(watch));
}

// It can be retained again afterwards, and is charged again.
CASE(primary_retained_again, "DEVICES=64MiB CONTEXT=8MiB") {
  for (int i = 0; i < 3; i++) {
    start();
    IS(used_bytes(), 8 * MIB);
    allocated(32 * MIB);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuCtxSetCurrent(0));
  }
}

// A reset frees what was allocated in the primary context.
CASE(primary_reset, "DEVICES=64MiB CONTEXT=8MiB") {
  OK(cuInit(0));
  CUcontext watch = created(0), primary = 0;
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuCtxPushCurrent(primary));
  CUdeviceptr gone = allocated(16 * MIB);
  OK(cuCtxPopCurrent(0));
  OK(cuDevicePrimaryCtxReset(0));
  IS(used_bytes(), 8 * MIB);
  IS(cuMemFree(gone), CUDA_ERROR_INVALID_VALUE);
  IS(is_active(0), 0);
  /* "It is safe for other modules to call cuDevicePrimaryCtxRelease even after resetting the device." */
  OK(cuDevicePrimaryCtxRelease(0));
  IS(used_bytes(), 8 * MIB);
  OK(cuCtxDestroy(watch));
}

// Every created context is charged, and gives back itself and what was allocated in it.
CASE(created_and_destroyed, "DEVICES=64MiB CONTEXT=8MiB") {
  start();
  CUcontext one = created(0);
  HOLDS(current() == one);
  CUdeviceptr of_one = allocated(4 * MIB);
  CUcontext two = created(0);
  HOLDS(current() == two);
  CUdeviceptr of_two = allocated(2 * MIB);
  IS(used_bytes(), (8 + 8 + 4 + 8 + 2) * MIB);
  OK(cuCtxDestroy(two)); /* current: popped */
  HOLDS(current() == one);
  IS(used_bytes(), (8 + 8 + 4) * MIB);
  OK(cuCtxPopCurrent(0));
  OK(cuCtxDestroy(one)); /* not current */
  IS(used_bytes(), 8 * MIB);
  IS(cuMemFree(of_one), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemFree(of_two), CUDA_ERROR_INVALID_VALUE);
}

// Packed, managed, pitched and page-locked memory go with their context; a piece shared with another stays.
CASE(every_kind_goes, "DEVICES=64MiB") {
  CUdeviceptr pointer;
  void *host;
  size_t pitch;
  start();
  CUdeviceptr mine = allocated(KIB);
  CUcontext other = created(0);
  allocated(KIB);
  allocated(3 * MIB);
  OK(cuMemAllocManaged(&pointer, 5 * MIB, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAllocPitch(&pointer, &pitch, 2 * MIB, 2, 4));
  OK(cuMemHostAlloc(&host, MIB, 0));
  memset(host, 1, MIB);
  IS(used_bytes(), (2 + 4 + 6 + 4) * MIB);
  OK(cuCtxDestroy(other));
  IS(used_bytes(), 2 * MIB);
  IS(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemFree(mine));
  IS(used_bytes(), 0);
}

// Memory of pools and of cuMemCreate belongs to no context and outlives it (documentation of cuCtxDestroy).
CASE(what_outlives_a_context, "DEVICES=64MiB") {
  CUdeviceptr pooled;
  CUmemGenericAllocationHandle physical;
  CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  start();
  CUcontext other = created(0);
  OK(cuMemAllocAsync(&pooled, 4 * MIB, 0));
  OK(cuMemCreate(&physical, 2 * MIB, &on_device, 0));
  OK(cuCtxDestroy(other));
  IS(used_bytes(), 6 * MIB);
  OK(cuMemFree(pooled));
  OK(cuCtxSynchronize());
  OK(cuMemRelease(physical));
  IS(used_bytes(), 0);
}

// Memory belongs to the context that was current when it was asked for, whoever frees it.
CASE(freed_from_another_context, "DEVICES=64MiB") {
  start();
  CUcontext other = created(0);
  CUdeviceptr pointer = allocated(4 * MIB);
  OK(cuCtxPopCurrent(0));
  OK(cuMemFree(pointer));
  IS(used_bytes(), 0);
  pointer = allocated(4 * MIB);
  OK(cuCtxDestroy(other));
  IS(used_bytes(), 4 * MIB);
  OK(cuMemFree(pointer));
}

static void *retains_and_releases(void *argument) {
  CUcontext context;
  (void)argument;
  for (int i = 0; i < 50; i++) {
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxPushCurrent(context));
    OK(cuMemFree(allocated(KIB)));
    OK(cuCtxPopCurrent(0));
    OK(cuDevicePrimaryCtxRelease(0));
  }
  return 0;
}

// Threads that retain and release at the same time leave nothing behind.
CASE(retained_by_many_threads, "DEVICES=64MiB CONTEXT=8MiB") {
  pthread_t thread[8];
  OK(cuInit(0));
  CUcontext watch = created(0);
  OK(cuCtxPopCurrent(0));
  for (int i = 0; i < 8; i++) IS(pthread_create(&thread[i], 0, retains_and_releases, 0), 0);
  for (int i = 0; i < 8; i++) IS(pthread_join(thread[i], 0), 0);
  IS(is_active(0), 0);
  OK(cuCtxPushCurrent(watch));
  IS(used_bytes(), 8 * MIB);
}
