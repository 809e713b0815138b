/* A device is full exactly at its total, and cuMemGetInfo tells what is left to the byte. */
#include "device.h"

// All of the memory can be had in one piece, and then not one byte more; after a free it fits again.
CASE(exactly_at_the_total, "DEVICES=64MiB GRANULARITY=1") {
  start();
  IS(total_bytes(), 64 * MIB);
  IS(free_bytes(), 64 * MIB);
  CUdeviceptr all = allocated(64 * MIB);
  IS(free_bytes(), 0);
  refused(1);
  OK(cuMemFree(all));
  IS(free_bytes(), 64 * MIB);
  OK(cuMemFree(allocated(64 * MIB)));
}

// One byte more than there is does not fit, and charges nothing.
CASE(one_byte_too_many, "DEVICES=64MiB GRANULARITY=1") {
  start();
  refused(64 * MIB + 1);
  IS(free_bytes(), 64 * MIB);
}

// Without rounding each byte counts.
CASE(byte_by_byte, "DEVICES=1MiB GRANULARITY=1") {
  start();
  CUdeviceptr most = allocated(MIB - 3), one = allocated(1), two = allocated(2);
  IS(free_bytes(), 0);
  refused(1);
  OK(cuMemFree(one));
  IS(free_bytes(), 1);
  refused(2);
  one = allocated(1);
  OK(cuMemFree(most));
  OK(cuMemFree(one));
  OK(cuMemFree(two));
  IS(free_bytes(), MIB);
}

// With the usual granularity the total is reached just as exactly, in whole pieces.
CASE(exactly_in_pieces, "DEVICES=64MiB") {
  CUdeviceptr piece[32];
  start();
  for (int i = 0; i < 32; i++) {
    IS(free_bytes(), (size_t)(32 - i) * 2 * MIB);
    piece[i] = allocated(2 * MIB);
  }
  refused(1);
  refused(2 * MIB);
  OK(cuMemFree(piece[7]));
  IS(free_bytes(), 2 * MIB);
  refused(2 * MIB + 1);
  piece[7] = allocated(2 * MIB - 1);
  IS(free_bytes(), 0);
  for (int i = 0; i < 32; i++) OK(cuMemFree(piece[i]));
  IS(free_bytes(), 64 * MIB);
}

// A total that is no multiple of the granularity leaves a rest that no piece fits into.
CASE(rest_below_a_piece, "DEVICES=5MiB") {
  start();
  CUdeviceptr four = allocated(4 * MIB);
  IS(free_bytes(), MIB);
  refused(MIB);
  refused(1);
  OK(cuMemFree(four));
}

// Contexts are counted.
CASE(contexts_are_counted, "DEVICES=64MiB CONTEXT=10MiB GRANULARITY=1") {
  start();
  IS(total_bytes(), 64 * MIB);
  IS(free_bytes(), 54 * MIB);
  refused(54 * MIB + 1);
  CUdeviceptr all = allocated(54 * MIB);
  IS(free_bytes(), 0);
  OK(cuMemFree(all));
}

// A context that does not fit is not made.
CASE(no_room_for_a_context, "DEVICES=8MiB CONTEXT=10MiB") {
  CUcontext context = 0;
  unsigned flags = 0;
  int active = -1;
  OK(cuInit(0));
  IS(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  IS(active, 0);
  IS(cuCtxCreate(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuCtxGetCurrent(&context));
  IS((size_t)context, 0);
}

// Each device has memory of its own.
CASE(devices_are_apart, "DEVICES=8MiB,64MiB GRANULARITY=1") {
  CUcontext first = start_on(0), second = start_on(1);
  IS(total_bytes(), 64 * MIB);
  CUdeviceptr all = allocated(64 * MIB);
  OK(cuCtxSetCurrent(first));
  IS(free_bytes(), 8 * MIB);
  CUdeviceptr small = allocated(8 * MIB);
  refused(1);
  /* An address is valid in every context of the process. */
  OK(cuMemFree(all));
  OK(cuCtxSetCurrent(second));
  IS(free_bytes(), 64 * MIB);
  OK(cuMemFree(small));
}

// Managed memory, pitched memory, pools and physical memory all come from the same total.
CASE(every_kind_counts, "DEVICES=64MiB") {
  CUdeviceptr managed, pitched, pooled;
  CUmemGenericAllocationHandle physical;
  CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  size_t pitch = 0;
  start();
  OK(cuMemAllocManaged(&managed, 10 * MIB, CU_MEM_ATTACH_GLOBAL));
  IS(free_bytes(), 54 * MIB);
  OK(cuMemAllocPitch(&pitched, &pitch, 1024, 10 * KIB, 4));
  IS(pitch, 1024);
  IS(free_bytes(), 44 * MIB);
  OK(cuMemAllocAsync(&pooled, 10 * MIB, 0));
  OK(cuMemCreate(&physical, 34 * MIB, &property, 0));
  IS(free_bytes(), 0);
  refused(1);
  IS(cuMemAllocManaged(&managed, 1, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
  IS(cuMemAllocPitch(&pitched, &pitch, 1, 1, 4), CUDA_ERROR_OUT_OF_MEMORY);
  IS(cuMemAllocAsync(&pooled, 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
  IS(cuMemCreate(&physical, 2 * MIB, &property, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

// Sizes that no device has are refused, whatever rounding does to them.
CASE(absurd_sizes, "DEVICES=64MiB") {
  CUdeviceptr pointer;
  size_t pitch;
  start();
  refused((size_t)-1);
  refused((size_t)-1 - 2 * MIB);
  refused((size_t)1 << 63);
  HOLDS(cuMemAllocManaged(&pointer, (size_t)-1, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS);
  HOLDS(cuMemAllocAsync(&pointer, (size_t)-1, 0) != CUDA_SUCCESS);
  HOLDS(cuMemAllocAsync(&pointer, (size_t)-4096, 0) != CUDA_SUCCESS);
  /* Width times height is 2^64 and a little: it must not be taken for the little. */
  HOLDS(cuMemAllocPitch(&pointer, &pitch, (size_t)1 << 40, ((size_t)1 << 24) + 1, 4) != CUDA_SUCCESS);
  HOLDS(cuMemAllocPitch(&pointer, &pitch, (size_t)-1, 2, 4) != CUDA_SUCCESS);
  IS(used_bytes(), 0);
}

// Arguments that make no sense are told apart from a lack of memory.
CASE(invalid_arguments, "DEVICES=64MiB") {
  CUdeviceptr pointer;
  size_t pitch;
  start();
  IS(cuMemAlloc(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAlloc(0, MIB), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAllocManaged(&pointer, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAllocManaged(&pointer, MIB, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAllocPitch(&pointer, &pitch, 0, 1, 4), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAllocPitch(&pointer, &pitch, 1, 0, 4), CUDA_ERROR_INVALID_VALUE);
  IS(used_bytes(), 0);
}

// What is freed twice, or was never given out, is refused and changes nothing.
CASE(wrong_frees, "DEVICES=64MiB") {
  char host[16];
  start();
  CUdeviceptr kept = allocated(4 * MIB), gone = allocated(4 * MIB);
  OK(cuMemFree(gone));
  IS(cuMemFree(gone), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemFree(kept + 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemFree(kept + 4 * MIB), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemFree((CUdeviceptr)(size_t)host), CUDA_ERROR_INVALID_VALUE);
  IS(used_bytes(), 4 * MIB);
  OK(cuMemFree(kept));
  IS(used_bytes(), 0);
}

// Without cuInit, and without a context, there is nothing to allocate from.
CASE(before_the_start, "DEVICES=64MiB") {
  CUdeviceptr pointer;
  size_t left, total;
  CUcontext context;
  int count;
  IS(cuMemAlloc(&pointer, MIB), CUDA_ERROR_NOT_INITIALIZED);
  IS(cuMemGetInfo(&left, &total), CUDA_ERROR_NOT_INITIALIZED);
  IS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  IS(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
  IS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  OK(cuInit(0));
  IS(cuMemAlloc(&pointer, MIB), CUDA_ERROR_INVALID_CONTEXT);
  IS(cuMemGetInfo(&left, &total), CUDA_ERROR_INVALID_CONTEXT);
  IS(cuDevicePrimaryCtxRetain(&context, 1), CUDA_ERROR_INVALID_DEVICE);
  IS(cuDevicePrimaryCtxRetain(&context, -1), CUDA_ERROR_INVALID_DEVICE);
}

// Where the host has no addresses left for what a device would grant, the request is refused and charges nothing.
CASE(host_without_room, "DEVICES=1024TiB") {
  CUdeviceptr pointer;
  void *host;
  size_t far = (size_t)1 << 48; /* more than a process has */
  start();
  refused(far);
  IS(cuMemAllocAsync(&pointer, far, 0), CUDA_ERROR_OUT_OF_MEMORY);
  IS(cuMemAllocManaged(&pointer, far, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
  IS(cuMemHostAlloc(&host, far, 0), CUDA_ERROR_OUT_OF_MEMORY);
  IS(cuMemAddressReserve(&pointer, far, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  IS(used_bytes(), 0);
  OK(cuMemFree(allocated(MIB)));
  IS(used_bytes(), 0);
}
