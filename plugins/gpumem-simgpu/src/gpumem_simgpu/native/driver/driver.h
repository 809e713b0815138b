/* What the files of the driver share.
 *
 * One lock, driver.lock, guards everything here; functions that say "locked" are called with it held.  Under
 * it only the ledger's own lock is taken.  The calling library is looked up (sim_caller) and lines are
 * written without it. */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H
#define __CUDA_API_VERSION_INTERNAL
#include "faults.h"
#include "ledger.h"
#include "log.h"
#include "machine.h"
#include <cuda.h>
#include <pthread.h>

#define API __attribute__((visibility("default"))) CUresult
#define TRY(call)                                                                                            \
  do {                                                                                                       \
    CUresult rc_ = (call);                                                                                   \
    if (rc_ != CUDA_SUCCESS) return rc_;                                                                     \
  } while (0)
/* Pointers through which a call answers. */
#define NEED(condition)                                                                                      \
  do {                                                                                                       \
    if (!(condition)) return CUDA_ERROR_INVALID_VALUE;                                                       \
  } while (0)

/* A card that fell off the bus shows as this error: https://github.com/proteneer/timemachine/pull/1203 */
#define DEVICE_LOST CUDA_ERROR_UNKNOWN

#define VMM_STEP ((size_t)2 << 20) /* the granularity of cuMemCreate and cuMemMap */
#define PIECE_SIZES 40             /* classes of room in pieces: powers of two */

typedef struct CUctx_st Context;
typedef struct CUmemPoolHandle_st Pool;

/* ---- handles.c: objects that programs hold by address, known to be alive before they are looked at ---- */
typedef enum { CONTEXT = 1, STREAM, EVENT, MODULE, FUNCTION, POOL, PHYSICAL } HandleKind;
typedef struct Handle {
  HandleKind kind;
  Context *context; /* 0: it outlives all contexts */
  unsigned long long id;
  struct Handle *next, *previous;
} Handle;

unsigned long long next_id(void);
void *handle_new(HandleKind kind, size_t bytes, Context *context); /* locked; 0: no host memory */
void *handle_find(HandleKind kind, const void *address);  /* locked; 0: none of that kind lives there */
void handle_drop(void *handle);                           /* locked */
void *handle_of(HandleKind kind, const Context *context); /* locked; any one, 0: none is left */
void handles_drop_of(Context *context);                   /* locked */
void modules_forget_of(Context *context);                 /* modules.c; locked */

/* ---- contexts.c, context_stack.c ---- */
struct CUctx_st {
  Handle handle;
  int dev, primary;
  int alive; /* contexts are never freed, so that one in another thread's stack can be asked */
  unsigned flags, refs;
};

/* The thread's context, alive and on a device that is not lost. */
CUresult context_current(Context **context);
/* The same, but the device may be lost: for requests, which are written down before they fail. */
CUresult context_of_request(Context **context);
CUresult context_push(Context *context);
Context *context_top(void);
void context_pop(void);

/* ---- charges.c: what a request takes from the device ---- */
typedef struct Piece {
  size_t room;
  unsigned requests;
  int size_class;
  struct Piece *next, *previous;
} Piece;
typedef struct {
  size_t bytes; /* of the device, for a request of its own */
  Piece *piece; /* or the shared piece that it is part of */
  size_t part;
} Charge;

/* Locked.  `taken`: bytes newly taken; CUDA_ERROR_OUT_OF_MEMORY when they are not there. */
CUresult charge_take(int dev, size_t bytes, Charge *charge, size_t *taken, SimTotals *now);
size_t charge_drop(int dev, Charge *charge); /* locked; bytes that the caller is to give back */
size_t round_up(size_t bytes, size_t step);

/* ---- blocks.c: every range of addresses that was handed out ---- */
typedef enum { DEVICE = 1, MANAGED, POOLED, MAPPED, GLOBAL, HOST, REGISTERED } BlockKind;
typedef struct Physical Physical;
typedef struct Block {
  char *start;
  size_t bytes;
  BlockKind kind;
  int dev; /* -1: none */
  Context *context;
  Charge charge;
  Pool *pool;         /* of a POOLED block */
  Physical *physical; /* what a MAPPED block shows */
  int access;         /* of a MAPPED block: CUmemAccess_flags */
  unsigned flags;     /* of a HOST block */
  unsigned long long id;
  struct Block *next; /* in the answer of blocks_of_context */
} Block;

Block *block_new(BlockKind kind, int dev, char *start, size_t bytes); /* locked; 0: it overlaps another */
Block *block_at(const void *address);                                 /* locked; the one that holds it */
Block *blocks_of_context(const Context *context);                     /* locked; what dies with it, a list */
void block_remove(Block *block);                                      /* locked; the block is not freed */
/* Locked.  Whether all of a range lies in blocks that a copy may touch. */
int blocks_cover(const char *start, size_t bytes);
int is_device_memory(const Block *block);

/* backing.c: host memory that stands for memory of the device; committed when it is written to. */
char *backing_new(size_t bytes);
void backing_free(char *start, size_t bytes);

/* ---- requests.c ---- */
/* Ask for memory and write it down. */
CUresult request_memory(const char *api, Context *context, size_t bytes, BlockKind kind, CUdeviceptr *out);
CUresult free_memory(const char *api, CUdeviceptr address);
/* Without a lock: who asks, slowness, faults and lost devices, for whoever grants by himself. */
CUresult request_begin(SimLine *line);
/* Locked: forget a block and what it took.  The caller unlocks, then calls block_end(). */
void block_forget(Block *block, SimLine *line);
/* Write the line, then give the memory back. */
void block_end(Block *block, const SimLine *line);

/* ---- pools.c ---- */
struct CUmemPoolHandle_st {
  Handle handle;
  int dev;
  size_t used, reserved, used_high, reserved_high, most;
  unsigned blocks;
  cuuint64_t threshold;
  int reuse[3];  /* follow events, opportunistic, internal dependencies: kept, without effect */
  int destroyed; /* it goes when its last block is freed */
  Pool *next;    /* of the same device */
};

CUresult pools_open(int dev);               /* locked */
size_t pool_drop(Pool *pool, size_t bytes); /* locked; bytes that the caller is to give back */
void pools_settle(int dev);                 /* not locked: at synchronisation, down to the thresholds */
void pools_empty(int dev);                  /* not locked: what no block needs, when contexts are gone */

/* ---- driver.c ---- */
typedef struct {
  int bus;
  Context *primary;
  unsigned contexts; /* alive */
  Pool *pool, *current, *pools;
  Piece *piece[PIECE_SIZES]; /* with room, by size class */
} Device;

typedef enum { OFF, ON, FORKED } DriverState;
typedef struct {
  pthread_mutex_t lock;
  DriverState state;
  int devices;
  Device device[SIM_MAX_DEVICES]; /* as CUDA counts them */
} Driver;
extern Driver driver;

void lock(void);
void unlock(void);
CUresult driver_ready(void);
CUresult device_ready(int dev); /* it exists and is not lost */
const SimDevice *sim_device(int dev);
int is_lost(int dev);
#endif
