/* MIG: slices of a GPU as CUDA and NVML show them.  CUDA shows a process one slice at most, and no whole GPU
 * beside it: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ */
#include "device.h"
#include "nvml_api.h"

/* The machine: GPU 0 in slices of 10, 11 and 12 MiB, GPU 1 whole with 40 MiB. */

static void sees_one(size_t bytes) {
  int count = 0;
  OK(cuInit(0));
  OK(cuDeviceGetCount(&count));
  IS(count, 1);
  size_t total = 0;
  OK(cuDeviceTotalMem(&total, 0));
  IS(total, bytes);
}

/* The UUID of a slice, as NVML tells it. */
static void uuid_of_slice(unsigned index, char *text, unsigned size) {
  nvmlDevice_t gpu, slice;
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetHandleByIndex_v2(0, &gpu));
  OK(nvmlDeviceGetMigDeviceHandleByIndex(gpu, index, &slice));
  OK(nvmlDeviceGetUUID(slice, text, size));
}

// Without a choice CUDA shows the first slice alone.
CASE(first_slice, "DEVICES=10MiB,11MiB,12MiB,40MiB MIG=0:1g.5gb,0:1g.5gb,0:2g.10gb,") { sees_one(10 * MIB); }

// Several chosen slices are still one.
CASE(several_chosen, "DEVICES=10MiB,11MiB,12MiB,40MiB MIG=0:1g.5gb,0:1g.5gb,0:2g.10gb,") {
  char first[96], second[96], both[200];
  uuid_of_slice(1, first, sizeof first);
  uuid_of_slice(2, second, sizeof second);
  HOLDS(!strncmp(first, "MIG-", 4));
  snprintf(both, sizeof both, "%s,%s", first, second);
  setenv("CUDA_VISIBLE_DEVICES", both, 1);
  sees_one(11 * MIB);
}

// A slice is chosen by its UUID.
CASE(chosen_by_uuid, "DEVICES=10MiB,11MiB,12MiB,40MiB MIG=0:1g.5gb,0:1g.5gb,0:2g.10gb,") {
  char uuid[96];
  CUuuid bytes;
  uuid_of_slice(2, uuid, sizeof uuid);
  setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
  sees_one(12 * MIB);
  OK(cuDeviceGetUuid_v2(&bytes, 0));
  unsigned first = 0;
  IS(sscanf(uuid, "MIG-%2x", &first), 1);
  IS((unsigned char)bytes.bytes[0], first);
}

// And in the way of older drivers, by its GPU and the numbers of its instances.
CASE(chosen_by_instance, "DEVICES=10MiB,11MiB,12MiB,40MiB MIG=0:1g.5gb,0:1g.5gb,0:2g.10gb,") {
  nvmlDevice_t gpu, slice;
  char uuid[96], old[160];
  unsigned instance = 0, compute = 9;
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetHandleByIndex_v2(0, &gpu));
  OK(nvmlDeviceGetUUID(gpu, uuid, sizeof uuid));
  OK(nvmlDeviceGetMigDeviceHandleByIndex(gpu, 1, &slice));
  OK(nvmlDeviceGetGpuInstanceId(slice, &instance));
  OK(nvmlDeviceGetComputeInstanceId(slice, &compute));
  snprintf(old, sizeof old, "MIG-%s/%u/%u", uuid, instance, compute);
  setenv("CUDA_VISIBLE_DEVICES", old, 1);
  sees_one(11 * MIB);
}
CASE(no_such_instance, "DEVICES=10MiB,11MiB MIG=0:1g.5gb,0:1g.5gb CUDA_VISIBLE_DEVICES=MIG-GPU-a0515151-5151-5151-5151-515151515100/77/0") {
  IS(cuInit(0), CUDA_ERROR_NO_DEVICE);
}
CASE(half_an_instance, "DEVICES=10MiB,11MiB MIG=0:1g.5gb,0:1g.5gb CUDA_VISIBLE_DEVICES=MIG-GPU-a0515151-5151-5151-5151-515151515100/1") {
  IS(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

// A whole GPU is shown where it alone is chosen.
CASE(whole_gpu_chosen, "DEVICES=10MiB,11MiB,40MiB MIG=0:1g.5gb,0:1g.5gb, CUDA_VISIBLE_DEVICES=1") { sees_one(40 * MIB); }

// Whole GPUs alone are all shown.
CASE(no_slices, "DEVICES=10MiB,11MiB MIG=,") {
  int count;
  OK(cuInit(0));
  OK(cuDeviceGetCount(&count));
  IS(count, 2);
}

// A slice is full at its own total, whatever the others have.
CASE(slices_are_apart, "DEVICES=10MiB,12MiB MIG=0:1g.5gb,0:1g.5gb STATE=shared GRANULARITY=1") {
  char uuid[96];
  uuid_of_slice(1, uuid, sizeof uuid);
  pid_t child = fork_child();
  if (!child) {
    setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
    start();
    allocated(12 * MIB);
    refused(1);
    exit(0);
  }
  start();
  allocated(10 * MIB);
  refused(1);
  IS(ended_with(child), 0);
}

// NVML lists the GPUs with their mode, and slices as devices of their own.
CASE(nvml, "DEVICES=10MiB,11MiB,40MiB MIG=0:1g.5gb,0:1g.5gb, NAMES=NVIDIA_A100_MIG_1g.5gb,NVIDIA_A100_MIG_1g.5gb,NVIDIA_A30") {
  nvmlDevice_t gpu, whole, slice, parent;
  nvmlMemory_t memory;
  nvmlProcessInfo_t process[4];
  unsigned count = 0, mode = 9, pending = 9, yes = 9, most = 0, instance = 0;
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetCount_v2(&count));
  IS(count, 2);
  OK(nvmlDeviceGetHandleByIndex_v2(0, &gpu));
  OK(nvmlDeviceGetMigMode(gpu, &mode, &pending));
  IS(mode, 1);
  IS(pending, 1);
  OK(nvmlDeviceGetMaxMigDeviceCount(gpu, &most));
  HOLDS(most >= 2);
  OK(nvmlDeviceIsMigDeviceHandle(gpu, &yes));
  IS(yes, 0);
  OK(nvmlDeviceGetMemoryInfo(gpu, &memory));
  HOLDS(memory.total >= 21 * MIB);
  OK(nvmlDeviceGetMigDeviceHandleByIndex(gpu, 1, &slice));
  OK(nvmlDeviceIsMigDeviceHandle(slice, &yes));
  IS(yes, 1);
  OK(nvmlDeviceGetMemoryInfo(slice, &memory));
  IS(memory.total, 11 * MIB);
  OK(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(slice, &parent));
  HOLDS(parent == gpu);
  char uuid[96];
  nvmlDevice_t same = 0;
  OK(nvmlDeviceGetUUID(slice, uuid, sizeof uuid));
  OK(nvmlDeviceGetHandleByUUID(uuid, &same));
  HOLDS(same == slice);
  IS(nvmlDeviceGetMigDeviceHandleByIndex(gpu, 2, &slice), NVML_ERROR_NOT_FOUND);
  OK(nvmlDeviceGetHandleByIndex_v2(1, &whole));
  HOLDS(nvmlDeviceGetMigDeviceHandleByIndex(whole, 0, &slice) != NVML_SUCCESS);
  start(); /* on the first slice */
  allocated(4 * MIB);
  OK(nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0, &slice));
  OK(nvmlDeviceGetMemoryInfo(slice, &memory));
  IS(memory.used, 4 * MIB);
  OK(nvmlDeviceGetGpuInstanceId(slice, &instance));
  count = 4;
  OK(nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, process));
  IS(count, 1);
  IS(process[0].pid, getpid());
  IS(process[0].gpuInstanceId, instance);
}
