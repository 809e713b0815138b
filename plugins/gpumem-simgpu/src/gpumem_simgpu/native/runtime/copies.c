/* Copies and fills.  The kind of a copy is left to the driver, which knows its own addresses. */
#include "runtime.h"

static cudaError_t copy(void *to, const void *from, size_t bytes) {
  TRY(in_context());
  return failed((int)cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, bytes));
}
RT cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  return copy(to, from, bytes);
}
RT cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(to, from, bytes);
}
RT cudaMemcpyPeer(void *to, int to_dev, const void *from, int from_dev, size_t bytes) {
  return copy(to, from, bytes);
}
RT cudaMemcpyPeerAsync(void *to, int to_dev, const void *from, int from_dev, size_t bytes,
                       cudaStream_t stream) {
  return copy(to, from, bytes);
}
RT cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                enum cudaMemcpyKind kind) {
  NEED(to_pitch >= width && from_pitch >= width);
  TRY(in_context());
  for (size_t row = 0; row < height; row++)
    TRY(cuMemcpy((CUdeviceptr)to + row * to_pitch, (CUdeviceptr)from + row * from_pitch, width));
  return cudaSuccess;
}
RT cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
RT cudaMemset(void *to, int value, size_t bytes) {
  TRY(in_context());
  return failed((int)cuMemsetD8((CUdeviceptr)to, (unsigned char)value, bytes));
}
RT cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  return cudaMemset(to, value, bytes);
}
RT cudaMemPrefetchAsync(const void *address, size_t bytes,
#if CUDART_VERSION >= 13000
                        struct cudaMemLocation place, unsigned flags,
#else
                        int dev,
#endif
                        cudaStream_t stream) {
  const CUmemLocation anywhere = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  TRY(in_context());
  return failed((int)cuMemPrefetchAsync_v2((CUdeviceptr)address, bytes, anywhere, 0, stream));
}
RT cudaMemAdvise(const void *address, size_t bytes, enum cudaMemoryAdvise advice,
#if CUDART_VERSION >= 13000
                 struct cudaMemLocation place
#else
                 int dev
#endif
) {
  const CUmemLocation anywhere = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  TRY(in_context());
  return failed((int)cuMemAdvise_v2((CUdeviceptr)address, bytes, (CUmem_advise)advice, anywhere));
}
