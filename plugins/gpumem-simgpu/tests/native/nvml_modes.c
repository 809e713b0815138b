/* NVML in every mode that SIMGPU_NVML knows, and of a device without memory of its own. */
#include "nvml_calls.h"

// missing: it cannot be started, CUDA can.
CASE(mode_missing, "DEVICES=64MiB NVML=missing") {
  unsigned count;
  IS(nvmlInit_v2(), NVML_ERROR_LIBRARY_NOT_FOUND);
  IS(nvmlInit(), NVML_ERROR_LIBRARY_NOT_FOUND);
  IS(nvmlInitWithFlags(0), NVML_ERROR_LIBRARY_NOT_FOUND);
  IS(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  HOLDS(strlen(nvmlErrorString(NVML_ERROR_LIBRARY_NOT_FOUND)) > 0);
  start();
  IS(free_bytes(), 64 * MIB);
}

// mismatch: the library and the kernel's driver differ.
CASE(mode_mismatch, "DEVICES=64MiB NVML=mismatch") {
  unsigned count;
  IS(nvmlInit_v2(), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
  IS(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  SAYS(nvmlErrorString(NVML_ERROR_LIB_RM_VERSION_MISMATCH), "Driver/library version mismatch");
}

// no-permission: there are devices, none of which may be asked.
CASE(mode_no_permission, "DEVICES=2x64MiB NVML=no-permission") {
  nvmlDevice_t device = 0;
  unsigned count = 0;
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetCount_v2(&count));
  IS(count, 2);
  IS(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_NO_PERMISSION);
  IS(nvmlDeviceGetHandleByUUID("GPU-a0515151-5151-5151-5151-515151515100", &device), NVML_ERROR_NO_PERMISSION);
  IS(nvmlDeviceGetHandleByPciBusId_v2("00000000:01:00.0", &device), NVML_ERROR_NO_PERMISSION);
}

// unsupported: devices are named, their memory and processes are not told.
CASE(mode_unsupported, "DEVICES=64MiB NVML=unsupported") {
  nvmlMemory_t memory;
  nvmlMemory_v2_t second = {.version = NVML_MEMORY_V2};
  nvmlProcessInfo_t process[4];
  nvmlProcessInfo_v1_t old[4];
  unsigned count = 4;
  char text[96];
  nvmlDevice_t device = open_first();
  start();
  OK(nvmlDeviceGetName(device, text, sizeof text));
  IS(nvmlDeviceGetMemoryInfo(device, &memory), NVML_ERROR_NOT_SUPPORTED);
  IS(nvmlDeviceGetMemoryInfo_v2(device, &second), NVML_ERROR_NOT_SUPPORTED);
  IS(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process), NVML_ERROR_NOT_SUPPORTED);
  IS(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, process), NVML_ERROR_NOT_SUPPORTED);
  IS(nvmlDeviceGetComputeRunningProcesses(device, &count, old), NVML_ERROR_NOT_SUPPORTED);
}

// no-sizes: processes are listed, what they hold is "not available"; the device's memory is told.
CASE(mode_no_sizes, "DEVICES=64MiB NVML=no-sizes") {
  nvmlMemory_t memory;
  nvmlProcessInfo_t process[4];
  nvmlProcessInfo_v1_t old[4];
  unsigned count = 4;
  nvmlDevice_t device = open_first();
  start();
  allocated(6 * MIB);
  OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process));
  IS(count, 1);
  IS(process[0].pid, getpid());
  IS(process[0].usedGpuMemory, NVML_VALUE_NOT_AVAILABLE);
  count = 4;
  OK(nvmlDeviceGetComputeRunningProcesses(device, &count, old));
  IS(old[0].usedGpuMemory, NVML_VALUE_NOT_AVAILABLE);
  OK(nvmlDeviceGetMemoryInfo(device, &memory));
  IS(memory.used, 6 * MIB);
}

// A device that shares the host's memory has none of its own that NVML could tell.
CASE(integrated, "DEVICES=64MiB INTEGRATED=yes") {
  nvmlMemory_t memory;
  char text[96];
  nvmlDevice_t device = open_first();
  OK(nvmlDeviceGetName(device, text, sizeof text));
  IS(nvmlDeviceGetMemoryInfo(device, &memory), NVML_ERROR_NOT_SUPPORTED);
}
