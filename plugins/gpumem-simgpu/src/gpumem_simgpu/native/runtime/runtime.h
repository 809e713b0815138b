/* The runtime API stands on the driver's public calls alone.  Its files are compiled once for each CUDA major
 * version, against the headers of that version. */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H
#include <cuda.h>
#include <cuda_runtime_api.h>
#include "log.h"

/* The headers rename these by macros; here they are defined. */
#undef cudaGetDeviceProperties
#undef cudaStreamGetCaptureInfo
#undef cudaGetKernel
#undef cudaGetDriverEntryPoint

#define VISIBLE __attribute__((visibility("default")))
#define RT VISIBLE cudaError_t
/* Most numbers of errors are the same in both APIs.  The runtime remembers a failure until somebody asks. */
#define TRY(call)                                                                                            \
  do {                                                                                                       \
    int rc_ = (int)(call);                                                                                   \
    if (rc_) return failed(rc_);                                                                             \
  } while (0)
#define NEED(condition)                                                                                      \
  do {                                                                                                       \
    if (!(condition)) return failed(cudaErrorInvalidValue);                                                  \
  } while (0)

cudaError_t failed(int rc);   /* remember a failure; success is none */
cudaError_t started(void);    /* cuInit */
cudaError_t in_context(void); /* and a context for this thread */
int chosen_device(void);      /* by cudaSetDevice on this thread */
#endif
