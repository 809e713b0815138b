/* Host memory that stands for memory of the device.  Only address space is taken; pages are committed when
 * somebody writes to them. */
#define _GNU_SOURCE
#include "driver.h"
#include <sys/mman.h>

char *backing_new(size_t bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *start = mmap(0, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return start == MAP_FAILED ? 0 : start;
}
void backing_free(char *start, size_t bytes) { munmap(start, bytes); }
