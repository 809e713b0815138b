/* Finding entry points by name and version, and calls that are not simulated. */
#include "device.h"

static void *found(const char *name, int version) {
  void *function = 0;
  CUdriverProcAddressQueryResult status = 9;
  OK(cuGetProcAddress_v2(name, &function, version, 0, &status));
  IS(status, CU_GET_PROC_ADDRESS_SUCCESS);
  HOLDS(function != 0);
  return function;
}

// The version that is asked for decides which of several entry points it is.
CASE(versions, "DEVICES=64MiB") {
  void *function = (void *)1;
  CUdriverProcAddressQueryResult status = 9;
  OK(cuInit(0));
  HOLDS(found("cuMemAlloc", 12000) == (void *)cuMemAlloc);
  HOLDS(found("cuCtxCreate", 11040) != found("cuCtxCreate", 12050));
  HOLDS(found("cuGetProcAddress", 12000) == (void *)cuGetProcAddress_v2);
  OK(cuGetProcAddress_v2("cuMemAllocAsync", &function, 11000, 0, &status)); /* there since 11.2 */
  IS(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  HOLDS(function == 0);
  OK(cuGetProcAddress_v2("cuNoSuchThing", &function, 12000, 0, &status));
  IS(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  HOLDS(function == 0);
  IS(cuGetProcAddress_v2("cuNoSuchThing", &function, 12000, 0, 0), CUDA_ERROR_NOT_FOUND);
  IS(cuGetProcAddress_v2(0, &function, 12000, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuGetProcAddress_v2("cuInit", 0, 12000, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

// What was found works.
CASE(called, "DEVICES=64MiB") {
  CUdeviceptr pointer = 0;
  start();
  CUresult (*alloc)(CUdeviceptr *, size_t) = (CUresult(*)(CUdeviceptr *, size_t))found("cuMemAlloc", 12000);
  OK(alloc(&pointer, 4 * MIB));
  IS(used_bytes(), 4 * MIB);
}

// Calls that are not simulated say so; the log has a line for each of them (checked by the Python beside this).
CASE(not_simulated, "DEVICES=64MiB") {
  CUgraph graph;
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR shape = {1, 1, CU_AD_FORMAT_FLOAT, 1};
  start();
  IS(cuGraphCreate(&graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  IS(cuArrayCreate(&array, &shape), CUDA_ERROR_NOT_SUPPORTED);
  CUresult (*by_name)(void) = (CUresult(*)(void))found("cuMulticastCreate", 12010);
  IS(by_name(), CUDA_ERROR_NOT_SUPPORTED);
}

// Tables that are not public are not there.
CASE(export_tables, "DEVICES=64MiB") {
  const void *table = (void *)1;
  CUuuid id = {{1, 2, 3}};
  OK(cuInit(0));
  HOLDS(cuGetExportTable(&table, &id) != CUDA_SUCCESS);
  HOLDS(table == 0);
}

// Errors have names and texts; numbers that are no errors have none.
CASE(names_of_errors, "DEVICES=64MiB") {
  const char *text = 0;
  OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  SAYS(text, "CUDA_ERROR_OUT_OF_MEMORY");
  OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  SAYS(text, "out of memory");
  OK(cuGetErrorName(CUDA_ERROR_CONTEXT_IS_DESTROYED, &text));
  SAYS(text, "CUDA_ERROR_CONTEXT_IS_DESTROYED");
  OK(cuGetErrorString(CUDA_ERROR_SYSTEM_NOT_READY, &text));
  HOLDS(strlen(text) > 0);
  IS(cuGetErrorName((CUresult)123456, &text), CUDA_ERROR_INVALID_VALUE);
  IS(cuGetErrorString((CUresult)123456, &text), CUDA_ERROR_INVALID_VALUE);
}
