/* GPUs that are cut into slices: the GPU is listed, its slices are MIG devices with handles of their own. */
#include "nvml.h"

#define MOST_SLICES 7

static const SimDevice *slice_of(const Target *target) {
  return target->bus >= 0 && sim_machine()->device[target->bus].slice >= 0
             ? &sim_machine()->device[target->bus]
             : 0;
}

API nvmlDeviceGetMigMode(Handle handle, unsigned *current, unsigned *pending) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(current && pending);
  if (target.bus >= 0) return NOT_SUPPORTED; /* a whole GPU here is one that cannot be cut */
  *current = *pending = 1;
  return SUCCESS;
}
API nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned *count) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(count);
  *count = target.bus < 0 ? MOST_SLICES : 0;
  return SUCCESS;
}
API nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, unsigned index, Handle *out) {
  const SimMachine *machine = sim_machine();
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(out && index < MOST_SLICES);
  if (target.bus >= 0 || index >= (unsigned)machine->gpu[target.gpu].count) return NOT_FOUND;
  *out = nvml_slice_handle(machine->gpu[target.gpu].first + (int)index);
  return SUCCESS;
}
API nvmlDeviceIsMigDeviceHandle(Handle handle, unsigned *is_mig) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(is_mig);
  *is_mig = slice_of(&target) != 0;
  return SUCCESS;
}
API nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle handle, Handle *out) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(out && slice_of(&target));
  *out = nvml_gpu_handle(target.gpu);
  return SUCCESS;
}
API nvmlDeviceGetGpuInstanceId(Handle handle, unsigned *id) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(id);
  if (!slice_of(&target)) return NOT_SUPPORTED;
  *id = (unsigned)slice_of(&target)->slice + 1;
  return SUCCESS;
}
API nvmlDeviceGetComputeInstanceId(Handle handle, unsigned *id) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(id);
  if (!slice_of(&target)) return NOT_SUPPORTED;
  *id = 0;
  return SUCCESS;
}
