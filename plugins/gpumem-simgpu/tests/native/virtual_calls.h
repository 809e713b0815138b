/* What the programs do with virtual memory, in one word each. */
#ifndef VIRTUAL_CALLS_H
#define VIRTUAL_CALLS_H
#include "device.h"

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static inline CUmemGenericAllocationHandle created(size_t bytes) {
  CUmemGenericAllocationHandle handle = 0;
  OK(cuMemCreate(&handle, bytes, &on_device, 0));
  return handle;
}
static inline CUdeviceptr range(size_t bytes) {
  CUdeviceptr pointer = 0;
  OK(cuMemAddressReserve(&pointer, bytes, 0, 0, 0));
  HOLDS(pointer != 0 && pointer % (2 * MIB) == 0);
  return pointer;
}
static inline void made_accessible(CUdeviceptr pointer, size_t bytes) {
  CUmemAccessDesc access = {on_device.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemSetAccess(pointer, bytes, &access, 1));
}

#endif
