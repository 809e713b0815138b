/* Contexts: what they cost, what dies with them, and which one is current in which thread. */
#include "device.h"

static CUcontext created(CUdevice device) {
  CUcontext context = 0;
  OK(cuCtxCreate(&context, 0, device));
  HOLDS(context != 0);
  return context;
}
static CUcontext current(void) {
  CUcontext context = 0;
  OK(cuCtxGetCurrent(&context));
  return context;
}
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

// The stack of contexts nests, and an empty one has nothing to pop.
CASE(nested, "DEVICES=64MiB") {
  CUcontext popped = 0;
  CUdevice device = -1;
  CUcontext primary = start();
  CUcontext one = created(0), two = created(0);
  OK(cuCtxPushCurrent(one));
  OK(cuCtxPushCurrent(primary));
  HOLDS(current() == primary);
  OK(cuCtxPopCurrent(&popped));
  HOLDS(popped == primary && current() == one);
  OK(cuCtxPopCurrent(&popped));
  HOLDS(popped == one && current() == two);
  OK(cuCtxPopCurrent(&popped));
  HOLDS(popped == two && current() == one);
  OK(cuCtxSetCurrent(two)); /* replaces the top */
  HOLDS(current() == two);
  OK(cuCtxSetCurrent(0)); /* pops */
  HOLDS(current() == primary);
  OK(cuCtxPopCurrent(&popped));
  HOLDS(popped == primary && current() == 0);
  IS(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxSetCurrent(0));
  IS(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
}

// Deep stacks work, and every level comes back.
CASE(deeply_nested, "DEVICES=2x64MiB") {
  CUcontext first = start_on(0), second = start_on(1), popped;
  for (int i = 0; i < 500; i++) OK(cuCtxPushCurrent(i % 2 ? first : second));
  for (int i = 499; i >= 0; i--) {
    OK(cuCtxPopCurrent(&popped));
    HOLDS(popped == (i % 2 ? first : second));
  }
  HOLDS(current() == second);
}

static CUcontext shared;
static void *in_another_thread(void *argument) {
  CUdeviceptr pointer;
  (void)argument;
  HOLDS(current() == 0);
  IS(cuMemAlloc(&pointer, MIB), CUDA_ERROR_INVALID_CONTEXT);
  IS(cuCtxPopCurrent(0), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxPushCurrent(shared));
  allocated(4 * MIB);
  CUcontext own = created(1);
  HOLDS(current() == own);
  IS(total_bytes(), 32 * MIB);
  OK(cuCtxPopCurrent(0));
  HOLDS(current() == shared);
  OK(cuCtxDestroy(own));
  return 0;
}

// Every thread has a stack of its own, empty at first.
CASE(stacks_of_threads, "DEVICES=64MiB,32MiB") {
  shared = start();
  in_thread(in_another_thread, 0);
  HOLDS(current() == shared);
  IS(used_bytes(), 4 * MIB);
  IS(total_bytes(), 64 * MIB);
  in_thread(in_another_thread, 0);
  IS(used_bytes(), 8 * MIB);
}

static pthread_barrier_t meeting;
static void *finds_it_destroyed(void *argument) {
  CUdeviceptr pointer;
  OK(cuCtxPushCurrent(argument));
  pthread_barrier_wait(&meeting);
  pthread_barrier_wait(&meeting); /* destroyed in between */
  HOLDS(current() == argument);
  IS(cuMemAlloc(&pointer, MIB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return 0;
}

// A context that is destroyed elsewhere stays current in other threads, where it cannot be used any more.
CASE(destroyed_while_current_elsewhere, "DEVICES=64MiB") {
  pthread_t thread;
  OK(cuInit(0));
  CUcontext context = created(0);
  pthread_barrier_init(&meeting, 0, 2);
  IS(pthread_create(&thread, 0, finds_it_destroyed, context), 0);
  pthread_barrier_wait(&meeting);
  OK(cuCtxDestroy(context));
  HOLDS(current() == 0);
  pthread_barrier_wait(&meeting);
  IS(pthread_join(thread, 0), 0);
}

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
