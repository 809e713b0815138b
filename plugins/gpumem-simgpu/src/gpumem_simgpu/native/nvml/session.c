/* Starting and ending NVML, what it says about the system, and its handles. */
#define _GNU_SOURCE
#include "nvml.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SLICES 256 /* handles of slices are counted from here, those of GPUs from 1 */

static int sessions; /* nvmlInit counts */

int nvml_ready(void) { return __atomic_load_n(&sessions, __ATOMIC_ACQUIRE) > 0 ? SUCCESS : UNINITIALIZED; }

API nvmlInit_v2(void) {
  SimNvmlMode mode = sim_machine()->nvml;
  if (mode == SIM_NVML_MISSING) return LIBRARY_NOT_FOUND;
  if (mode == SIM_NVML_MISMATCH) return VERSION_MISMATCH;
  __atomic_add_fetch(&sessions, 1, __ATOMIC_ACQ_REL);
  return SUCCESS;
}
API nvmlInit(void) { return nvmlInit_v2(); }
API nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
API nvmlShutdown(void) {
  int count = __atomic_load_n(&sessions, __ATOMIC_ACQUIRE);
  do {
    if (count <= 0) return UNINITIALIZED;
  } while (!__atomic_compare_exchange_n(&sessions, &count, count - 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return SUCCESS;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int rc) {
  switch (rc) {
  case SUCCESS: return "Success";
  case UNINITIALIZED: return "Uninitialized";
  case INVALID_ARGUMENT: return "Invalid Argument";
  case NOT_SUPPORTED: return "Not Supported";
  case NO_PERMISSION: return "Insufficient Permissions";
  case NOT_FOUND: return "Not Found";
  case INSUFFICIENT_SIZE: return "Insufficient Size";
  case LIBRARY_NOT_FOUND: return "NVML Shared Library Not Found";
  case GPU_IS_LOST: return "GPU is lost";
  case VERSION_MISMATCH: return "Driver/library version mismatch";
  case ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
  default: return "Unknown Error";
  }
}

int nvml_text(const char *text, char *out, unsigned size) {
  NEED(out);
  if (strlen(text) >= size) return INSUFFICIENT_SIZE;
  strcpy(out, text);
  return SUCCESS;
}
API nvmlSystemGetDriverVersion(char *out, unsigned size) {
  TRY(nvml_ready());
  return nvml_text("580.00.00", out, size);
}
API nvmlSystemGetNVMLVersion(char *out, unsigned size) {
  TRY(nvml_ready());
  return nvml_text("13.580.00.00", out, size);
}
API nvmlSystemGetCudaDriverVersion(int *version) {
  NEED(version);
  *version = sim_machine()->driver_version;
  return SUCCESS;
}
API nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

/* ---- handles ---- */

Handle nvml_gpu_handle(int gpu) { return (Handle)(uintptr_t)(gpu + 1); }
Handle nvml_slice_handle(int bus) { return (Handle)(uintptr_t)(SLICES + bus); }

int nvml_target(Handle handle, Target *target) {
  const SimMachine *machine = sim_machine();
  uintptr_t number = (uintptr_t)handle;
  TRY(nvml_ready());
  if (number >= SLICES && number < SLICES + (uintptr_t)machine->devices) {
    target->bus = (int)(number - SLICES), target->gpu = machine->device[target->bus].gpu;
  } else {
    NEED(number >= 1 && number <= (uintptr_t)machine->gpus);
    target->gpu = (int)number - 1, target->bus = machine->gpu[target->gpu].first;
    if (machine->device[target->bus].slice >= 0) target->bus = -1;
  }
  const SimGpu *gpu = &machine->gpu[target->gpu];
  for (int bus = gpu->first; bus < gpu->first + gpu->count; bus++)
    if (sim_ledger_is_lost(bus)) return GPU_IS_LOST;
  return SUCCESS;
}

/* NVML is up, and devices may be asked for. */
static int may_look(void) {
  TRY(nvml_ready());
  return sim_machine()->nvml == SIM_NVML_NO_PERMISSION ? NO_PERMISSION : SUCCESS;
}
static int give(Handle handle, Handle *out) {
  *out = handle;
  return SUCCESS;
}

API nvmlDeviceGetCount_v2(unsigned *count) {
  TRY(nvml_ready());
  NEED(count);
  *count = (unsigned)sim_machine()->gpus;
  return SUCCESS;
}
API nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }
API nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle *out) {
  TRY(may_look());
  NEED(out && index < (unsigned)sim_machine()->gpus);
  return give(nvml_gpu_handle((int)index), out);
}
API nvmlDeviceGetHandleByIndex(unsigned index, Handle *out) {
  return nvmlDeviceGetHandleByIndex_v2(index, out);
}
API nvmlDeviceGetHandleByUUID(const char *wanted, Handle *out) {
  const SimMachine *machine = sim_machine();
  char uuid[SIM_UUID_TEXT];
  TRY(may_look());
  NEED(wanted && out);
  for (int gpu = 0; gpu < machine->gpus; gpu++) {
    sim_gpu_uuid_text(gpu, uuid);
    if (!strcasecmp(uuid, wanted)) return give(nvml_gpu_handle(gpu), out);
  }
  for (int bus = 0; bus < machine->devices; bus++) {
    sim_device_uuid_text(bus, uuid);
    if (machine->device[bus].slice >= 0 && !strcasecmp(uuid, wanted))
      return give(nvml_slice_handle(bus), out);
  }
  return NOT_FOUND;
}
API nvmlDeviceGetHandleByPciBusId_v2(const char *text, Handle *out) {
  unsigned domain, bus;
  TRY(may_look());
  NEED(text && out && sscanf(text, "%x:%x", &domain, &bus) == 2);
  if (domain || bus < 1 || bus > (unsigned)sim_machine()->gpus) return NOT_FOUND;
  return give(nvml_gpu_handle((int)bus - 1), out);
}
API nvmlDeviceGetHandleByPciBusId(const char *text, Handle *out) {
  return nvmlDeviceGetHandleByPciBusId_v2(text, out);
}
