/* Kernels are accepted and never run. */
#include "driver.h"

/* The runtime hands over addresses of its own as functions, so they are not looked up here. */
static CUresult launch(const char *api, CUfunction function) {
  Context *context;
  NEED(function);
  TRY(context_current(&context));
  sim_trace(api, -1, -1, function, 0);
  return CUDA_SUCCESS;
}
API cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameter,
                   void **extra) {
  return launch(__func__, function);
}
API cuLaunchKernelEx(const CUlaunchConfig *how, CUfunction function, void **parameter, void **extra) {
  return launch(__func__, function);
}
API cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                              CUstream stream, void **parameter) {
  return launch(__func__, function);
}

static CUresult function_attribute(int *value, CUfunction_attribute attribute, int dev) {
  const SimDevice *device = sim_device(dev);
  switch ((int)attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = device->cc_major * 10 + device->cc_minor; break;
  default: *value = 0;
  }
  return CUDA_SUCCESS;
}
API cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  Context *context;
  NEED(value);
  TRY(context_current(&context));
  return function_attribute(value, attribute, context->dev);
}
API cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice dev) {
  NEED(value);
  TRY(device_ready(dev));
  return function_attribute(value, attribute, dev);
}
API cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return driver_ready();
}
API cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) { return driver_ready(); }
API cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice dev) {
  return device_ready(dev);
}

API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, CUfunction function, int threads,
                                                         size_t shared, unsigned flags) {
  NEED(count);
  TRY(driver_ready());
  *count = 2;
  return CUDA_SUCCESS;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, CUfunction function, int threads, size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, threads, shared, 0);
}
API cuOccupancyMaxPotentialBlockSize(int *grid, int *threads, CUfunction function,
                                     CUoccupancyB2DSize shared_of, size_t shared, int limit) {
  Context *context;
  NEED(grid && threads);
  TRY(context_current(&context));
  *grid = sim_device(context->dev)->multiprocessors * 2, *threads = 1024;
  return CUDA_SUCCESS;
}
