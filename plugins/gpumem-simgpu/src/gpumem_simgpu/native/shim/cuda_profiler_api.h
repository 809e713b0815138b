/* Two calls that one extension includes this header for; the real file is in a larger wheel. */
#pragma once
#include <cuda_runtime_api.h>
extern "C" {
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
}
