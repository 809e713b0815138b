/* A library that asks for device memory, as a framework's would. */
#include <stddef.h>

extern int cuMemAlloc_v2(unsigned long long *, size_t);
extern int cudaMalloc(void **, size_t);

int ask_driver(size_t n) {
  unsigned long long address;
  return cuMemAlloc_v2(&address, n) + 0 * (int)n;
}

int ask_runtime(size_t n) {
  void *address;
  return cudaMalloc(&address, n) + 0 * (int)n;
}
