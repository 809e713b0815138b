/* What is asked for in passing: it has to be there, and says little. */
#include "nvml.h"

typedef struct {
  unsigned gpu, memory;
} Utilization;

static int check(Handle handle) {
  Target target;
  return nvml_target(handle, &target);
}
static int not_supported(Handle handle) {
  TRY(check(handle));
  return NOT_SUPPORTED;
}
static int number(Handle handle, unsigned value, unsigned *out) {
  TRY(check(handle));
  NEED(out);
  *out = value;
  return SUCCESS;
}

API nvmlDeviceGetUtilizationRates(Handle handle, Utilization *out) {
  TRY(check(handle));
  NEED(out);
  *out = (Utilization){0, 0};
  return SUCCESS;
}
API nvmlDeviceGetCurrPcieLinkGeneration(Handle handle, unsigned *out) { return number(handle, 4, out); }
API nvmlDeviceGetMaxPcieLinkGeneration(Handle handle, unsigned *out) { return number(handle, 4, out); }
API nvmlDeviceGetCurrPcieLinkWidth(Handle handle, unsigned *out) { return number(handle, 16, out); }
API nvmlDeviceGetNvLinkState(Handle handle, unsigned link, unsigned *out) { return not_supported(handle); }
API nvmlDeviceGetNvLinkRemoteDeviceType(Handle handle, unsigned link, int *out) {
  return not_supported(handle);
}
API nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle handle, unsigned link, void *out) {
  return not_supported(handle);
}
API nvmlDeviceGetGpuFabricInfoV(Handle handle, void *out) { return not_supported(handle); }
API nvmlDeviceGetFieldValues(Handle handle, int count, void *out) { return not_supported(handle); }
API nvmlSystemGetConfComputeState(void *out) {
  TRY(nvml_ready());
  return NOT_SUPPORTED;
}
