/* Contexts: each takes memory while it lives, and takes what was allocated in it along when it goes.
 *
 * Memory of cuMemCreate belongs to no context and stays.  Memory of pools stays when a context of the
 * program's own goes (cuda.h, cuCtxDestroy); the end of the primary context is the end of all that the
 * process has on the device (cuda.h, cuDevicePrimaryCtxReset). */
#define _GNU_SOURCE
#include "driver.h"

/* Not locked.  Take a context's memory and say so; `lib` is who asked. */
static CUresult open_context(Context *context, const char *lib) {
  int dev = context->dev;
  SimTotals now;
  size_t bytes = sim_device(dev)->context;
  SimLine line = SIM_LINE(.api = "context", .dev = dev, .bus = driver.device[dev].bus,
                          .bytes = (long long)bytes, .id = context->handle.id, .lib = lib, .now = &now);
  sim_fault_slow();
  if (sim_ledger_open_context(line.bus, bytes, &now))
    line.rc = CUDA_ERROR_OUT_OF_MEMORY;
  else
    line.charged = (long long)bytes;
  sim_log(&line);
  return (CUresult)line.rc;
}

/* Not locked, and the context no longer alive: free what was allocated in it, then its own memory. */
static void close_context(Context *context, const char *lib) {
  int dev = context->dev;
  size_t bytes = sim_device(dev)->context;
  lock();
  modules_forget_of(context);
  for (Block *block = blocks_of_context(context), *next; block; block = next) {
    SimLine line = SIM_LINE(.lib = lib, .note = "context destroyed");
    next = block->next;
    block_forget(block, &line);
    block_end(block, &line);
  }
  handles_drop_of(context);
  unsigned left = --driver.device[dev].contexts;
  unlock();
  if (!left) pools_empty(dev);
  int bus = driver.device[dev].bus;
  sim_log(&SIM_LINE(.api = "context destroyed", .dev = dev, .bus = bus, .bytes = (long long)bytes,
                    .id = context->handle.id, .freed = (long long)bytes, .lib = lib));
  sim_ledger_close_context(bus, bytes);
}

/* ---- the primary context ---- */

/* Two threads that retain it at once must not both pay for it, and neither may go on before it is paid for.
 * This lock is taken before driver.lock. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static CUresult retain(Context *context) {
  CUresult rc = CUDA_SUCCESS;
  const char *lib = sim_caller();
  pthread_mutex_lock(&opening);
  if (!context->alive && !(rc = open_context(context, lib))) {
    lock();
    driver.device[context->dev].contexts++;
    __atomic_store_n(&context->alive, 1, __ATOMIC_RELEASE);
    unlock();
  }
  if (!rc) context->refs++;
  pthread_mutex_unlock(&opening);
  return rc;
}

static CUresult release(Context *context, int reset) {
  CUresult rc = CUDA_SUCCESS;
  const char *lib = sim_caller();
  int close;
  pthread_mutex_lock(&opening);
  if (!reset && !context->refs) rc = CUDA_ERROR_INVALID_CONTEXT;
  if (!reset && !rc) context->refs--;
  lock();
  close = !rc && context->alive && (reset || !context->refs);
  if (close) __atomic_store_n(&context->alive, 0, __ATOMIC_RELEASE);
  unlock();
  if (close) close_context(context, lib);
  pthread_mutex_unlock(&opening);
  return rc;
}

API cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev) {
  NEED(context);
  TRY(device_ready(dev));
  TRY(retain(driver.device[dev].primary));
  *context = driver.device[dev].primary;
  sim_trace(__func__, dev, -1, *context, 0);
  return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  TRY(device_ready(dev));
  return release(driver.device[dev].primary, 0);
}
API cuDevicePrimaryCtxRelease(CUdevice dev) { return cuDevicePrimaryCtxRelease_v2(dev); }

/* "Resetting the primary context does not release it" (cuda.h): who retained it still has to release it. */
API cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  TRY(device_ready(dev));
  return release(driver.device[dev].primary, 1);
}
API cuDevicePrimaryCtxReset(CUdevice dev) { return cuDevicePrimaryCtxReset_v2(dev); }
API cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags) {
  TRY(device_ready(dev));
  lock();
  driver.device[dev].primary->flags = flags;
  unlock();
  return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}
API cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active) {
  NEED(flags && active);
  TRY(device_ready(dev));
  lock();
  *flags = driver.device[dev].primary->flags, *active = driver.device[dev].primary->alive;
  unlock();
  return CUDA_SUCCESS;
}

/* ---- contexts of a program's own ---- */

API cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice dev) {
  NEED(out);
  TRY(device_ready(dev));
  lock();
  Context *context = handle_new(CONTEXT, sizeof(Context), 0);
  unlock();
  if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
  context->dev = dev, context->flags = flags;
  CUresult rc = context_push(context);
  if (!rc && (rc = open_context(context, sim_caller()))) context_pop();
  lock();
  if (rc) {
    handle_drop(context);
  } else {
    driver.device[dev].contexts++;
    __atomic_store_n(&context->alive, 1, __ATOMIC_RELEASE);
    *out = context;
  }
  unlock();
  return rc;
}
API cuCtxCreate(CUcontext *out, unsigned flags, CUdevice dev) { return cuCtxCreate_v2(out, flags, dev); }
API cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int count, unsigned flags, CUdevice dev) {
  if (count) return (CUresult)sim_stub("cuCtxCreate_v3 with affinity", CUDA_ERROR_NOT_SUPPORTED);
  return cuCtxCreate_v2(out, flags, dev);
}
API cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *parameters, unsigned flags, CUdevice dev) {
  if (parameters && (parameters->numExecAffinityParams || parameters->cigParams))
    return (CUresult)sim_stub("cuCtxCreate_v4 with parameters", CUDA_ERROR_NOT_SUPPORTED);
  return cuCtxCreate_v2(out, flags, dev);
}
API cuCtxDestroy_v2(CUcontext context) {
  CUresult rc = CUDA_SUCCESS;
  TRY(driver_ready());
  lock();
  Context *found = handle_find(CONTEXT, context);
  if (!found || found->primary)
    rc = CUDA_ERROR_INVALID_CONTEXT;
  else if (!found->alive)
    rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  else
    __atomic_store_n(&found->alive, 0, __ATOMIC_RELEASE);
  unlock();
  if (rc) return rc;
  if (context_top() == context) context_pop();
  sim_fault_slow();
  close_context(context, sim_caller());
  return CUDA_SUCCESS;
}
API cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }
