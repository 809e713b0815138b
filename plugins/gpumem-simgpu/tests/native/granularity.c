/* The model of the driver's rounding: what is above half a granularity is rounded up to it, what is not is
 * packed into shared pieces. */
#include "device.h"

// Above half a granularity a request is charged in whole ones.
CASE(rounded_up, "DEVICES=64MiB") {
  static const size_t asked[] = {MIB + 1, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 3 * MIB, 4 * MIB, 5 * MIB};
  static const size_t charged[] = {2, 2, 2, 4, 4, 4, 6};
  start();
  for (int i = 0; i < 7; i++) {
    CUdeviceptr pointer = allocated(asked[i]);
    IS(used_bytes(), charged[i] * MIB);
    OK(cuMemFree(pointer));
    IS(used_bytes(), 0);
  }
}

// Up to half a granularity requests share a piece, which is given back with the last of them.
CASE(packed, "DEVICES=64MiB") {
  CUdeviceptr pointer[1000];
  start();
  for (int i = 0; i < 1000; i++) {
    pointer[i] = allocated(1 + (size_t)i % 512);
    IS(used_bytes(), 2 * MIB);
  }
  for (int i = 0; i < 1000; i++) {
    IS(used_bytes(), 2 * MIB);
    OK(cuMemFree(pointer[i]));
  }
  IS(used_bytes(), 0);
}

// Two halves fill a piece; the third opens another.
CASE(halves, "DEVICES=64MiB") {
  start();
  CUdeviceptr first = allocated(MIB), second = allocated(MIB);
  IS(used_bytes(), 2 * MIB);
  CUdeviceptr third = allocated(MIB);
  IS(used_bytes(), 4 * MIB);
  OK(cuMemFree(third));
  IS(used_bytes(), 2 * MIB);
  OK(cuMemFree(first));
  OK(cuMemFree(second));
  IS(used_bytes(), 0);
}

// Room that a free leaves in a piece is used again.
CASE(room_in_a_piece, "DEVICES=64MiB") {
  start();
  CUdeviceptr first = allocated(MIB), second = allocated(MIB);
  for (int i = 0; i < 100; i++) {
    OK(cuMemFree(i % 2 ? first : second));
    *(i % 2 ? &first : &second) = allocated(MIB);
    IS(used_bytes(), 2 * MIB);
  }
  OK(cuMemFree(first));
  OK(cuMemFree(second));
  IS(used_bytes(), 0);
}

// A full device still has the room that its open pieces have.
CASE(packed_when_full, "DEVICES=8MiB") {
  start();
  CUdeviceptr small = allocated(KIB), large = allocated(6 * MIB);
  IS(free_bytes(), 0);
  CUdeviceptr another = allocated(KIB);
  refused(MIB + 1);
  OK(cuMemFree(small));
  OK(cuMemFree(another));
  IS(free_bytes(), 2 * MIB);
  OK(cuMemFree(large));
}

// Every device has pieces of its own.
CASE(pieces_of_two_devices, "DEVICES=2x64MiB") {
  CUcontext first = start_on(0), second = start_on(1);
  CUdeviceptr there = allocated(KIB);
  IS(used_bytes(), 2 * MIB);
  OK(cuCtxSetCurrent(first));
  IS(used_bytes(), 0);
  CUdeviceptr here = allocated(KIB);
  IS(used_bytes(), 2 * MIB);
  OK(cuMemFree(there));
  IS(used_bytes(), 2 * MIB);
  OK(cuMemFree(here));
  OK(cuCtxSetCurrent(second));
  IS(used_bytes(), 0);
}

// Other granularities are obeyed in the same way.
CASE(of_64_kib, "DEVICES=1MiB GRANULARITY=64KiB") {
  start();
  CUdeviceptr one = allocated(32 * KIB + 1), half = allocated(32 * KIB), two = allocated(64 * KIB + 1);
  IS(used_bytes(), (64 + 64 + 128) * KIB);
  OK(cuMemFree(one));
  OK(cuMemFree(two));
  IS(used_bytes(), 64 * KIB);
  OK(cuMemFree(half));
  IS(used_bytes(), 0);
}

// Granularity 1 charges what was asked for.
CASE(exact, "DEVICES=64MiB GRANULARITY=1") {
  size_t sum = 0;
  CUdeviceptr pointer[100];
  start();
  for (int i = 0; i < 100; i++) {
    pointer[i] = allocated((size_t)i * 1237 + 1);
    sum += (size_t)i * 1237 + 1;
    IS(used_bytes(), sum);
  }
  for (int i = 0; i < 100; i++) OK(cuMemFree(pointer[i]));
  IS(used_bytes(), 0);
}

// Addresses are aligned to 256 bytes and no two allocations overlap: each keeps what was written to it.
CASE(no_overlap, "DEVICES=64MiB") {
  enum { N = 300 };
  CUdeviceptr pointer[N];
  size_t size[N];
  unsigned long long state = 7;
  start();
  for (int i = 0; i < N; i++) {
    size[i] = 1 + random_below(&state, i % 10 ? 8 * KIB : MIB);
    pointer[i] = allocated(size[i]);
    IS(pointer[i] % 256, 0);
    OK(cuMemsetD8(pointer[i], (unsigned char)i, size[i]));
  }
  for (int i = 0; i < N; i += 3) OK(cuMemFree(pointer[i]));
  for (int i = 0; i < N; i += 3) {
    pointer[i] = allocated(size[i]);
    OK(cuMemsetD8(pointer[i], (unsigned char)i, size[i]));
  }
  for (int i = 0; i < N; i++) {
    unsigned char *back = malloc(size[i]);
    OK(cuMemcpyDtoH(back, pointer[i], size[i]));
    for (size_t k = 0; k < size[i]; k++)
      if (back[k] != (unsigned char)i) IS(back[k], (unsigned char)i);
    free(back);
    OK(cuMemFree(pointer[i]));
  }
  IS(used_bytes(), 0);
}

// Thousands of blocks are normal: each is found, and what is left is exact at every moment.
CASE(many_blocks, "DEVICES=4GiB") {
  enum { N = 5000 };
  static CUdeviceptr pointer[N];
  start();
  for (int i = 0; i < N; i++) pointer[i] = allocated(i % 4 ? 300 : 512 * KIB + (size_t)i);
  for (int i = 0; i < N; i++) OK(cuMemFree(pointer[(i * 2741) % N]));
  IS(used_bytes(), 0);
}
