/* Versions, names of errors, and entry points of the driver. */
#include "runtime.h"

RT cudaDriverGetVersion(int *version) { return failed((int)cuDriverGetVersion(version)); }
RT cudaRuntimeGetVersion(int *version) {
  NEED(version);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

typedef struct {
  int code;
  const char *name;
} ErrorName;
extern const ErrorName sim_runtime_errors[]; /* written by stubs.py from driver_types.h */
extern const int sim_runtime_errors_count;

VISIBLE const char *cudaGetErrorName(cudaError_t code) {
  for (int i = 0; i < sim_runtime_errors_count; i++)
    if (sim_runtime_errors[i].code == (int)code) return sim_runtime_errors[i].name;
  return "unrecognized error code";
}
VISIBLE const char *cudaGetErrorString(cudaError_t code) {
  const char *text;
  return cuGetErrorString((CUresult)code, &text) ? "unrecognized error code" : text;
}

RT cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                    unsigned long long flags, enum cudaDriverEntryPointQueryResult *status) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  TRY(cuGetProcAddress_v2(name, function, (int)version, flags, &found));
  if (status) *status = (enum cudaDriverEntryPointQueryResult)found;
  return cudaSuccess;
}
RT cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                           enum cudaDriverEntryPointQueryResult *status) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, status);
}
