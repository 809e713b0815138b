/* What the programs do with contexts. */
#ifndef CONTEXT_CALLS_H
#define CONTEXT_CALLS_H
#include "device.h"

static inline CUcontext created(CUdevice device) {
  CUcontext context = 0;
  OK(cuCtxCreate(&context, 0, device));
  HOLDS(context != 0);
  return context;
}
static inline CUcontext current(void) {
  CUcontext context = 0;
  OK(cuCtxGetCurrent(&context));
  return context;
}
#endif
