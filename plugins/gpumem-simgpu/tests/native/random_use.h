/* Random use of a device's memory, with a tally by which anybody can see that no more was granted than there
 * is: what a worker holds is added after it is granted and taken off before it is given back, so the tally
 * never tells more than the truth. */
#ifndef RANDOM_USE_H
#define RANDOM_USE_H
#include "device.h"

typedef struct {
  size_t held;    /* by all workers; only changed atomically */
  size_t refused; /* requests that found no room */
} Tally;

enum { HELD_AT_ONCE = 24 };

typedef struct {
  CUdeviceptr pointer;
  CUmemGenericAllocationHandle handle; /* instead of a pointer */
  size_t bytes;
  int pooled;
} Held;

static inline void tally_add(Tally *tally, size_t bytes, size_t total) {
  size_t sum = __atomic_add_fetch(&tally->held, bytes, __ATOMIC_SEQ_CST);
  if (sum > total) {
    fprintf(stderr, "%zu bytes are granted of %zu\n", sum, total);
    check_failed();
  }
}

static inline CUresult ask(Held *held, size_t bytes, int way, CUdevice device) {
  CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
  *held = (Held){.bytes = bytes};
  switch (way) {
  case 0: held->pooled = 1; return cuMemAllocAsync(&held->pointer, bytes, 0);
  case 1: return cuMemAllocManaged(&held->pointer, bytes, CU_MEM_ATTACH_GLOBAL);
  case 2:
    held->bytes = (bytes / (2 * MIB) + 1) * 2 * MIB;
    return cuMemCreate(&held->handle, held->bytes, &property, 0);
  default: return cuMemAlloc(&held->pointer, bytes);
  }
}

static inline void give_back(Held *held, Tally *tally) {
  __atomic_sub_fetch(&tally->held, held->bytes, __ATOMIC_SEQ_CST);
  if (held->handle)
    OK(cuMemRelease(held->handle));
  else if (held->pooled)
    OK(cuMemFreeAsync(held->pointer, 0));
  else
    OK(cuMemFree(held->pointer));
  *held = (Held){0};
}

/* The context must be current.  Every request is granted or refused for want of room. */
static inline void use_at_random(unsigned long long seed, int steps, size_t largest, Tally *tally, CUdevice device) {
  unsigned long long state = seed * 2654435761u + 88172645463325252ull;
  Held held[HELD_AT_ONCE] = {{0}};
  size_t total = total_bytes();
  for (int i = 0; i < steps; i++) {
    Held *one = &held[random_below(&state, HELD_AT_ONCE)];
    if (one->bytes) {
      give_back(one, tally);
      continue;
    }
    size_t bytes = 1 + random_below(&state, random_below(&state, 3) ? largest : 4 * KIB);
    CUresult rc = ask(one, bytes, (int)random_below(&state, 8), device);
    if (rc == CUDA_SUCCESS) {
      tally_add(tally, one->bytes, total);
    } else {
      IS(rc, CUDA_ERROR_OUT_OF_MEMORY);
      __atomic_add_fetch(&tally->refused, 1, __ATOMIC_SEQ_CST);
      *one = (Held){0};
    }
  }
  for (int i = 0; i < HELD_AT_ONCE; i++)
    if (held[i].bytes) give_back(&held[i], tally);
}
#endif
