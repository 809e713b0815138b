/* Streams and events. */
#include "runtime.h"

RT cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
  TRY(in_context());
  return failed((int)cuStreamCreateWithPriority(out, flags, priority));
}
RT cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
RT cudaStreamCreate(cudaStream_t *out) { return cudaStreamCreateWithPriority(out, 0, 0); }
RT cudaStreamDestroy(cudaStream_t stream) { return failed((int)cuStreamDestroy(stream)); }
RT cudaStreamSynchronize(cudaStream_t stream) {
  TRY(in_context());
  return failed((int)cuStreamSynchronize(stream));
}
RT cudaStreamQuery(cudaStream_t stream) {
  TRY(in_context());
  return failed((int)cuStreamQuery(stream));
}
RT cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  TRY(in_context());
  return failed((int)cuStreamWaitEvent(stream, event, flags));
}
RT cudaStreamGetPriority(cudaStream_t stream, int *priority) {
  TRY(in_context());
  return failed((int)cuStreamGetPriority(stream, priority));
}
RT cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) {
  TRY(in_context());
  return failed((int)cuStreamGetFlags(stream, flags));
}
RT cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
  TRY(in_context());
  return failed((int)cuStreamGetId(stream, id));
}
RT cudaStreamGetDevice(cudaStream_t stream, int *dev) {
  TRY(in_context());
  return failed((int)cuStreamGetDevice(stream, dev));
}

/* Capturing is not simulated, so nothing is ever being captured. */
RT cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  TRY(in_context());
  return failed((int)cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status));
}
#if CUDART_VERSION >= 13000
RT cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                            cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                            const cudaGraphEdgeData **edges, size_t *count) {
  if (id) *id = 0;
  return cudaStreamIsCapturing(stream, status);
}
#else
RT cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                            unsigned long long *id) {
  if (id) *id = 0;
  return cudaStreamIsCapturing(stream, status);
}
RT cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *graph,
                               const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
                               size_t *count) {
  if (id) *id = 0;
  return cudaStreamIsCapturing(stream, status);
}
#endif
RT cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *graph,
                               const cudaGraphNode_t **dependencies, size_t *count) {
  if (id) *id = 0;
  return cudaStreamIsCapturing(stream, status);
}
RT cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  return failed((int)cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

RT cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags) {
  NEED(callback && !flags);
  TRY(cudaStreamQuery(stream));
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}
RT cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  TRY(in_context());
  return failed((int)cuLaunchHostFunc(stream, function, data));
}

RT cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  TRY(in_context());
  return failed((int)cuEventCreate(out, flags));
}
RT cudaEventCreate(cudaEvent_t *out) { return cudaEventCreateWithFlags(out, 0); }
RT cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  TRY(in_context());
  return failed((int)cuEventRecord(event, stream));
}
RT cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return cudaEventRecord(event, stream);
}
RT cudaEventQuery(cudaEvent_t event) { return failed((int)cuEventQuery(event)); }
RT cudaEventSynchronize(cudaEvent_t event) { return failed((int)cuEventSynchronize(event)); }
RT cudaEventDestroy(cudaEvent_t event) { return failed((int)cuEventDestroy(event)); }
RT cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return failed((int)cuEventElapsedTime(milliseconds, from, to));
}
