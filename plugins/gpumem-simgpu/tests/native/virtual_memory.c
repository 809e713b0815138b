/* Virtual memory management: physical memory lives until its last handle and its last mapping are gone.
 * Expectations are those of the documentation of cuMemMap, cuMemUnmap and cuMemRelease in cuda.h. */
#include "virtual_calls.h"

// Memory is charged when it is created; a reserved range costs nothing.
CASE(charged_when_created, "DEVICES=64MiB") {
  start();
  CUdeviceptr place = range(64 * MIB);
  IS(used_bytes(), 0);
  CUmemGenericAllocationHandle handle = created(6 * MIB);
  IS(used_bytes(), 6 * MIB);
  OK(cuMemMap(place, 6 * MIB, 0, handle, 0));
  made_accessible(place, 6 * MIB);
  IS(used_bytes(), 6 * MIB);
  OK(cuMemsetD8(place, 3, 6 * MIB));
  OK(cuMemUnmap(place, 6 * MIB));
  IS(used_bytes(), 6 * MIB);
  OK(cuMemRelease(handle));
  IS(used_bytes(), 0);
  OK(cuMemAddressFree(place, 64 * MIB));
}

// A handle that is released before the unmap leaves the memory to its mapping.
CASE(released_before_unmap, "DEVICES=64MiB") {
  start();
  CUdeviceptr place = range(4 * MIB);
  CUmemGenericAllocationHandle handle = created(4 * MIB);
  OK(cuMemMap(place, 4 * MIB, 0, handle, 0));
  made_accessible(place, 4 * MIB);
  OK(cuMemRelease(handle));
  IS(used_bytes(), 4 * MIB);
  OK(cuMemsetD8(place, 3, 4 * MIB));
  OK(cuMemUnmap(place, 4 * MIB));
  IS(used_bytes(), 0);
  OK(cuMemAddressFree(place, 4 * MIB));
}

// A handle that is retained needs a release more; it is found by any address of the mapping.
CASE(retained, "DEVICES=64MiB") {
  CUmemGenericAllocationHandle again = 0;
  start();
  CUdeviceptr place = range(8 * MIB);
  CUmemGenericAllocationHandle handle = created(4 * MIB);
  IS(cuMemRetainAllocationHandle(&again, (void *)place), CUDA_ERROR_INVALID_VALUE); /* not mapped yet */
  OK(cuMemMap(place, 4 * MIB, 0, handle, 0));
  OK(cuMemRetainAllocationHandle(&again, (void *)(place + 4 * MIB - 1)));
  HOLDS(again == handle);
  IS(cuMemRetainAllocationHandle(&again, (void *)(place + 4 * MIB)), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemRelease(handle));
  OK(cuMemUnmap(place, 4 * MIB));
  IS(used_bytes(), 4 * MIB);
  OK(cuMemRelease(handle));
  IS(used_bytes(), 0);
  OK(cuMemAddressFree(place, 8 * MIB));
}

// Two mappings of one handle are charged once, and hold the memory until both are gone.
CASE(mapped_twice, "DEVICES=64MiB") {
  start();
  CUdeviceptr one = range(4 * MIB), two = range(4 * MIB);
  CUmemGenericAllocationHandle handle = created(4 * MIB);
  OK(cuMemMap(one, 4 * MIB, 0, handle, 0));
  OK(cuMemMap(two, 4 * MIB, 0, handle, 0));
  made_accessible(one, 4 * MIB);
  made_accessible(two, 4 * MIB);
  OK(cuMemsetD32(one, 1234567, MIB));
  unsigned value = 0;
  OK(cuMemcpyDtoH(&value, two + 4 * MIB - 4, sizeof value)); /* the same memory */
  IS(value, 1234567);
  IS(used_bytes(), 4 * MIB);
  OK(cuMemRelease(handle));
  OK(cuMemUnmap(one, 4 * MIB));
  IS(used_bytes(), 4 * MIB);
  OK(cuMemUnmap(two, 4 * MIB));
  IS(used_bytes(), 0);
  OK(cuMemAddressFree(one, 4 * MIB));
  OK(cuMemAddressFree(two, 4 * MIB));
}

// What is mapped side by side is unmapped mapping by mapping, in any order, or all at once, never in halves.
CASE(unmapped_in_parts, "DEVICES=64MiB") {
  CUmemGenericAllocationHandle handle[4];
  start();
  CUdeviceptr place = range(16 * MIB);
  for (size_t i = 0; i < 4; i++) {
    handle[i] = created(4 * MIB);
    OK(cuMemMap(place + i * 4 * MIB, 4 * MIB, 0, handle[i], 0));
    OK(cuMemRelease(handle[i]));
  }
  made_accessible(place, 16 * MIB);
  IS(cuMemUnmap(place, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemUnmap(place + 2 * MIB, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemUnmap(place, 6 * MIB), CUDA_ERROR_INVALID_VALUE);
  IS(used_bytes(), 16 * MIB);
  OK(cuMemUnmap(place + 8 * MIB, 4 * MIB));
  IS(used_bytes(), 12 * MIB);
  IS(cuMemUnmap(place + 8 * MIB, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemUnmap(place, 16 * MIB), CUDA_ERROR_INVALID_VALUE); /* with a hole */
  IS(used_bytes(), 12 * MIB);
  OK(cuMemUnmap(place, 8 * MIB));
  IS(used_bytes(), 4 * MIB);
  OK(cuMemUnmap(place + 12 * MIB, 4 * MIB));
  IS(used_bytes(), 0);
  OK(cuMemAddressFree(place, 16 * MIB));
}

// After an unmap the range is free for another mapping, which has no access until it is set.
CASE(mapped_again, "DEVICES=64MiB") {
  start();
  CUdeviceptr place = range(4 * MIB);
  CUmemGenericAllocationHandle handle = created(4 * MIB);
  for (int i = 0; i < 3; i++) {
    OK(cuMemMap(place, 4 * MIB, 0, handle, 0));
    made_accessible(place, 4 * MIB);
    unsigned char before = 77;
    OK(cuMemcpyDtoH(&before, place + 4 * MIB - 1, 1)); /* it keeps its contents */
    IS(before, i ? i - 1 : 0);
    OK(cuMemsetD8(place, (unsigned char)i, 4 * MIB));
    OK(cuMemUnmap(place, 4 * MIB));
  }
  OK(cuMemRelease(handle));
  OK(cuMemAddressFree(place, 4 * MIB));
  IS(used_bytes(), 0);
}

// A range that holds mappings is not freed, and neither is a part of one.
CASE(freeing_mapped_ranges, "DEVICES=64MiB") {
  start();
  CUdeviceptr place = range(8 * MIB);
  CUmemGenericAllocationHandle handle = created(2 * MIB);
  OK(cuMemMap(place + 2 * MIB, 2 * MIB, 0, handle, 0));
  IS(cuMemAddressFree(place, 8 * MIB), CUDA_ERROR_INVALID_VALUE);
  made_accessible(place + 2 * MIB, 2 * MIB);
  OK(cuMemsetD8(place + 2 * MIB, 1, 2 * MIB));
  OK(cuMemUnmap(place + 2 * MIB, 2 * MIB));
  IS(cuMemAddressFree(place, 4 * MIB), CUDA_ERROR_INVALID_VALUE);
  IS(cuMemAddressFree(place + 2 * MIB, 6 * MIB), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemAddressFree(place, 8 * MIB));
  IS(cuMemAddressFree(place, 8 * MIB), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemRelease(handle));
}

// A handle knows its properties, a mapping its access, and an address its mapping.
CASE(questions, "DEVICES=64MiB") {
  CUmemAllocationProp property;
  unsigned long long access = 9;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  start();
  CUdeviceptr place = range(8 * MIB);
  CUmemGenericAllocationHandle handle = created(4 * MIB);
  OK(cuMemGetAllocationPropertiesFromHandle(&property, handle));
  IS(property.type, CU_MEM_ALLOCATION_TYPE_PINNED);
  IS(property.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  IS(property.location.id, 0);
  OK(cuMemMap(place, 4 * MIB, 0, handle, 0));
  OK(cuMemGetAccess(&access, &on_device.location, place));
  IS(access, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  made_accessible(place, 4 * MIB);
  OK(cuMemGetAccess(&access, &on_device.location, place));
  IS(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  OK(cuMemGetAddressRange(&base, &bytes, place + 3 * MIB));
  HOLDS(base == place);
  IS(bytes, 4 * MIB);
  OK(cuMemUnmap(place, 4 * MIB));
  OK(cuMemRelease(handle));
  OK(cuMemAddressFree(place, 8 * MIB));
}

// The device is full exactly at its total, and a release makes room at once.
CASE(full_at_the_total, "DEVICES=8MiB") {
  CUmemGenericAllocationHandle handle = 0;
  start();
  CUmemGenericAllocationHandle most = created(6 * MIB);
  IS(cuMemCreate(&handle, 4 * MIB, &on_device, 0), CUDA_ERROR_OUT_OF_MEMORY);
  handle = created(2 * MIB);
  IS(free_bytes(), 0);
  OK(cuMemRelease(most));
  most = created(6 * MIB);
  OK(cuMemRelease(most));
  OK(cuMemRelease(handle));
  IS(used_bytes(), 0);
}

// Granularity 1 does not change what is a valid size here: multiples of 2 MiB, charged as they are.
CASE(with_exact_charging, "DEVICES=5MiB GRANULARITY=1") {
  CUmemGenericAllocationHandle handle = 0;
  start();
  IS(cuMemCreate(&handle, MIB, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
  handle = created(4 * MIB);
  IS(free_bytes(), MIB);
  OK(cuMemRelease(handle));
}

// A device without virtual memory management says so; its other memory works.
CASE(device_without_it, "DEVICES=2x64MiB VMM=no,yes") {
  CUmemGenericAllocationHandle handle = 0;
  size_t step = 0;
  start();
  IS(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0), 0);
  IS(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1), 1);
  IS(cuMemCreate(&handle, 2 * MIB, &on_device, 0), CUDA_ERROR_NOT_SUPPORTED);
  IS(cuMemGetAllocationGranularity(&step, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
     CUDA_ERROR_NOT_SUPPORTED);
  IS(used_bytes(), 0);
  OK(cuMemFree(allocated(64 * MIB)));
}
