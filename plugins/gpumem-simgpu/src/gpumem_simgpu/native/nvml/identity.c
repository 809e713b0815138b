/* Who a device is. */
#define _GNU_SOURCE
#include "nvml.h"
#include <stdio.h>
#include <string.h>

typedef struct {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
} PciInfo;

static const SimDevice *any_device(const Target *target) {
  const SimMachine *machine = sim_machine();
  return &machine->device[target->bus < 0 ? machine->gpu[target->gpu].first : target->bus];
}

API nvmlDeviceGetUUID(Handle handle, char *out, unsigned size) {
  Target target;
  char uuid[SIM_UUID_TEXT];
  TRY(nvml_target(handle, &target));
  if (target.bus < 0)
    sim_gpu_uuid_text(target.gpu, uuid);
  else
    sim_device_uuid_text(target.bus, uuid);
  return nvml_text(uuid, out, size);
}
/* "NVIDIA A100 MIG 1g.5gb" is a slice of an "NVIDIA A100". */
API nvmlDeviceGetName(Handle handle, char *out, unsigned size) {
  Target target;
  char name[sizeof((SimDevice *)0)->name];
  TRY(nvml_target(handle, &target));
  strcpy(name, any_device(&target)->name);
  char *slice = target.bus < 0 ? strstr(name, " MIG ") : 0;
  if (slice) *slice = 0;
  return nvml_text(name, out, size);
}
API nvmlDeviceGetIndex(Handle handle, unsigned *index) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(index);
  int slice = target.bus < 0 ? -1 : sim_machine()->device[target.bus].slice;
  *index = (unsigned)(slice < 0 ? target.gpu : slice);
  return SUCCESS;
}
API nvmlDeviceGetMinorNumber(Handle handle, unsigned *number) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(number);
  *number = (unsigned)target.gpu;
  return SUCCESS;
}
API nvmlDeviceGetCudaComputeCapability(Handle handle, int *major, int *minor) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(major && minor);
  *major = any_device(&target)->cc_major, *minor = any_device(&target)->cc_minor;
  return SUCCESS;
}
API nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo *out) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(out);
  memset(out, 0, sizeof *out);
  out->bus = (unsigned)target.gpu + 1;
  snprintf(out->legacy_id, sizeof out->legacy_id, "0000:%02X:00.0", out->bus);
  snprintf(out->id, sizeof out->id, "00000000:%02X:00.0", out->bus);
  return SUCCESS;
}
API nvmlDeviceGetPciInfo_v2(Handle handle, PciInfo *out) { return nvmlDeviceGetPciInfo_v3(handle, out); }
