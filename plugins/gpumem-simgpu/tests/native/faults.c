/* Faults on demand: each strikes at its number and is written down. */
#include "device.h"
#include "nvml_api.h"
#include <time.h>

static CUresult request(size_t bytes) {
  CUdeviceptr pointer;
  return cuMemAlloc(&pointer, bytes);
}

// alloc=N refuses the N-th request only.
CASE(one_refusal, "DEVICES=64MiB FAULTS=alloc=3") {
  start();
  for (int i = 1; i <= 6; i++) IS(request(2 * MIB), i == 3 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
  IS(used_bytes(), 10 * MIB);
}

// alloc=N+ refuses it and all later ones.
CASE(refusals_onwards, "DEVICES=64MiB FAULTS=alloc=2+") {
  start();
  OK(request(2 * MIB));
  for (int i = 0; i < 5; i++) IS(request(2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
  IS(used_bytes(), 2 * MIB);
}

// Every kind of request counts, each device for itself.
CASE(every_kind_counts, "DEVICES=2x64MiB FAULTS=alloc=4@0,alloc=1@1") {
  CUdeviceptr pointer;
  CUmemGenericAllocationHandle handle;
  CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  CUcontext first = start_on(0), second = start_on(1);
  OK(cuCtxSetCurrent(first));
  OK(request(MIB));
  OK(cuMemAllocManaged(&pointer, MIB, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAllocAsync(&pointer, MIB, 0));
  IS(cuMemCreate(&handle, 2 * MIB, &property, 0), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuMemCreate(&handle, 2 * MIB, &property, 0));
  OK(cuCtxSetCurrent(second));
  IS(cuMemAllocAsync(&pointer, MIB, 0), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuMemAllocAsync(&pointer, MIB, 0));
}

// A device that is not meant is left alone; devices are counted by their bus, not by what a process sees.
CASE(by_bus_number, "DEVICES=2x64MiB FAULTS=alloc=1@1 CUDA_VISIBLE_DEVICES=1,0") {
  start_on(0);
  IS(request(MIB), CUDA_ERROR_OUT_OF_MEMORY);
  start_on(1);
  OK(request(MIB));
}

// lost=N: from that request on the device answers with errors, to CUDA and to NVML; the other one works.
CASE(device_lost, "DEVICES=2x64MiB FAULTS=lost=2@0") {
  nvmlDevice_t device, other;
  nvmlMemory_t memory;
  nvmlProcessInfo_t process[4];
  CUdeviceptr pointer;
  size_t left, total;
  unsigned count = 4;
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
  OK(nvmlDeviceGetHandleByIndex_v2(1, &other));
  CUcontext second = start_on(1);
  start_on(0);
  CUdeviceptr kept = allocated(2 * MIB);
  CUresult rc = request(2 * MIB);
  HOLDS(rc != CUDA_SUCCESS && rc != CUDA_ERROR_OUT_OF_MEMORY);
  IS(request(2 * MIB), rc); /* sticky */
  IS(cuMemGetInfo(&left, &total), rc);
  IS(cuMemFree(kept), rc);
  IS(cuCtxSynchronize(), rc);
  IS(cuMemsetD8(kept, 0, MIB), rc);
  IS(cuMemAllocAsync(&pointer, MIB, 0), rc);
  IS(nvmlDeviceGetMemoryInfo(device, &memory), NVML_ERROR_GPU_IS_LOST);
  IS(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process), NVML_ERROR_GPU_IS_LOST);
  SAYS(nvmlErrorString(NVML_ERROR_GPU_IS_LOST), "GPU is lost");
  OK(cuCtxSetCurrent(second));
  OK(request(2 * MIB));
  OK(nvmlDeviceGetMemoryInfo(other, &memory));
}

// init=RC is what cuInit answers, each time.
CASE(init_fails, "DEVICES=64MiB FAULTS=init=802") {
  int count;
  IS(cuInit(0), CUDA_ERROR_SYSTEM_NOT_READY);
  IS(cuInit(0), CUDA_ERROR_SYSTEM_NOT_READY);
  IS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}
CASE(init_finds_no_device, "DEVICES=64MiB FAULTS=init=100") { IS(cuInit(0), CUDA_ERROR_NO_DEVICE); }
CASE(init_fails_unknown, "DEVICES=64MiB FAULTS=init=999") { IS(cuInit(0), CUDA_ERROR_UNKNOWN); }

// other=SIZE:N: another process takes memory just before the N-th request, and NVML shows it.
CASE(other_process, "DEVICES=64MiB FAULTS=other=40MiB:2 GRANULARITY=1") {
  nvmlDevice_t device;
  nvmlProcessInfo_t process[4];
  unsigned count = 4;
  start();
  OK(request(20 * MIB));
  IS(used_bytes(), 20 * MIB);
  IS(request(20 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
  IS(free_bytes(), 4 * MIB);
  OK(request(4 * MIB));
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
  OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process));
  IS(count, 2);
  unsigned other = process[0].pid == 4194303 ? 0 : 1;
  IS(process[other].pid, 4194303);
  IS(process[other].usedGpuMemory, 40 * MIB);
  IS(process[!other].pid, getpid());
  IS(process[!other].usedGpuMemory, 24 * MIB);
}

// It takes what is free where that is less than it wants.
CASE(other_process_takes_the_rest, "DEVICES=64MiB FAULTS=other=1GiB:2 GRANULARITY=1") {
  start();
  CUdeviceptr mine = allocated(20 * MIB);
  IS(request(1), CUDA_ERROR_OUT_OF_MEMORY);
  IS(free_bytes(), 0);
  OK(cuMemFree(mine));
  IS(free_bytes(), 20 * MIB);
}

// Several faults strike each in its turn.
CASE(several, "DEVICES=64MiB FAULTS=alloc=1,alloc=3,other=2MiB:2") {
  start();
  IS(request(2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
  OK(request(2 * MIB));
  IS(used_bytes(), 4 * MIB);
  IS(request(2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
  OK(request(2 * MIB));
}

// slow=MS makes calls take longer; how much longer a busy machine makes them is not asserted.
CASE(slow, "DEVICES=64MiB FAULTS=slow=20") {
  struct timespec before, after;
  start();
  clock_gettime(CLOCK_MONOTONIC, &before);
  CUdeviceptr pointer = allocated(MIB);
  OK(cuMemFree(pointer));
  clock_gettime(CLOCK_MONOTONIC, &after);
  HOLDS((after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec >= 40000000LL);
}
