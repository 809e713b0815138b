/* Streams.  Whatever is put into one has already finished. */
#include "streams.h"
#include <string.h>

static int is_null_stream(CUstream stream) {
  return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

CUresult stream_look(CUstream stream, struct CUstream_st *out) {
  memset(out, 0, sizeof *out);
  if (is_null_stream(stream)) {
    Context *context;
    TRY(context_of_request(&context));
    out->dev = context->dev, out->handle.context = context;
    return CUDA_SUCCESS;
  }
  TRY(driver_ready());
  lock();
  struct CUstream_st *found = handle_find(STREAM, stream);
  if (found) *out = *found;
  unlock();
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult stream_ready(CUstream stream, struct CUstream_st *out) {
  TRY(stream_look(stream, out));
  return is_lost(out->dev) ? DEVICE_LOST : CUDA_SUCCESS;
}
CUresult stream_check(CUstream stream) {
  struct CUstream_st known;
  return stream_ready(stream, &known);
}

API cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
  Context *context;
  NEED(out && !(flags & ~(unsigned)CU_STREAM_NON_BLOCKING));
  TRY(context_current(&context));
  lock();
  struct CUstream_st *stream = handle_new(STREAM, sizeof *stream, context);
  if (stream) stream->dev = context->dev, stream->flags = flags, stream->priority = priority;
  unlock();
  if (!stream) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = stream;
  sim_trace("cuStreamCreate", context->dev, -1, stream, 0);
  return CUDA_SUCCESS;
}
API cuStreamCreate(CUstream *out, unsigned flags) { return cuStreamCreateWithPriority(out, flags, 0); }
API cuStreamDestroy_v2(CUstream stream) {
  TRY(driver_ready());
  lock();
  void *found = handle_find(STREAM, stream);
  if (found) handle_drop(found);
  unlock();
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
API cuStreamQuery(CUstream stream) { return stream_check(stream); }
API cuStreamSynchronize(CUstream stream) {
  struct CUstream_st known;
  TRY(stream_ready(stream, &known));
  pools_settle(known.dev);
  return CUDA_SUCCESS;
}

/* ---- what is known about a stream ---- */

API cuStreamGetPriority(CUstream stream, int *priority) {
  struct CUstream_st known;
  NEED(priority);
  TRY(stream_ready(stream, &known));
  *priority = known.priority;
  return CUDA_SUCCESS;
}
API cuStreamGetFlags(CUstream stream, unsigned *flags) {
  struct CUstream_st known;
  NEED(flags);
  TRY(stream_ready(stream, &known));
  *flags = known.flags;
  return CUDA_SUCCESS;
}
API cuStreamGetId(CUstream stream, unsigned long long *id) {
  struct CUstream_st known;
  NEED(id);
  TRY(stream_ready(stream, &known));
  *id = known.handle.id;
  return CUDA_SUCCESS;
}
API cuStreamGetCtx(CUstream stream, CUcontext *context) {
  struct CUstream_st known;
  NEED(context);
  TRY(stream_ready(stream, &known));
  *context = known.handle.context;
  return CUDA_SUCCESS;
}
API cuStreamGetDevice(CUstream stream, CUdevice *dev) {
  struct CUstream_st known;
  NEED(dev);
  TRY(stream_ready(stream, &known));
  *dev = known.dev;
  return CUDA_SUCCESS;
}

/* ---- capturing is not simulated, so nothing is ever being captured ---- */

API cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  NEED(status);
  TRY(stream_check(stream));
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
API cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                              const CUgraphNode **dependencies, size_t *count) {
  if (id) *id = 0;
  return cuStreamIsCapturing(stream, status);
}
API cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                              const CUgraphNode **dependencies, const CUgraphEdgeData **edges,
                              size_t *count) {
  if (id) *id = 0;
  return cuStreamIsCapturing(stream, status);
}
API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  static __thread CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  NEED(mode);
  CUstreamCaptureMode before = current;
  current = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}

/* ---- work in a stream ---- */

static CUresult write_value(CUstream stream, CUdeviceptr address, const void *value, size_t width) {
  TRY(stream_check(stream));
  lock();
  int inside = address && blocks_cover((char *)address, width);
  unlock();
  if (!inside) return CUDA_ERROR_INVALID_VALUE;
  memcpy((void *)address, value, width);
  return CUDA_SUCCESS;
}
API cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return write_value(stream, address, &value, sizeof value);
}
API cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return write_value(stream, address, &value, sizeof value);
}
API cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return stream_check(stream);
}
API cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return stream_check(stream);
}
API cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags) {
  NEED(callback && !flags);
  TRY(stream_check(stream));
  callback(stream, CUDA_SUCCESS, data);
  return CUDA_SUCCESS;
}
API cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  NEED(function);
  TRY(stream_check(stream));
  function(data);
  return CUDA_SUCCESS;
}
