/* What the files of the driver share. */
#ifndef SIMGPU_DRIVER_H
#define SIMGPU_DRIVER_H
#define __CUDA_API_VERSION_INTERNAL
#include "simgpu.h"
#include <cuda.h>
#include <pthread.h>

#define API __attribute__((visibility("default"))) CUresult
#define TRACE(dev, bytes, ptr)                                                                               \
  do {                                                                                                       \
    if (sim_tracing()) sim_event(__func__, dev, bytes, (void *)(ptr), 0, 0);                                 \
  } while (0)
#define CFG (&sim_conf)
#define NEED_INIT                                                                                            \
  if (!sim_up) return CUDA_ERROR_NOT_INITIALIZED
#define NEED_DEV(d)                                                                                          \
  do {                                                                                                       \
    NEED_INIT;                                                                                               \
    if ((d) < 0 || (d) >= CFG->ndev) return CUDA_ERROR_INVALID_DEVICE;                                       \
  } while (0)
#define NEED_CTX                                                                                             \
  CUcontext c = sim_current();                                                                               \
  if (!c) return sim_up ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED

struct CUctx_st {
  int dev, primary;
  unsigned flags, refs;
  unsigned long long id;
};
struct CUmemPoolHandle_st {
  int dev;
  size_t used, reserved, used_high, reserved_high, max;
  cuuint64_t threshold;
};

/* Every range handed out, for accounting and for questions about pointers. */
enum { DEVICE = 1, HOST, REGISTERED, MANAGED, POOLED, RESERVED, PHYSICAL };
typedef struct Block {
  struct Block *next;
  char *p;
  size_t n;
  int dev, kind, refs, mapped;
  struct CUmemPoolHandle_st *pool;
  struct Block *phys; /* what a mapped piece of a RESERVED range shows */
  unsigned flags;
  unsigned long long id;
} Block;

#pragma GCC visibility push(hidden)
extern int sim_up;
extern pthread_mutex_t sim_driver_mutex;
extern struct CUctx_st sim_primary[SIM_MAXDEV];
extern struct CUmemPoolHandle_st sim_pool[SIM_MAXDEV], *sim_current_pool[SIM_MAXDEV];
CUcontext sim_current(void);
unsigned long long sim_next_id(void);
Block *sim_block_new(int kind, int dev, char *p, size_t n);
Block *sim_block_at(const void *p, int exact);
void sim_block_drop(Block *block);
char *sim_lazy(size_t n);
size_t sim_round_up(size_t n, size_t granularity);
CUresult sim_device_alloc(const char *api, int dev, size_t n, int kind, CUdeviceptr *out);
CUresult sim_device_free(const char *api, CUdeviceptr p);
#pragma GCC visibility pop
#endif
