/* A forked child of a process that had started CUDA holds nothing and is refused; one of a process that had not
 * may use CUDA. */
#include "device.h"
#include "nvml_api.h"

// Every call that matters answers "not initialised", as the real driver does.
CASE(child_is_refused, "DEVICES=64MiB CONTEXT=1MiB STATE=shared") {
  start();
  CUdeviceptr kept = allocated(20 * MIB);
  pid_t child = fork_child();
  if (!child) {
    CUdeviceptr pointer;
    CUcontext context;
    size_t left, total;
    int count;
    IS(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuMemAlloc(&pointer, MIB), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuMemGetInfo(&left, &total), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuMemFree(kept), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuMemAllocAsync(&pointer, MIB, 0), CUDA_ERROR_NOT_INITIALIZED);
    exit(0);
  }
  IS(ended_with(child), 0);
  IS(used_bytes(), 21 * MIB);
  OK(cuMemFree(kept));
  IS(used_bytes(), 1 * MIB);
}

// The same after cuInit alone.
CASE(child_after_init, "DEVICES=64MiB") {
  OK(cuInit(0));
  pid_t child = fork_child();
  if (!child) {
    int count;
    IS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    exit(0);
  }
  IS(ended_with(child), 0);
}

// A child of a process that had not started CUDA starts it for itself.
CASE(child_before_init, "DEVICES=64MiB STATE=shared") {
  pid_t child = fork_child();
  if (!child) {
    start();
    allocated(20 * MIB);
    exit(0);
  }
  IS(ended_with(child), 0);
  start();
  IS(used_bytes(), 0);
}

// NVML goes on working in a child, and lists the parent.
CASE(nvml_in_a_child, "DEVICES=64MiB STATE=shared") {
  start();
  allocated(20 * MIB);
  OK(nvmlInit_v2());
  pid_t parent = getpid(), child = fork_child();
  if (!child) {
    nvmlDevice_t device;
    nvmlMemory_t memory;
    nvmlProcessInfo_t process[8];
    unsigned count = 8;
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
    OK(nvmlDeviceGetMemoryInfo(device, &memory));
    IS(memory.used, 20 * MIB);
    OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process));
    IS(count, 1);
    IS(process[0].pid, parent);
    IS(process[0].usedGpuMemory, 20 * MIB);
    exit(0);
  }
  IS(ended_with(child), 0);
  IS(used_bytes(), 20 * MIB);
}

// The end of a child takes nothing from its parent, whether it exits or is killed.
CASE(end_of_a_child, "DEVICES=64MiB STATE=shared") {
  start();
  CUdeviceptr kept = allocated(20 * MIB);
  for (int i = 0; i < 4; i++) {
    pid_t child = fork_child();
    if (!child) {
      if (i % 2) kill(getpid(), SIGKILL);
      exit(0);
    }
    ended_with(child);
    IS(used_bytes(), 20 * MIB);
  }
  OK(cuMemFree(kept));
}

static volatile int stop;
static void *allocates_all_the_time(void *argument) {
  OK(cuCtxSetCurrent(argument));
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) OK(cuMemFree(allocated(KIB)));
  return 0;
}

// A fork while another thread is inside the driver leaves no lock behind that a child would wait for.
CASE(fork_in_the_middle, "DEVICES=64MiB STATE=shared") {
  pthread_t thread[2];
  CUcontext context = start();
  for (int i = 0; i < 2; i++) IS(pthread_create(&thread[i], 0, allocates_all_the_time, context), 0);
  for (int i = 0; i < 15; i++) {
    pid_t child = fork_child();
    if (!child) {
      nvmlDevice_t device;
      nvmlMemory_t memory;
      CUdeviceptr pointer;
      IS(cuMemAlloc(&pointer, KIB), CUDA_ERROR_NOT_INITIALIZED);
      OK(nvmlInit_v2());
      OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
      OK(nvmlDeviceGetMemoryInfo(device, &memory));
      raise(SIGKILL); /* no look for leaks: what the other threads held at the fork would be one */
    }
    IS(ended_with(child), 128 + SIGKILL);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) IS(pthread_join(thread[i], 0), 0);
  IS(used_bytes(), 0);
}
