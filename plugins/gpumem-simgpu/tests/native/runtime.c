/* The CUDA runtime above the driver; built against the headers of CUDA 12 and of CUDA 13. */
#include "check.h"
#include <cuda_runtime_api.h>

static size_t free_bytes(void) {
  size_t left = 0, total = 0;
  OK(cudaMemGetInfo(&left, &total));
  return left;
}

// The first call that needs it makes the context, on the device that was chosen.
CASE(starts_by_itself, "DEVICES=64MiB,32MiB CONTEXT=1MiB") {
  void *pointer = 0;
  int count = 0, device = 9, version = 0;
  OK(cudaGetDeviceCount(&count));
  IS(count, 2);
  OK(cudaRuntimeGetVersion(&version));
  IS(version / 1000, CUDART_VERSION / 1000);
  OK(cudaSetDevice(1));
  OK(cudaGetDevice(&device));
  IS(device, 1);
  OK(cudaMalloc(&pointer, 30 * MIB));
  IS(free_bytes(), MIB);
}

// An error is remembered until somebody asks for it, in the thread where it happened.
static void *has_no_error(void *argument) {
  (void)argument;
  OK(cudaGetLastError());
  return 0;
}
CASE(last_error, "DEVICES=64MiB") {
  void *pointer = (void *)1;
  IS(cudaMalloc(&pointer, GIB), cudaErrorMemoryAllocation);
  in_thread(has_no_error, 0);
  IS(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  IS(cudaGetLastError(), cudaErrorMemoryAllocation);
  OK(cudaGetLastError());
  OK(cudaMalloc(&pointer, MIB));
  SAYS(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  SAYS(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  IS(cudaSetDevice(7), cudaErrorInvalidDevice);
}

// Nothing asked for is nothing given, and freeing nothing is no error.
CASE(nothing, "DEVICES=64MiB") {
  void *pointer = (void *)1;
  OK(cudaMalloc(&pointer, 0));
  HOLDS(pointer == 0);
  OK(cudaFree(0));
  OK(cudaFreeHost(0));
  IS(free_bytes(), 64 * MIB);
}

// Plain, managed, pitched, pooled and host memory go through and come back.
CASE(every_kind, "DEVICES=64MiB") {
  void *plain, *managed, *pitched, *pooled, *host, *locked;
  size_t pitch;
  struct cudaPointerAttributes about;
  OK(cudaMalloc(&plain, 2 * MIB));
  OK(cudaMallocManaged(&managed, 2 * MIB, cudaMemAttachGlobal));
  OK(cudaMallocPitch(&pitched, &pitch, 1000, 2048));
  IS(pitch, 1024);
  OK(cudaMallocAsync(&pooled, 2 * MIB, 0));
  OK(cudaMallocHost(&host, MIB));
  OK(cudaHostAlloc(&locked, MIB, cudaHostAllocPortable));
  IS(free_bytes(), 56 * MIB);
  OK(cudaPointerGetAttributes(&about, plain));
  IS(about.type, cudaMemoryTypeDevice);
  OK(cudaPointerGetAttributes(&about, managed));
  IS(about.type, cudaMemoryTypeManaged);
  OK(cudaPointerGetAttributes(&about, host));
  IS(about.type, cudaMemoryTypeHost);
  OK(cudaPointerGetAttributes(&about, &about));
  IS(about.type, cudaMemoryTypeUnregistered);
  OK(cudaFree(plain));
  OK(cudaFree(managed));
  OK(cudaFree(pitched));
  OK(cudaFreeAsync(pooled, 0));
  OK(cudaDeviceSynchronize());
  OK(cudaFreeHost(host));
  OK(cudaFreeHost(locked));
  IS(free_bytes(), 64 * MIB);
  IS(cudaFree(plain), cudaErrorInvalidValue);
}

// Copies and fills do what they say.
CASE(copies, "DEVICES=64MiB") {
  unsigned char out[1000], back[1000];
  void *device;
  OK(cudaMalloc(&device, 1000));
  for (int i = 0; i < 1000; i++) out[i] = (unsigned char)i;
  OK(cudaMemcpy(device, out, 1000, cudaMemcpyHostToDevice));
  OK(cudaMemset((char *)device + 10, 7, 10));
  OK(cudaMemcpyAsync(back, device, 1000, cudaMemcpyDeviceToHost, 0));
  IS(back[9], 9);
  IS(back[10], 7);
  IS(back[20], 20);
  OK(cudaMemsetAsync(device, 0, 1000, 0));
  OK(cudaMemcpy(back, device, 1000, cudaMemcpyDefault));
  IS(back[999], 0);
  OK(cudaMemcpy2D(back, 100, out, 50, 20, 3, cudaMemcpyHostToHost));
  IS(back[200], (unsigned char)100);
}

// A reset gives everything back; the next call starts anew.
CASE(reset, "DEVICES=64MiB CONTEXT=1MiB") {
  void *pointer;
  OK(cudaMalloc(&pointer, 20 * MIB));
  IS(free_bytes(), 43 * MIB);
  OK(cudaDeviceReset());
  IS(free_bytes(), 63 * MIB);
  IS(cudaFree(pointer), cudaErrorInvalidValue);
  OK(cudaMalloc(&pointer, 62 * MIB));
}

// Pools of the runtime are the driver's.
CASE(pools, "DEVICES=64MiB") {
  cudaMemPool_t pool = 0, current = 0;
  struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                        .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
  unsigned long long keep = ~0ull, value = 0;
  void *pointer;
  OK(cudaMemPoolCreate(&pool, &properties));
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  OK(cudaDeviceSetMemPool(0, pool));
  OK(cudaDeviceGetMemPool(&current, 0));
  HOLDS(current == pool);
  OK(cudaMallocAsync(&pointer, 4 * MIB, 0));
  OK(cudaFreeAsync(pointer, 0));
  OK(cudaStreamSynchronize(0));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
  IS(value, 4 * MIB);
  OK(cudaMallocFromPoolAsync(&pointer, 4 * MIB, pool, 0));
  OK(cudaFreeAsync(pointer, 0));
  OK(cudaMemPoolTrimTo(pool, 0));
  IS(free_bytes(), 64 * MIB);
  OK(cudaMemPoolDestroy(pool));
}

// Properties are the machine's.
CASE(properties, "DEVICES=64MiB NAMES=some_card CC=9.0 SMS=132 MANAGED=no POOLS=no") {
  struct cudaDeviceProp about;
  int value = 9;
  OK(cudaGetDeviceProperties(&about, 0));
  SAYS(about.name, "some_card");
  IS(about.totalGlobalMem, 64 * MIB);
  IS(about.major * 10 + about.minor, 90);
  IS(about.multiProcessorCount, 132);
  IS(about.managedMemory, 0);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
  IS(value, 0);
  IS(cudaGetDeviceProperties(&about, 3), cudaErrorInvalidDevice);
  void *pointer;
  IS(cudaMallocAsync(&pointer, MIB, 0), cudaErrorNotSupported);
}

// No devices are an answer, not a failure to count.
CASE(no_devices, "DEVICES=64MiB CUDA_VISIBLE_DEVICES=-1") {
  int count = 9;
  void *pointer;
  IS(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  IS(count, 0);
  IS(cudaMalloc(&pointer, MIB), cudaErrorNoDevice);
}

static void *allocates_on_its_device(void *argument) {
  void *pointer;
  OK(cudaSetDevice((int)(size_t)argument % 2));
  for (int i = 0; i < 50; i++) {
    OK(cudaMalloc(&pointer, MIB));
    OK(cudaFree(pointer));
  }
  return 0;
}

// Threads choose their devices for themselves and start them together.
CASE(threads, "DEVICES=2x64MiB CONTEXT=1MiB") {
  pthread_t thread[8];
  for (size_t i = 0; i < 8; i++) IS(pthread_create(&thread[i], 0, allocates_on_its_device, (void *)i), 0);
  for (size_t i = 0; i < 8; i++) IS(pthread_join(thread[i], 0), 0);
  for (int i = 0; i < 2; i++) {
    OK(cudaSetDevice(i));
    IS(free_bytes(), 63 * MIB);
  }
}

// A forked child of a process that had started CUDA is refused.
CASE(forked_child, "DEVICES=64MiB") {
  void *pointer;
  OK(cudaMalloc(&pointer, MIB));
  pid_t child = fork_child();
  if (!child) {
    IS(cudaMalloc(&pointer, MIB), cudaErrorInitializationError);
    exit(0);
  }
  IS(ended_with(child), 0);
}
