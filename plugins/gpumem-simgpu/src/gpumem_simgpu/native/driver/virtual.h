/* Virtual memory management: what virtual_ranges.c and virtual_memory.c share. */
#ifndef SIM_VIRTUAL_H
#define SIM_VIRTUAL_H
#include "driver.h"
#include <sys/types.h>

/* Memory of cuMemCreate; it lives until its last handle is released and its last mapping is gone. */
struct Physical {
  Handle handle;
  int dev; /* -1: memory of the host, which takes nothing from a device */
  size_t bytes, taken;
  unsigned handles, mappings;
  off_t place; /* in the file that backs all such memory, so that two mappings show the same bytes */
};

int virtual_supported(void);                                  /* by any device that CUDA shows */
Physical *physical_find(CUmemGenericAllocationHandle handle); /* locked; only while the program holds it */

/* Not locked: a handle or a mapping is gone (counted by the caller); `last` says that it was the last. */
void physical_end(Physical *physical, const char *lib);
char *physical_map(char *start, size_t bytes, Physical *physical);
int physical_unmap(char *start, size_t bytes);
#endif
