/* Virtual memory management: what cuda.h says is an error is one. */
#include "virtual_calls.h"

// Ranges of wrong sizes and alignments, and handles that cannot be, are refused.
CASE(wrong_sizes, "DEVICES=64MiB") {
  CUdeviceptr pointer = 0;
  CUmemGenericAllocationHandle handle = 0;
  size_t step = 0;
  CUmemAllocationProp nowhere = on_device;
  start();
  OK(cuMemGetAllocationGranularity(&step, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  IS(step, 2 * MIB);
  OK(cuMemGetAllocationGranularity(&step, &on_device, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  IS(step, 2 * MIB);
  IS(cuMemGetAllocationGranularity(0, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAddressReserve(&pointer, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAddressReserve(&pointer, 1000, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAddressReserve(&pointer, 2 * MIB, 3 * MIB, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAddressReserve(&pointer, 2 * MIB, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAddressReserve(0, 2 * MIB, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  HOLDS(cuMemAddressReserve(&pointer, (size_t)-1 & ~(2 * MIB - 1), 0, 0, 0) != CUDA_SUCCESS);
  IS(cuMemCreate(&handle, 0, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemCreate(&handle, MIB, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemCreate(&handle, 2 * MIB, &on_device, 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemCreate(&handle, 2 * MIB, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemCreate(0, 2 * MIB, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
  nowhere.location.id = 1;
  IS(cuMemCreate(&handle, 2 * MIB, &nowhere, 0), CUDA_ERROR_INVALID_DEVICE);
  IS(used_bytes(), 0);
}

// A mapping must lie in a reserved range that is free there, and show all of a handle from its beginning.
CASE(wrong_mappings, "DEVICES=64MiB") {
  char host[16];
  start();
  CUdeviceptr place = range(8 * MIB);
  CUmemGenericAllocationHandle handle = created(4 * MIB);
  IS(cuMemMap(place, 0, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place, 3 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place, 6 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place, 2 * MIB, 2 * MIB, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place, 4 * MIB, 0, handle, 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place, 4 * MIB, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place + MIB, 4 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place + 6 * MIB, 4 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap((CUdeviceptr)(size_t)host & ~(2 * MIB - 1), 4 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemMap(place, 4 * MIB, 0, handle, 0));
  IS(cuMemMap(place, 4 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place + 2 * MIB, 4 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc access = {on_device.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  IS(cuMemSetAccess(place, 8 * MIB, &access, 1), CUDA_ERROR_INVALID_VALUE); /* half of it is not mapped */
  IS(cuMemSetAccess(place + 4 * MIB, 4 * MIB, &access, 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemFree(place), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemUnmap(place, 4 * MIB));
  OK(cuMemRelease(handle));
  OK(cuMemAddressFree(place, 8 * MIB));
  IS(used_bytes(), 0);
}

// Addresses beyond all ranges, and sizes that wrap around, are refused.
CASE(wild_addresses, "DEVICES=64MiB") {
  CUmemAccessDesc access = {on_device.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  unsigned long long flags;
  start();
  CUdeviceptr place = range(4 * MIB);
  CUmemGenericAllocationHandle handle = created(2 * MIB);
  OK(cuMemMap(place, 2 * MIB, 0, handle, 0));
  IS(cuMemUnmap(0, (size_t)-1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemUnmap(place, (size_t)-1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemUnmap(place, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemSetAccess(place, (size_t)-1 & ~(2 * MIB - 1), &access, 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemSetAccess(0, 2 * MIB, &access, 1), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place + 2 * MIB, (size_t)-1 & ~(2 * MIB - 1), 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAddressFree(place, (size_t)-1 & ~(2 * MIB - 1)), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemGetAccess(&flags, &on_device.location, 4096), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemUnmap(place, 2 * MIB));
  OK(cuMemRelease(handle));
  OK(cuMemAddressFree(place, 4 * MIB));
}

// A handle that is gone is refused, not followed.
CASE(handles_that_are_gone, "DEVICES=64MiB") {
  CUmemAllocationProp property;
  start();
  CUdeviceptr place = range(2 * MIB);
  CUmemGenericAllocationHandle handle = created(2 * MIB);
  OK(cuMemRelease(handle));
  IS(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemMap(place, 2 * MIB, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemGetAllocationPropertiesFromHandle(&property, handle), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemRelease(12345), CUDA_ERROR_INVALID_VALUE);
  IS(used_bytes(), 0);
}

// A mapping keeps the memory, but not a handle whose references are all released.
CASE(released_too_often, "DEVICES=64MiB") {
  start();
  CUdeviceptr place = range(2 * MIB);
  CUmemGenericAllocationHandle handle = created(2 * MIB);
  OK(cuMemMap(place, 2 * MIB, 0, handle, 0));
  OK(cuMemRelease(handle));
  IS(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  IS(used_bytes(), 2 * MIB);
  OK(cuMemUnmap(place, 2 * MIB));
  IS(used_bytes(), 0);
}
