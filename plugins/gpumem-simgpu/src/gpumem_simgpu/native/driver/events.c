/* Events: each remembers when it was recorded, and has then already happened. */
#include "streams.h"
#include <time.h>

struct CUevent_st {
  Handle handle;
  int dev, recorded;
  unsigned flags;
  double milliseconds;
};

API cuEventCreate(CUevent *out, unsigned flags) {
  Context *context;
  NEED(out &&
       !(flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)));
  TRY(context_current(&context));
  lock();
  struct CUevent_st *event = handle_new(EVENT, sizeof *event, context);
  if (event) event->dev = context->dev, event->flags = flags;
  unlock();
  if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = event;
  return CUDA_SUCCESS;
}
API cuEventDestroy_v2(CUevent event) {
  TRY(driver_ready());
  lock();
  void *found = handle_find(EVENT, event);
  if (found) handle_drop(found);
  unlock();
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API cuEventRecord(CUevent event, CUstream stream) {
  struct timespec now;
  TRY(stream_check(stream));
  clock_gettime(CLOCK_MONOTONIC, &now);
  lock();
  struct CUevent_st *found = handle_find(EVENT, event);
  if (found) found->recorded = 1, found->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  unlock();
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
API cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return cuEventRecord(event, stream);
}

static CUresult check(CUevent event, int *dev) {
  TRY(driver_ready());
  lock();
  struct CUevent_st *found = handle_find(EVENT, event);
  if (found) *dev = found->dev;
  unlock();
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  return is_lost(*dev) ? DEVICE_LOST : CUDA_SUCCESS;
}
API cuEventQuery(CUevent event) {
  int dev;
  return check(event, &dev);
}
API cuEventSynchronize(CUevent event) {
  int dev;
  TRY(check(event, &dev));
  pools_settle(dev);
  return CUDA_SUCCESS;
}
API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  int dev;
  TRY(stream_check(stream));
  return check(event, &dev);
}

API cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  CUresult rc = CUDA_ERROR_INVALID_HANDLE;
  NEED(milliseconds);
  TRY(driver_ready());
  lock();
  struct CUevent_st *a = handle_find(EVENT, from), *b = handle_find(EVENT, to);
  if (a && b && a->recorded && b->recorded && !((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)) {
    *milliseconds = (float)(b->milliseconds - a->milliseconds);
    rc = CUDA_SUCCESS;
  }
  unlock();
  return rc;
}
API cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to) {
  return cuEventElapsedTime(milliseconds, from, to);
}
