/* 64 threads use one device at random: no more is granted than there is, and all of it comes back. */
#include "random_use.h"

enum { THREADS = 64, SEED = 20240229 };

static CUcontext context;
static Tally tally;
static pthread_barrier_t start_line;

static void *worker(void *argument) {
  OK(cuCtxSetCurrent(context));
  pthread_barrier_wait(&start_line);
  use_at_random(SEED + (unsigned long long)(size_t)argument, 150, 2 * MIB, &tally, 0);
  return 0;
}

static void run_workers(void) {
  pthread_t thread[THREADS];
  printf("seed %d\n", SEED);
  context = start();
  size_t before = used_bytes();
  pthread_barrier_init(&start_line, 0, THREADS);
  for (size_t i = 0; i < THREADS; i++) IS(pthread_create(&thread[i], 0, worker, (void *)i), 0);
  for (size_t i = 0; i < THREADS; i++) IS(pthread_join(thread[i], 0), 0);
  HOLDS(tally.refused > 0); /* else the device was too large to prove anything */
  IS(tally.held, 0);
  OK(cuCtxSynchronize());
  IS(used_bytes(), before);
}

// Charged to the byte.
CASE(charged_exactly, "DEVICES=96MiB GRANULARITY=1 CONTEXT=1MiB") { run_workers(); }

// Charged in pieces that small requests share.
CASE(charged_in_pieces, "DEVICES=96MiB CONTEXT=1MiB") { run_workers(); }

static void *starts_cuda(void *argument) {
  CUcontext primary;
  (void)argument;
  pthread_barrier_wait(&start_line);
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuCtxSetCurrent(primary));
  IS(total_bytes(), 64 * MIB);
  allocated(KIB);
  return primary;
}

// The first call may come from many threads at once: one machine, one context, one piece.
CASE(started_by_many, "DEVICES=64MiB CONTEXT=8MiB") {
  pthread_t thread[16];
  void *primary[16];
  pthread_barrier_init(&start_line, 0, 16);
  for (size_t i = 0; i < 16; i++) IS(pthread_create(&thread[i], 0, starts_cuda, 0), 0);
  for (size_t i = 0; i < 16; i++) IS(pthread_join(thread[i], &primary[i]), 0);
  for (size_t i = 1; i < 16; i++) HOLDS(primary[i] == primary[0]);
  OK(cuCtxSetCurrent(primary[0]));
  IS(used_bytes(), 10 * MIB);
}

static void *maps_and_unmaps(void *argument) {
  CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  CUmemAccessDesc access = {property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  (void)argument;
  OK(cuCtxSetCurrent(context));
  for (int i = 0; i < 20; i++) {
    CUdeviceptr place;
    CUmemGenericAllocationHandle handle, again;
    OK(cuMemAddressReserve(&place, 4 * MIB, 0, 0, 0));
    OK(cuMemCreate(&handle, 2 * MIB, &property, 0));
    OK(cuMemMap(place, 2 * MIB, 0, handle, 0));
    OK(cuMemMap(place + 2 * MIB, 2 * MIB, 0, handle, 0));
    OK(cuMemSetAccess(place, 4 * MIB, &access, 1));
    OK(cuMemRelease(handle));
    OK(cuMemRetainAllocationHandle(&again, (void *)place));
    OK(cuMemsetD8(place, 7, 4096));
    OK(cuMemUnmap(place, 4 * MIB));
    OK(cuMemRelease(again));
    OK(cuMemAddressFree(place, 4 * MIB));
  }
  return 0;
}

// Mappings of several threads do not get into each other's way.
CASE(mappings, "DEVICES=64MiB") {
  pthread_t thread[8];
  context = start();
  for (int i = 0; i < 8; i++) IS(pthread_create(&thread[i], 0, maps_and_unmaps, 0), 0);
  for (int i = 0; i < 8; i++) IS(pthread_join(thread[i], 0), 0);
  IS(used_bytes(), 0);
}

static CUmemoryPool pool;
static void *uses_the_pool(void *argument) {
  cuuint64_t value;
  OK(cuCtxSetCurrent(context));
  for (int i = 0; i < 40; i++) {
    CUdeviceptr pointer;
    OK(cuMemAllocFromPoolAsync(&pointer, 100 * KIB * (1 + (size_t)argument), pool, 0));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
    HOLDS(value >= 100 * KIB);
    if (i % 8 == 0) OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemFreeAsync(pointer, 0));
    OK(cuStreamSynchronize(0));
  }
  return 0;
}

// A pool that threads share counts all of them.
CASE(one_pool, "DEVICES=64MiB") {
  pthread_t thread[8];
  CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  cuuint64_t used = 1;
  context = start();
  OK(cuMemPoolCreate(&pool, &properties));
  for (size_t i = 0; i < 8; i++) IS(pthread_create(&thread[i], 0, uses_the_pool, (void *)i), 0);
  for (size_t i = 0; i < 8; i++) IS(pthread_join(thread[i], 0), 0);
  OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  IS(used, 0);
  OK(cuMemPoolDestroy(pool));
  IS(used_bytes(), 0);
}

static void *never_stops(void *argument) {
  (void)argument;
  OK(cuCtxSetCurrent(context));
  for (;;) {
    CUdeviceptr pointer = 0;
    if (cuMemAlloc(&pointer, KIB) == CUDA_SUCCESS) cuMemFree(pointer); /* refused once the process is ending */
  }
  return 0;
}

// A process may end while its threads allocate, as interpreters do: it ends, and gives everything back.
CASE(end_in_the_middle, "DEVICES=64MiB CONTEXT=1MiB STATE=shared") {
  unsigned long long state = SEED;
  for (int i = 0; i < 6; i++) {
    useconds_t while_ = (useconds_t)random_below(&state, 3000);
    pid_t child = fork_child();
    if (!child) {
      pthread_t thread;
      context = start();
      for (int k = 0; k < 4; k++) IS(pthread_create(&thread, 0, never_stops, 0), 0);
      usleep(while_);
      exit(0);
    }
    IS(ended_with(child), 0);
  }
  start();
  IS(used_bytes(), MIB);
}
