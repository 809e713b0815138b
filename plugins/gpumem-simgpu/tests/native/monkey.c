/* Calls at random, with arguments that are good, stale, empty or nonsense: each is answered, none does damage.
 *
 * What is right is told by the other programs; this one, above all under a sanitizer, is about what nobody thought
 * of.  The log that it leaves is judged like every other: no byte may be lost in it. */
#include "device.h"
#include "nvml_api.h"

enum { KNOWN = 12 };

static __thread unsigned long long state;
static __thread char host[8192];

/* Several monkeys leave alone what they share: "it is the responsibility of the calling function to ensure that no
 * other module in the process is using the device" (cuDevicePrimaryCtxReset), and contents of memory. */
static int together;

/* The last things of each kind that a thread has got, alive or not. */
static __thread CUcontext context[KNOWN];
static __thread CUstream stream[KNOWN];
static __thread CUevent event[KNOWN];
static __thread CUmemoryPool pool[KNOWN];
static __thread CUdeviceptr pointer[KNOWN], range[KNOWN];
static __thread CUmemGenericAllocationHandle handle[KNOWN];
static __thread CUmodule module[KNOWN];
static __thread CUfunction function[KNOWN];
static __thread void *locked[KNOWN];

static size_t below(size_t limit) { return random_below(&state, limit); }
static size_t slot(void) { return below(KNOWN); }
static CUdevice some_device(void) { return (CUdevice)below(4) - 1; }

static size_t some_size(void) {
  static const size_t size[] = {0,       1,       255,         4096,     100 * KIB, MIB,         2 * MIB, 3 * MIB,
                                4 * MIB, 8 * MIB, 2 * MIB + 1, 32 * MIB, 64 * MIB,  (size_t)1 << 40, (size_t)-1, 512};
  return size[below(sizeof size / sizeof *size)];
}
/* Something of a kind, or nothing, or nonsense. */
#define SOME(kind) (below(20) ? kind[slot()] : (__typeof__(*kind))(size_t)(below(3) * 64))

static CUdeviceptr some_address(void) {
  static const long offset[] = {0, 0, 0, 0, 1, 64, 4096, (long)MIB, (long)(2 * MIB), -1};
  CUdeviceptr base = below(3) ? SOME(pointer) : SOME(range);
  return base ? base + (CUdeviceptr)offset[below(sizeof offset / sizeof *offset)] : 0;
}

static CUmemAllocationProp some_property(void) {
  return (CUmemAllocationProp){.type = below(10) ? CU_MEM_ALLOCATION_TYPE_PINNED : (CUmemAllocationType)0,
                               .location = {below(8) ? CU_MEM_LOCATION_TYPE_DEVICE : (CUmemLocationType)below(4),
                                            some_device()}};
}

static CUresult on_contexts(void) {
  CUcontext popped;
  unsigned flags;
  int active;
  CUdevice device;
  switch (below(12)) {
  case 0:
  case 1: return cuDevicePrimaryCtxRetain(&context[slot()], some_device());
  case 2: return together ? CUDA_SUCCESS : cuDevicePrimaryCtxRelease(some_device());
  case 3: return together || below(10) ? CUDA_SUCCESS : cuDevicePrimaryCtxReset(some_device());
  case 4: return cuCtxCreate(&context[slot()], 0, some_device());
  case 5: return cuCtxDestroy(SOME(context));
  case 6: return cuCtxPushCurrent(SOME(context));
  case 7: return cuCtxPopCurrent(&popped);
  case 8:
  case 9: return cuCtxSetCurrent(SOME(context));
  case 10: return cuDevicePrimaryCtxGetState(some_device(), &flags, &active);
  default: return cuCtxGetDevice(&device);
  }
}

static CUresult on_memory(void) {
  size_t pitch, left, total;
  switch (below(12)) {
  case 0:
  case 1:
  case 2: return cuMemAlloc(&pointer[slot()], some_size());
  case 3: return cuMemAllocManaged(&pointer[slot()], some_size(), CU_MEM_ATTACH_GLOBAL);
  case 4: return cuMemAllocPitch(&pointer[slot()], &pitch, some_size(), below(100), 4);
  case 5:
  case 6:
  case 7: return cuMemFree(some_address());
  case 8: return cuMemGetInfo(&left, &total);
  case 9: return cuMemHostAlloc(&locked[slot()], some_size() % (8 * MIB), 0);
  case 10: return cuMemFreeHost(SOME(locked));
  default:
    return below(2) ? cuMemHostRegister(host + below(4096), below(4096), 0) : cuMemHostUnregister(host + below(4096));
  }
}

static CUresult on_pools(void) {
  CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {CU_MEM_LOCATION_TYPE_DEVICE, some_device()},
                               .maxSize = below(3) ? 0 : some_size()};
  cuuint64_t value = below(2) ? some_size() : 0;
  switch (below(12)) {
  case 0: return cuMemPoolCreate(&pool[slot()], &properties);
  case 1: return cuMemPoolDestroy(SOME(pool));
  case 2: return cuDeviceSetMemPool(some_device(), SOME(pool));
  case 3: return cuDeviceGetMemPool(&pool[slot()], some_device());
  case 4: return cuDeviceGetDefaultMemPool(&pool[slot()], some_device());
  case 5: return cuMemPoolTrimTo(SOME(pool), some_size());
  case 6: return cuMemPoolSetAttribute(SOME(pool), (CUmemPool_attribute)below(10), &value);
  case 7: return cuMemPoolGetAttribute(SOME(pool), (CUmemPool_attribute)below(10), &value);
  case 8: return cuMemAllocFromPoolAsync(&pointer[slot()], some_size(), SOME(pool), SOME(stream));
  case 9: return cuMemAllocAsync(&pointer[slot()], some_size(), SOME(stream));
  default: return cuMemFreeAsync(some_address(), SOME(stream));
  }
}

static CUresult on_virtual_memory(void) {
  CUmemAllocationProp property = some_property();
  CUmemAccessDesc access = {property.location, (CUmemAccess_flags)below(5)};
  unsigned long long flags;
  switch (below(12)) {
  case 0: return cuMemAddressReserve(&range[slot()], some_size(), below(3) ? 0 : some_size(), 0, 0);
  case 1: return cuMemAddressFree(SOME(range), some_size());
  case 2:
  case 3: return cuMemCreate(&handle[slot()], some_size(), &property, 0);
  case 4: return cuMemRelease(SOME(handle));
  case 5:
  case 6: return cuMemMap(some_address(), some_size(), 0, SOME(handle), 0);
  case 7: return cuMemUnmap(some_address(), some_size());
  case 8:
  case 9: return cuMemSetAccess(some_address(), some_size(), &access, 1);
  case 10: return cuMemRetainAllocationHandle(&handle[slot()], (void *)some_address());
  default: return cuMemGetAccess(&flags, &property.location, some_address());
  }
}

static CUresult on_streams(void) {
  float milliseconds;
  switch (below(12)) {
  case 0: return cuStreamCreate(&stream[slot()], (unsigned)below(3));
  case 1: return cuStreamDestroy(SOME(stream));
  case 2: return cuStreamSynchronize(SOME(stream));
  case 3: return cuEventCreate(&event[slot()], (unsigned)below(4));
  case 4: return cuEventDestroy(SOME(event));
  case 5: return cuEventRecord(SOME(event), SOME(stream));
  case 6: return cuEventElapsedTime(&milliseconds, SOME(event), SOME(event));
  case 7: return cuModuleLoadData(&module[slot()], host);
  case 8: return cuModuleUnload(SOME(module));
  case 9: return cuModuleGetFunction(&function[slot()], SOME(module), below(2) ? "one" : "two");
  case 10: return cuModuleGetGlobal(&pointer[slot()], 0, SOME(module), below(2) ? "one" : "two");
  default: return below(2) ? cuCtxSynchronize() : cuStreamWaitEvent(SOME(stream), SOME(event), 0);
  }
}

static CUresult on_contents(void) {
  unsigned long long value[2]; /* of the largest attribute */
  CUdeviceptr base;
  size_t bytes = below(sizeof host);
  switch (below(8)) {
  case 0: return cuMemcpyHtoD(some_address(), host, bytes);
  case 1: return cuMemcpyDtoH(host, some_address(), bytes);
  case 2: return cuMemcpyDtoD(some_address(), some_address(), some_size());
  case 3: return cuMemsetD8(some_address(), (unsigned char)below(2), some_size());
  case 4: return cuMemsetD32(some_address(), (unsigned)below(2), some_size());
  case 5: return cuPointerGetAttribute(value, (CUpointer_attribute)below(22), some_address());
  case 6: return cuMemGetAddressRange(&base, &bytes, some_address());
  default: return cuStreamWriteValue32(SOME(stream), some_address(), 7, 0);
  }
}

static CUresult on_nvml(void) {
  nvmlDevice_t device = 0;
  nvmlMemory_t memory;
  nvmlProcessInfo_t process[3];
  unsigned count = (unsigned)below(4);
  if (nvmlInit_v2() || nvmlDeviceGetHandleByIndex_v2((unsigned)below(3), &device)) return CUDA_SUCCESS;
  OK(nvmlDeviceGetMemoryInfo(device, &memory));
  HOLDS(memory.used <= memory.total);
  nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process);
  return CUDA_SUCCESS;
}

static void run_monkey(unsigned long long seed, int steps) {
  static CUresult (*const subject[])(void) = {on_contexts, on_memory,   on_memory, on_pools, on_virtual_memory,
                                              on_streams,  on_contents, on_nvml,   on_memory};
  int answered = 0, granted = 0;
  printf("seed %llu\n", seed);
  state = seed;
  for (int i = 0; i < steps; i++) {
    size_t which = below(sizeof subject / sizeof *subject);
    if (together && subject[which] == on_contents) continue;
    CUresult rc = subject[which]();
    const char *name = 0;
    OK(cuGetErrorName(rc, &name)); /* every answer is one that CUDA knows */
    answered++, granted += rc == CUDA_SUCCESS;
    HOLDS(rc != CUDA_ERROR_UNKNOWN);
  }
  HOLDS(granted > answered / 10);
}

static void one_monkey(unsigned long long seed) {
  start_on(0);
  start_on(1);
  run_monkey(seed, 5000);
}

CASE(seed_1, "DEVICES=2x64MiB CONTEXT=1MiB") { one_monkey(1); }
CASE(seed_2, "DEVICES=2x64MiB CONTEXT=1MiB") { one_monkey(2); }
CASE(exact_seed_3, "DEVICES=2x64MiB GRANULARITY=1") { one_monkey(3); }
CASE(few_abilities_seed_4, "DEVICES=2x64MiB POOLS=no,yes VMM=yes,no MANAGED=no") { one_monkey(4); }
CASE(odd_granularity_seed_5, "DEVICES=2x65MiB GRANULARITY=3MiB") { one_monkey(5); }

static CUcontext shared;
static void *in_a_thread(void *seed) {
  OK(cuCtxSetCurrent(shared));
  run_monkey((unsigned long long)(size_t)seed, 1500);
  return 0;
}

// Four at once.
CASE(four_from_seed_6, "DEVICES=2x64MiB CONTEXT=1MiB") {
  pthread_t thread[4];
  together = 1;
  shared = start();
  for (size_t i = 0; i < 4; i++) IS(pthread_create(&thread[i], 0, in_a_thread, (void *)(i + 6)), 0);
  for (size_t i = 0; i < 4; i++) IS(pthread_join(thread[i], 0), 0);
}
