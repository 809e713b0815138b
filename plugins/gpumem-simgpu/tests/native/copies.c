/* Copies and fills, on memory that the host commits only when it is written to. */
#include "device.h"

static long resident_kib(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  HOLDS(file != 0);
  IS(fscanf(file, "%*s %ld", &pages), 1);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// What is copied to a device comes back, by every way there is.
CASE(there_and_back, "DEVICES=64MiB") {
  enum { N = 100000 };
  static unsigned char out[N], back[N];
  CUcontext context = start();
  CUdeviceptr one = allocated(N), two = allocated(N);
  for (int i = 0; i < N; i++) out[i] = (unsigned char)(i * 31);
  OK(cuMemcpyHtoD(one, out, N));
  OK(cuMemcpyDtoD(two, one, N));
  OK(cuMemcpyDtoH(back, two, N));
  IS(memcmp(out, back, N), 0);
  memset(back, 0, N);
  OK(cuMemsetD8(two, 0, N));
  OK(cuMemcpyHtoDAsync(one, out, N, 0));
  OK(cuMemcpyDtoDAsync(two, one, N, 0));
  OK(cuMemcpyDtoHAsync(back, two, N, 0));
  IS(memcmp(out, back, N), 0);
  memset(back, 0, N);
  OK(cuMemcpy((CUdeviceptr)(size_t)back, one, N));
  IS(memcmp(out, back, N), 0);
  OK(cuMemcpyPeer(two, context, one, context, N));
  OK(cuMemcpyAsync(two, one, N, 0));
}

// Fills of all widths, also at odd places, change what they should and nothing beside it.
CASE(fills, "DEVICES=64MiB") {
  enum { N = 4096 };
  unsigned char back[N];
  start();
  CUdeviceptr memory = allocated(N);
  OK(cuMemsetD8(memory, 0xaa, N));
  OK(cuMemsetD8(memory + 3, 0x11, 5));
  OK(cuMemsetD16(memory + 10, 0x2233, 3));
  OK(cuMemsetD32(memory + 20, 0x44556677, 2));
  OK(cuMemcpyDtoH(back, memory, N));
  IS(back[2], 0xaa);
  IS(back[3], 0x11);
  IS(back[7], 0x11);
  IS(back[8], 0xaa);
  IS(back[10], 0x33);
  IS(back[11], 0x22);
  IS(back[16], 0xaa);
  IS(back[20], 0x77);
  IS(back[27], 0x44);
  IS(back[28], 0xaa);
  IS(cuMemsetD16(memory + 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemsetD32(memory + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
}

// A large fill with zeros reaches every byte and none beyond.
CASE(large_zero_fill, "DEVICES=64MiB") {
  unsigned char edge[3];
  start();
  CUdeviceptr memory = allocated(8 * MIB);
  OK(cuMemsetD8(memory, 0xff, 8 * MIB));
  OK(cuMemsetD8(memory + 1, 0, 8 * MIB - 2));
  OK(cuMemcpyDtoH(edge, memory, 3));
  IS(edge[0], 0xff);
  IS(edge[1], 0);
  OK(cuMemcpyDtoH(edge, memory + 8 * MIB - 3, 3));
  IS(edge[1], 0);
  IS(edge[2], 0xff);
  unsigned char *all = malloc(8 * MIB);
  OK(cuMemcpyDtoH(all, memory, 8 * MIB));
  for (size_t i = 1; i < 8 * MIB - 1; i++)
    if (all[i]) IS(all[i], 0);
  free(all);
}

// A device larger than the host costs nothing until somebody writes, and zeroing it costs nothing either.
CASE(memory_is_lazy, "DEVICES=48GiB") {
  start();
  CUdeviceptr memory = allocated(48 * GIB);
  long before = resident_kib();
  OK(cuMemsetD8(memory, 0, 40 * GIB));
  OK(cuMemsetD8(memory + 44 * GIB, 1, MIB));
  HOLDS(resident_kib() - before < 64 * 1024);
  OK(cuMemFree(memory));
}

// Copies that touch anything but living memory of a device are refused.
CASE(out_of_bounds, "DEVICES=64MiB") {
  char host[64];
  start();
  CUdeviceptr memory = allocated(4096), gone = allocated(4096);
  OK(cuMemFree(gone));
  IS(cuMemcpyHtoD(gone, host, 64), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemcpyDtoH(host, gone, 64), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemsetD8(gone, 0, 64), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemsetD8(memory, 0, 4097), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemsetD32(memory, 0, (size_t)1 << 62), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemsetD8(memory, 0, (size_t)-1), CUDA_ERROR_INVALID_VALUE); /* the end is before the beginning */
  IS(cuMemsetD8(memory + 64, 1, (size_t)-64), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemcpyDtoD(memory, memory, (size_t)-1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemcpyHtoD(memory + 4096 - 8, host, 64), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemcpyHtoD(0, host, 64), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemcpyHtoD(memory, 0, 64), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemcpyHtoD(memory, host, 0));
}

// Rectangles are copied row by row.
CASE(rectangles, "DEVICES=64MiB") {
  unsigned char host[8 * 16], back[8 * 16];
  size_t pitch;
  CUdeviceptr memory;
  start();
  OK(cuMemAllocPitch(&memory, &pitch, 16, 8, 4));
  for (int i = 0; i < 128; i++) host[i] = (unsigned char)i;
  CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = host,
                        .srcPitch = 16,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = memory,
                        .dstPitch = pitch,
                        .WidthInBytes = 16,
                        .Height = 8};
  OK(cuMemcpy2D(&down));
  CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                      .srcDevice = memory,
                      .srcPitch = pitch,
                      .srcXInBytes = 4,
                      .srcY = 2,
                      .dstMemoryType = CU_MEMORYTYPE_HOST,
                      .dstHost = back,
                      .dstPitch = 16,
                      .WidthInBytes = 8,
                      .Height = 3};
  OK(cuMemcpy2DAsync(&up, 0));
  IS(back[0], 2 * 16 + 4);
  IS(back[2 * 16 + 7], 4 * 16 + 11);
  IS(cuMemcpy2D(0), CUDA_ERROR_INVALID_VALUE);
}

// Fills in a stream are fills; arrays are not simulated.
CASE(in_a_stream, "DEVICES=64MiB") {
  unsigned char back[16];
  CUcontext context = start();
  CUdeviceptr memory = allocated(64);
  OK(cuMemsetD8Async(memory, 1, 16, 0));
  OK(cuMemsetD16Async(memory, 0x0203, 2, 0));
  OK(cuMemsetD32Async(memory + 8, 0x04050607, 1, 0));
  OK(cuMemcpyPeerAsync(memory + 32, context, memory, context, 16, 0));
  OK(cuMemcpyDtoH(back, memory + 32, 16));
  IS(back[0], 3);
  IS(back[3], 2);
  IS(back[4], 1);
  IS(back[11], 4);
  CUDA_MEMCPY2D arrays = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .WidthInBytes = 1,
                          .Height = 1};
  IS(cuMemcpy2D(&arrays), CUDA_ERROR_NOT_SUPPORTED);
  IS(cuMemcpy2DUnaligned(&arrays), CUDA_ERROR_NOT_SUPPORTED);
}
