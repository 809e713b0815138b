/* Which context is current in which thread. */
#include "context_calls.h"

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
