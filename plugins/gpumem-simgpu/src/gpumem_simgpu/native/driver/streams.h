/* What streams.c and events.c share. */
#ifndef SIM_STREAMS_H
#define SIM_STREAMS_H
#include "driver.h"

struct CUstream_st {
  Handle handle;
  int dev, priority;
  unsigned flags;
};

/* A copy of what is known about a stream; the null stream and its two relatives belong to the current
 * context.
 */
CUresult stream_look(CUstream stream, struct CUstream_st *out);
/* The same, and the device is not lost. */
CUresult stream_ready(CUstream stream, struct CUstream_st *out);
/* The same, where nothing is to be known. */
CUresult stream_check(CUstream stream);
#endif
