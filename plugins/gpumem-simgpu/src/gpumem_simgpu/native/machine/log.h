/* The log, SIMGPU_LOG: one JSON object a line, for every call that matters to memory. */
#ifndef SIM_LOG_H
#define SIM_LOG_H
#include "ledger.h"
#include <stddef.h>
#include <sys/types.h>

typedef struct {
  const char *api;
  int dev, bus;          /* the device as CUDA and as the machine counts it; -1: none */
  long long bytes;       /* -1: no size */
  const void *ptr;       /* 0: none */
  unsigned long long id; /* of the block, the same when it is asked for and when it is freed; 0: none */
  long long charged;     /* bytes of the device that this call took; -1: it takes none */
  long long freed;       /* bytes that this call is about to give back; -1: it gives none */
  const SimTotals *now;  /* totals after the call; 0: ask for them */
  const char *lib;       /* path of the library that called; 0: not told */
  const char *note;
  int rc;
} SimLine;

/* A line about nothing yet, and what it is about; later values replace the first ones on purpose. */
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
#define SIM_LINE(...) ((SimLine){.dev = -1, .bus = -1, .bytes = -1, .charged = -1, .freed = -1, __VA_ARGS__})

void sim_log_open(void);
int sim_log_is_open(void);
void sim_log(const SimLine *line);

/* A process has ended, or gave back what it held: it holds nothing from this line on. */
void sim_log_gone(pid_t pid);

/* caller.c: path of the library that called into ours; 0 where nobody wants to know or it is not known.
 * It asks the dynamic loader, so no lock of ours may be held. */
const char *sim_caller(void);

#pragma GCC visibility push(default)
/* SIMGPU_TRACE: calls that have nothing to do with memory are logged too. */
int sim_tracing(void);
void sim_trace(const char *api, int dev, long long bytes, const void *ptr, const char *note);

/* A call that is not simulated: it leaves a line and answers rc. */
int sim_stub(const char *name, int rc);
#pragma GCC visibility pop
#endif
