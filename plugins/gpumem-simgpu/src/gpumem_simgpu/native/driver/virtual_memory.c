/* Physical memory by cuMemCreate.  All of it is backed by one file without a name, whose pages are committed
 * when they are written to. */
#define _GNU_SOURCE
#include "virtual.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int file = -1;
static off_t end; /* places are never used twice: a hole costs nothing */

/* Locked. */
static int make_room(size_t bytes, off_t *place) {
  if (file < 0 && (file = memfd_create("gpumem-simgpu", MFD_CLOEXEC)) < 0) return -1;
  if (ftruncate(file, end + (off_t)bytes)) return -1;
  *place = end;
  end += (off_t)bytes;
  return 0;
}

char *physical_map(char *start, size_t bytes, Physical *physical) {
  void *got = mmap(start, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, physical->place);
  return got == MAP_FAILED ? 0 : got;
}
int physical_unmap(char *start, size_t bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  return mmap(start, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED ? -1 : 0;
}

int virtual_supported(void) {
  for (int dev = 0; dev < driver.devices; dev++)
    if (sim_device(dev)->vmm) return 1;
  return 0;
}

Physical *physical_find(CUmemGenericAllocationHandle handle) {
  Physical *physical = handle_find(PHYSICAL, (void *)(uintptr_t)handle);
  return physical && physical->handles ? physical : 0;
}

/* Where memory is asked for: -1 is the host. */
static CUresult place_of(const CUmemAllocationProp *wanted, int *dev) {
  NEED(wanted->type == CU_MEM_ALLOCATION_TYPE_PINNED);
  *dev = -1;
  if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return wanted->location.type == CU_MEM_LOCATION_TYPE_INVALID || !virtual_supported()
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
  *dev = wanted->location.id;
  if (*dev < 0 || *dev >= driver.devices) return CUDA_ERROR_INVALID_DEVICE;
  return sim_device(*dev)->vmm ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

API cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *wanted,
                                  CUmemAllocationGranularity_flags which) {
  int dev;
  NEED(out && wanted);
  TRY(driver_ready());
  TRY(place_of(wanted, &dev));
  *out = VMM_STEP;
  return CUDA_SUCCESS;
}

/* Locked. */
static CUresult grant(int dev, size_t bytes, SimLine *line, SimTotals *now, Physical **out) {
  size_t taken = dev < 0 ? 0 : round_up(bytes, sim_machine()->granularity);
  off_t place;
  if (dev >= 0) {
    if (bytes > sim_device(dev)->total) return CUDA_ERROR_OUT_OF_MEMORY;
    line->now = now;
    if (sim_ledger_take(line->bus, taken, now)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Physical *physical = make_room(bytes, &place) ? 0 : handle_new(PHYSICAL, sizeof *physical, 0);
  if (!physical) {
    if (dev >= 0) sim_ledger_give(line->bus, taken);
    line->now = 0;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  physical->dev = dev, physical->bytes = bytes, physical->taken = taken;
  physical->handles = 1, physical->place = place;
  line->ptr = physical, line->id = physical->handle.id;
  if (dev >= 0) line->charged = (long long)taken;
  *out = physical;
  return CUDA_SUCCESS;
}

API cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *wanted,
                unsigned long long flags) {
  SimTotals now;
  Physical *physical = 0;
  int dev;
  NEED(out && wanted && !flags);
  TRY(driver_ready());
  TRY(place_of(wanted, &dev));
  SimLine line = SIM_LINE(.api = "cuMemCreate", .dev = dev, .bus = dev < 0 ? -1 : driver.device[dev].bus,
                          .bytes = (long long)bytes);
  CUresult rc = !bytes || bytes % VMM_STEP ? CUDA_ERROR_INVALID_VALUE
                : dev < 0                  ? CUDA_SUCCESS
                                           : request_begin(&line);
  if (!rc) {
    lock();
    rc = grant(dev, bytes, &line, &now, &physical);
    unlock();
  }
  if (!rc) *out = (CUmemGenericAllocationHandle)(uintptr_t)physical;
  line.rc = (int)rc;
  sim_log(&line);
  return rc;
}

/* Only now the log says that the memory is free. */
void physical_end(Physical *physical, const char *lib) {
  int dev = physical->dev, bus = dev < 0 ? -1 : driver.device[dev].bus;
  size_t taken = physical->taken;
  sim_log(&SIM_LINE(.api = "cuMemRelease", .dev = dev, .bus = bus, .bytes = (long long)physical->bytes,
                    .ptr = physical, .id = physical->handle.id, .freed = (long long)taken, .lib = lib,
                    .note = "returned"));
  fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, physical->place, (off_t)physical->bytes);
  lock();
  handle_drop(physical);
  unlock();
  if (dev >= 0) sim_ledger_give(bus, taken);
}

API cuMemRelease(CUmemGenericAllocationHandle handle) {
  TRY(driver_ready());
  const char *lib = sim_caller();
  sim_fault_slow();
  lock();
  Physical *physical = physical_find(handle);
  int last = physical && !--physical->handles && !physical->mappings;
  unlock();
  if (!physical) return CUDA_ERROR_INVALID_VALUE;
  if (last) physical_end(physical, lib);
  return CUDA_SUCCESS;
}
API cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address) {
  NEED(out);
  TRY(driver_ready());
  lock();
  Block *block = block_at(address);
  Physical *physical = block && block->kind == MAPPED ? block->physical : 0;
  if (physical) {
    physical->handles++;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)physical;
  }
  unlock();
  return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle) {
  NEED(out);
  TRY(driver_ready());
  lock();
  Physical *physical = physical_find(handle);
  int dev = physical ? physical->dev : -1;
  unlock();
  if (!physical) return CUDA_ERROR_INVALID_VALUE;
  memset(out, 0, sizeof *out);
  out->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  out->location.type = dev < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  out->location.id = dev < 0 ? 0 : dev;
  return CUDA_SUCCESS;
}
