/* What the programs do with a device, in one word each. */
#ifndef DEVICE_H
#define DEVICE_H
#include "check.h"
#include <cuda.h>

/* Start CUDA with the device's primary context current; it is charged from here on. */
static inline CUcontext start_on(CUdevice device) {
  CUcontext context;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  return context;
}
static inline CUcontext start(void) { return start_on(0); }

static inline size_t free_bytes(void) {
  size_t left = 0, total = 0;
  OK(cuMemGetInfo(&left, &total));
  HOLDS(left <= total);
  return left;
}
static inline size_t total_bytes(void) {
  size_t left = 0, total = 0;
  OK(cuMemGetInfo(&left, &total));
  return total;
}
static inline size_t used_bytes(void) { return total_bytes() - free_bytes(); }

static inline CUdeviceptr allocated(size_t bytes) {
  CUdeviceptr pointer = 0;
  OK(cuMemAlloc(&pointer, bytes));
  HOLDS(pointer != 0);
  return pointer;
}

/* A request that has to be refused, and has to change nothing. */
static inline void refused(size_t bytes) {
  CUdeviceptr pointer = 0;
  size_t before = used_bytes();
  IS(cuMemAlloc(&pointer, bytes), CUDA_ERROR_OUT_OF_MEMORY);
  IS(used_bytes(), before);
}

static inline int attribute(CUdevice_attribute which, CUdevice device) {
  int value = -1;
  OK(cuDeviceGetAttribute(&value, which, device));
  return value;
}
#endif
