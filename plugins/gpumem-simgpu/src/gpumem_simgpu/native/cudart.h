/* What the two files of the runtime share. */
#ifndef SIMGPU_CUDART_H
#define SIMGPU_CUDART_H
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include "simgpu.h"

/* The headers rename these by macros; here they are defined. */
#undef cudaGetDeviceProperties
#undef cudaStreamGetCaptureInfo
#undef cudaGetKernel
#undef cudaGetDriverEntryPoint

#define RT __attribute__((visibility("default"))) cudaError_t
#define VERSION (CUDART_VERSION)
#define CTX                                                                                                  \
  do {                                                                                                       \
    int rc_ = rt_context();                                                                                  \
    if (rc_) return err(rc_);                                                                                \
  } while (0)
#define INIT                                                                                                 \
  do {                                                                                                       \
    int rc_ = rt_init();                                                                                     \
    if (rc_) return err(rc_);                                                                                \
  } while (0)

#pragma GCC visibility push(hidden)
extern __thread cudaError_t rt_last;
int rt_init(void);
int rt_context(void);
#pragma GCC visibility pop

static inline cudaError_t err(int rc) { /* the runtime remembers a failure until somebody asks */
  if (rc) rt_last = (cudaError_t)rc;
  return (cudaError_t)rc;
}
#endif
