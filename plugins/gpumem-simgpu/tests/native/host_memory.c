/* Page-locked host memory, registered memory, and questions about pointers. */
#include "device.h"
#include <sys/mman.h>

// Page-locked memory is the host's: it takes nothing from a device.
CASE(page_locked, "DEVICES=64MiB") {
  void *host = 0;
  CUdeviceptr seen = 0;
  unsigned flags = 0;
  start();
  OK(cuMemHostAlloc(&host, 8 * MIB, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  IS(used_bytes(), 0);
  memset(host, 5, 8 * MIB);
  OK(cuMemHostGetDevicePointer(&seen, host, 0));
  HOLDS(seen == (CUdeviceptr)(size_t)host);
  OK(cuMemHostGetFlags(&flags, host));
  HOLDS(flags & CU_MEMHOSTALLOC_PORTABLE);
  IS(cuMemFree((CUdeviceptr)(size_t)host), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemFreeHost((char *)host + 1), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemFreeHost(host));
  IS(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemAllocHost(&host, 1));
  OK(cuMemFreeHost(host));
  IS(cuMemHostAlloc(&host, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemHostAlloc(&host, 1, 1u << 30), CUDA_ERROR_INVALID_VALUE);
}

// Memory is registered once, and unregistered where it begins.
CASE(registered, "DEVICES=64MiB") {
  start();
  char *memory = malloc(64 * KIB);
  OK(cuMemHostRegister(memory, 64 * KIB, 0));
  IS(cuMemHostRegister(memory, 64 * KIB, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  IS(cuMemHostRegister(memory + 100, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  HOLDS(cuMemHostUnregister(memory + 100) != CUDA_SUCCESS);
  OK(cuMemHostUnregister(memory));
  IS(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  IS(cuMemHostRegister(0, 10, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemHostRegister(memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
  free(memory);
  IS(used_bytes(), 0);
}

// Memory that was given back to the host while registered is in nobody's way.
CASE(registered_and_forgotten, "DEVICES=64MiB") {
  CUdeviceptr device[16];
  start();
  void *memory = mmap(0, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OK(cuMemHostRegister(memory, 8 * MIB, 0));
  IS(munmap(memory, 8 * MIB), 0);
  for (int i = 0; i < 16; i++) { /* some of them where the registered memory was */
    device[i] = allocated(MIB);
    OK(cuMemsetD8(device[i], 1, MIB));
  }
  for (int i = 0; i < 16; i++) OK(cuMemFree(device[i]));
  IS(used_bytes(), 0);
}

static unsigned long long answer(CUpointer_attribute what, CUdeviceptr pointer) {
  unsigned long long value = 0;
  OK(cuPointerGetAttribute(&value, what, pointer));
  return value;
}

// A pointer knows its kind, device, range and pool.
CASE(questions_about_pointers, "DEVICES=2x64MiB") {
  CUmemoryPool pool;
  CUdeviceptr pooled, managed;
  void *host;
  CUcontext first = start_on(0), second = start_on(1);
  CUdeviceptr plain = allocated(4 * MIB);
  OK(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAllocAsync(&pooled, MIB, 0));
  OK(cuMemHostAlloc(&host, MIB, 0));
  OK(cuDeviceGetDefaultMemPool(&pool, 1));
  OK(cuCtxSetCurrent(first));
  IS(answer(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain + 100), CU_MEMORYTYPE_DEVICE);
  IS(answer(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, plain), 1);
  HOLDS(answer(CU_POINTER_ATTRIBUTE_CONTEXT, plain) == (unsigned long long)(size_t)second);
  IS(answer(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, plain + 4 * MIB - 1), plain);
  IS(answer(CU_POINTER_ATTRIBUTE_RANGE_SIZE, plain + 1), 4 * MIB);
  IS(answer(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, plain + 7), plain + 7);
  IS(answer(CU_POINTER_ATTRIBUTE_IS_MANAGED, plain), 0);
  IS(answer(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), 1);
  HOLDS(answer(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled) == (unsigned long long)(size_t)pool);
  IS(answer(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, plain), 0);
  IS(answer(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(size_t)host), CU_MEMORYTYPE_HOST);
  HOLDS(answer(CU_POINTER_ATTRIBUTE_BUFFER_ID, plain) != answer(CU_POINTER_ATTRIBUTE_BUFFER_ID, managed));
}

// Host memory has an address on the host, managed memory too; device memory has none.
CASE(addresses_on_the_host, "DEVICES=64MiB") {
  CUdeviceptr managed;
  void *host;
  unsigned on = 1;
  unsigned long long value;
  start();
  CUdeviceptr plain = allocated(MIB);
  OK(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemHostAlloc(&host, MIB, 0));
  IS(answer(CU_POINTER_ATTRIBUTE_HOST_POINTER, managed + 5), managed + 5);
  IS(answer(CU_POINTER_ATTRIBUTE_HOST_POINTER, (CUdeviceptr)(size_t)host), (CUdeviceptr)(size_t)host);
  IS(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_HOST_POINTER, plain), CUDA_ERROR_INVALID_VALUE);
  IS(answer(CU_POINTER_ATTRIBUTE_MAPPED, plain), 1);
  OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
  IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 64), CUDA_ERROR_INVALID_VALUE);
  IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_IS_MANAGED, plain), CUDA_ERROR_INVALID_VALUE);
  HOLDS(cuPointerGetAttribute(&value, (CUpointer_attribute)9999, plain) != CUDA_SUCCESS);
}

// What CUDA does not know is an error when asked for one by one, and zeros when asked for together.
CASE(unknown_pointers, "DEVICES=64MiB") {
  char host[16];
  unsigned type = 9, managed = 9;
  CUdeviceptr base;
  size_t bytes;
  unsigned long long value[2];
  start();
  CUdeviceptr here = (CUdeviceptr)(size_t)host;
  IS(cuPointerGetAttribute(value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, here), CUDA_ERROR_INVALID_VALUE);
  IS(cuPointerGetAttribute(0, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, here), CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void *out[] = {&type, &managed};
  OK(cuPointerGetAttributes(2, what, out, here));
  IS(type, 0);
  IS(managed, 0);
  HOLDS(cuMemGetAddressRange(&base, &bytes, here) != CUDA_SUCCESS);
  IS(cuMemHostGetDevicePointer(&base, host, 0), CUDA_ERROR_INVALID_VALUE);
}

// The range of an allocation is found from any address in it.
CASE(address_range, "DEVICES=64MiB") {
  CUdeviceptr base = 0;
  size_t bytes = 0;
  start();
  CUdeviceptr memory = allocated(1000);
  OK(cuMemGetAddressRange(&base, &bytes, memory + 999));
  HOLDS(base == memory);
  IS(bytes, 1000);
  HOLDS(cuMemGetAddressRange(&base, &bytes, memory + 1000) != CUDA_SUCCESS);
  OK(cuMemGetAddressRange(0, &bytes, memory));
  OK(cuMemGetAddressRange(&base, 0, memory));
}

// Managed memory takes advice where it is managed memory, and is refused by a device that has none.
CASE(managed_memory, "DEVICES=2x64MiB MANAGED=yes,no") {
  CUdeviceptr memory;
  start();
  IS(attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0), 1);
  IS(attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0), 1);
  OK(cuMemAllocManaged(&memory, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
  memset((void *)memory, 1, 4 * MIB);
  OK(cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
  OK(cuMemPrefetchAsync(memory, MIB, 0, 0));
  IS(cuMemAdvise(allocated(MIB), MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
  start_on(1);
  IS(attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1), 0);
  IS(cuMemAllocManaged(&memory, MIB, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_NOT_SUPPORTED);
  IS(used_bytes(), 0);
}
