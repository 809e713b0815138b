/* Each thread has a stack of contexts, whose top is the current one. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>

static __thread Context **stack;
static __thread int depth, room;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* whose destructor frees the stack of a thread that ends */
static void drop_stack(void *memory) {
  free(memory);
  stack = 0, depth = room = 0;
}
static void make_key(void) { pthread_key_create(&key, drop_stack); }

Context *context_top(void) { return depth ? stack[depth - 1] : 0; }
void context_pop(void) {
  if (depth) depth--;
}
CUresult context_push(Context *context) {
  if (depth == room) {
    Context **larger = realloc(stack, sizeof *stack * (size_t)(2 * room + 8));
    if (!larger) return CUDA_ERROR_OUT_OF_MEMORY;
    stack = larger, room = 2 * room + 8;
    pthread_once(&once, make_key);
    pthread_setspecific(key, stack);
  }
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

CUresult context_of_request(Context **context) {
  TRY(driver_ready());
  *context = context_top();
  if (!*context) return CUDA_ERROR_INVALID_CONTEXT;
  return __atomic_load_n(&(*context)->alive, __ATOMIC_ACQUIRE) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}
CUresult context_current(Context **context) {
  TRY(context_of_request(context));
  return is_lost((*context)->dev) ? DEVICE_LOST : CUDA_SUCCESS;
}

/* A context that lives, whoever made it. */
static CUresult check(Context *context) {
  lock();
  Context *found = handle_find(CONTEXT, context);
  CUresult rc = !found          ? CUDA_ERROR_INVALID_CONTEXT
                : !found->alive ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                : CUDA_SUCCESS;
  unlock();
  return rc;
}

/* The given context, or the current one for 0. */
static CUresult given_or_current(Context **context) {
  if (!*context) return context_of_request(context);
  TRY(driver_ready());
  return check(*context);
}

API cuCtxPushCurrent_v2(CUcontext context) {
  TRY(driver_ready());
  TRY(check(context));
  return context_push(context);
}
API cuCtxPopCurrent_v2(CUcontext *context) {
  TRY(driver_ready());
  if (!context_top()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = context_top();
  context_pop();
  return CUDA_SUCCESS;
}
API cuCtxSetCurrent(CUcontext context) {
  TRY(driver_ready());
  if (context) TRY(check(context));
  context_pop();
  return context ? context_push(context) : CUDA_SUCCESS;
}
API cuCtxGetCurrent(CUcontext *context) {
  TRY(driver_ready());
  NEED(context);
  *context = context_top();
  return CUDA_SUCCESS;
}
API cuCtxGetDevice(CUdevice *dev) {
  Context *context;
  NEED(dev);
  TRY(context_of_request(&context));
  *dev = context->dev;
  return CUDA_SUCCESS;
}
API cuCtxGetDevice_v2(CUdevice *dev, CUcontext context) {
  NEED(dev);
  TRY(given_or_current(&context));
  *dev = context->dev;
  return CUDA_SUCCESS;
}
API cuCtxGetFlags(unsigned *flags) {
  Context *context;
  NEED(flags);
  TRY(context_of_request(&context));
  lock();
  *flags = context->flags;
  unlock();
  return CUDA_SUCCESS;
}
API cuCtxGetId(CUcontext context, unsigned long long *id) {
  NEED(id);
  TRY(given_or_current(&context));
  *id = context->handle.id;
  return CUDA_SUCCESS;
}
API cuCtxGetApiVersion(CUcontext context, unsigned *version) {
  NEED(version);
  TRY(given_or_current(&context));
  *version = 3020; /* the version of cuCtxCreate_v2 */
  return CUDA_SUCCESS;
}
API cuCtxSynchronize(void) {
  Context *context;
  TRY(context_current(&context));
  pools_settle(context->dev);
  return CUDA_SUCCESS;
}
API cuCtxSynchronize_v2(CUcontext context) {
  TRY(given_or_current(&context));
  if (is_lost(context->dev)) return DEVICE_LOST;
  pools_settle(context->dev);
  return CUDA_SUCCESS;
}
API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  Context *context;
  TRY(context_current(&context));
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}
API cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  Context *context;
  NEED(!flags);
  TRY(context_current(&context));
  TRY(check(peer));
  return peer->dev == context->dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
API cuCtxDisablePeerAccess(CUcontext peer) {
  Context *context;
  TRY(context_current(&context));
  return check(peer);
}
API cuCtxSetLimit(CUlimit limit, size_t value) {
  Context *context;
  return context_current(&context);
}
API cuCtxGetLimit(size_t *value, CUlimit limit) {
  Context *context;
  NEED(value);
  TRY(context_current(&context));
  *value = limit == CU_LIMIT_STACK_SIZE ? 1024 : (size_t)8 << 20;
  return CUDA_SUCCESS;
}
