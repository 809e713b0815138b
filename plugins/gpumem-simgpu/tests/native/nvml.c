/* NVML: devices, memory and processes. */
#include "nvml_calls.h"

/* A process that holds so many bytes of a device until it is told to go. */
static pid_t holder(CUdevice device, size_t bytes, int *until) {
  int ready[2];
  char told;
  IS(pipe(ready), 0);
  IS(pipe(until), 0);
  pid_t child = fork_child();
  if (!child) {
    start_on(device);
    allocated(bytes);
    IS(write(ready[1], "x", 1), 1);
    while (read(until[0], &told, 1) < 0 && errno == EINTR) {}
    exit(0);
  }
  close(ready[1]);
  IS(read(ready[0], &told, 1), 1);
  return child;
}

static size_t size_of(const nvmlProcessInfo_t *process, unsigned count, pid_t pid) {
  for (unsigned i = 0; i < count; i++)
    if (process[i].pid == (unsigned)pid) return process[i].usedGpuMemory;
  return 0;
}

// Memory is told to the byte: total, used, free, and in the second version what is reserved.
CASE(memory, "DEVICES=60MiB NVML_TOTAL=64MiB CONTEXT=1MiB") {
  nvmlMemory_t memory;
  nvmlMemory_v2_t second = {.version = NVML_MEMORY_V2};
  nvmlDevice_t device = open_first();
  start();
  allocated(20 * MIB);
  IS(total_bytes(), 60 * MIB);
  OK(nvmlDeviceGetMemoryInfo(device, &memory));
  IS(memory.total, 64 * MIB);
  IS(memory.used, (4 + 21) * MIB); /* what the driver reserves counts as used */
  IS(memory.free, 39 * MIB);
  OK(nvmlDeviceGetMemoryInfo_v2(device, &second));
  IS(second.total, 64 * MIB);
  IS(second.reserved, 4 * MIB);
  IS(second.used, 21 * MIB);
  IS(second.free, 39 * MIB);
  second.version = 0;
  IS(nvmlDeviceGetMemoryInfo_v2(device, &second), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

// Each process of a device is listed with what it holds, contexts included, as long as it lives.
CASE(processes, "DEVICES=2x64MiB CONTEXT=1MiB STATE=shared") {
  nvmlProcessInfo_t process[8];
  int until[2], until_other[2];
  pid_t child = holder(0, 10 * MIB, until), other = holder(1, 6 * MIB, until_other);
  nvmlDevice_t first = open_first(), second = handle(1);
  start();
  allocated(20 * MIB);
  unsigned count = 8;
  OK(nvmlDeviceGetComputeRunningProcesses_v3(first, &count, process));
  IS(count, 2);
  IS(size_of(process, count, child), 11 * MIB);
  IS(size_of(process, count, getpid()), 21 * MIB);
  IS(process[0].gpuInstanceId, 0xffffffff);
  IS(process[1].computeInstanceId, 0xffffffff);
  count = 8;
  OK(nvmlDeviceGetComputeRunningProcesses_v3(second, &count, process));
  IS(count, 1);
  IS(size_of(process, count, other), 7 * MIB);
  IS(write(until[1], "x", 1), 1);
  IS(ended_with(child), 0);
  kill(other, SIGKILL);
  ended_with(other);
  count = 8;
  OK(nvmlDeviceGetComputeRunningProcesses_v3(first, &count, process));
  IS(count, 1);
  count = 8;
  OK(nvmlDeviceGetComputeRunningProcesses_v3(second, &count, process));
  IS(count, 0);
}

// A buffer that is too small is answered with how many there are, and nothing is written past it.
CASE(small_buffers, "DEVICES=64MiB STATE=shared") {
  int until[2], until_other[2];
  holder(0, 2 * MIB, until);
  holder(0, 2 * MIB, until_other);
  nvmlDevice_t device = open_first();
  start();
  allocated(2 * MIB);
  for (unsigned room = 0; room < 3; room++) {
    nvmlProcessInfo_t process[4];
    nvmlProcessInfo_v1_t old[4];
    memset(process, 0x7e, sizeof process);
    memset(old, 0x7e, sizeof old);
    unsigned count = room;
    IS(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, room ? process : 0), NVML_ERROR_INSUFFICIENT_SIZE);
    IS(count, 3);
    IS(process[room].pid, 0x7e7e7e7e);
    count = room;
    IS(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, room ? process : 0), NVML_ERROR_INSUFFICIENT_SIZE);
    IS(count, 3);
    count = room;
    IS(nvmlDeviceGetComputeRunningProcesses(device, &count, room ? old : 0), NVML_ERROR_INSUFFICIENT_SIZE);
    IS(count, 3);
    IS(old[room].pid, 0x7e7e7e7e);
  }
}

// The three versions of the list tell the same in their own layouts.
CASE(three_versions, "DEVICES=64MiB") {
  nvmlProcessInfo_v1_t old[3];
  nvmlProcessInfo_t second[3], third[3];
  nvmlDevice_t device = open_first();
  start();
  allocated(6 * MIB);
  memset(old, 0x7e, sizeof old);
  memset(second, 0x7e, sizeof second);
  memset(third, 0x7e, sizeof third);
  unsigned count = 3;
  OK(nvmlDeviceGetComputeRunningProcesses(device, &count, old));
  IS(count, 1);
  IS(old[0].pid, getpid());
  IS(old[0].usedGpuMemory, 6 * MIB);
  IS(old[1].pid, 0x7e7e7e7e);
  count = 1; /* exactly enough */
  OK(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, second));
  OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, third));
  IS(second[0].usedGpuMemory, 6 * MIB);
  IS(third[0].pid, getpid());
  IS(third[0].usedGpuMemory, 6 * MIB);
  IS(third[1].pid, 0x7e7e7e7e);
  count = 3;
  OK(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &count, third));
  IS(count, 0);
}

// Devices are found by index, UUID and bus address, and only by those that exist.
CASE(handles, "DEVICES=16MiB,32MiB NAMES=first,second CC=8.0,9.0") {
  nvmlDevice_t device = 0;
  nvmlPciInfo_t pci;
  nvmlMemory_t memory;
  unsigned count = 0, index = 9;
  int major = 0, minor = 9, version = 0;
  char text[96], short_text[4];
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetCount_v2(&count));
  IS(count, 2);
  IS(nvmlDeviceGetHandleByIndex_v2(2, &device), NVML_ERROR_INVALID_ARGUMENT);
  OK(nvmlDeviceGetUUID(handle(1), text, sizeof text));
  OK(nvmlDeviceGetHandleByUUID(text, &device));
  OK(nvmlDeviceGetIndex(device, &index));
  IS(index, 1);
  OK(nvmlDeviceGetPciInfo_v3(handle(1), &pci));
  OK(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &device));
  OK(nvmlDeviceGetName(device, text, sizeof text));
  SAYS(text, "second");
  OK(nvmlDeviceGetMemoryInfo(device, &memory));
  IS(memory.total, 32 * MIB);
  OK(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
  IS(major * 10 + minor, 90);
  IS(nvmlDeviceGetHandleByUUID("GPU-none", &device), NVML_ERROR_NOT_FOUND);
  IS(nvmlDeviceGetHandleByPciBusId_v2("00000000:7F:00.0", &device), NVML_ERROR_NOT_FOUND);
  IS(nvmlDeviceGetName(0, text, sizeof text), NVML_ERROR_INVALID_ARGUMENT);
  IS(nvmlDeviceGetMemoryInfo(0, &memory), NVML_ERROR_INVALID_ARGUMENT);
  IS(nvmlDeviceGetMemoryInfo(handle(0), 0), NVML_ERROR_INVALID_ARGUMENT);
  IS(nvmlDeviceGetName(handle(0), short_text, sizeof short_text), NVML_ERROR_INSUFFICIENT_SIZE);
  IS(nvmlDeviceGetUUID(handle(0), short_text, sizeof short_text), NVML_ERROR_INSUFFICIENT_SIZE);
  OK(nvmlSystemGetCudaDriverVersion_v2(&version));
  IS(version, 13000);
  OK(nvmlSystemGetDriverVersion(text, sizeof text));
  HOLDS(strlen(text) > 3);
}

// Nothing is answered before the start or after the last shutdown; starts are counted.
CASE(started_and_shut_down, "DEVICES=64MiB") {
  unsigned count;
  nvmlDevice_t device;
  IS(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  IS(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_UNINITIALIZED);
  IS(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  OK(nvmlInit_v2());
  OK(nvmlInitWithFlags(0));
  OK(nvmlShutdown());
  OK(nvmlDeviceGetCount_v2(&count));
  OK(nvmlShutdown());
  IS(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  OK(nvmlInit());
  OK(nvmlDeviceGetCount_v2(&count));
}

// NVML does not follow CUDA_VISIBLE_DEVICES or CUDA's order.
CASE(bus_order, "DEVICES=16MiB,32MiB,48MiB FASTEST_FIRST=2,0,1 CUDA_VISIBLE_DEVICES=0") {
  nvmlMemory_t memory;
  unsigned count = 0;
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetCount_v2(&count));
  IS(count, 3);
  for (unsigned i = 0; i < 3; i++) {
    OK(nvmlDeviceGetMemoryInfo(handle(i), &memory));
    IS(memory.total, 16 * (i + 1) * MIB);
  }
  start();
  IS(total_bytes(), 48 * MIB);
  allocated(8 * MIB);
  OK(nvmlDeviceGetMemoryInfo(handle(2), &memory));
  IS(memory.used, 8 * MIB);
}

// Every error has a text, and numbers that are none have one as well.
CASE(texts_of_errors, "DEVICES=64MiB") {
  SAYS(nvmlErrorString(NVML_SUCCESS), "Success");
  SAYS(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
  SAYS(nvmlErrorString(NVML_ERROR_UNINITIALIZED), "Uninitialized");
  SAYS(nvmlErrorString(NVML_ERROR_INVALID_ARGUMENT), "Invalid Argument");
  SAYS(nvmlErrorString(NVML_ERROR_NO_PERMISSION), "Insufficient Permissions");
  SAYS(nvmlErrorString(NVML_ERROR_NOT_FOUND), "Not Found");
  SAYS(nvmlErrorString(NVML_ERROR_INSUFFICIENT_SIZE), "Insufficient Size");
  for (int i = -1; i < 1100; i++) HOLDS(strlen(nvmlErrorString(i)) > 0);
}

// What is asked in passing has an answer that is none of memory's business.
CASE(asked_in_passing, "DEVICES=2x64MiB") {
  unsigned value = 9, link = 9;
  char text[96];
  struct {
    unsigned gpu, memory;
  } utilization;
  nvmlProcessInfo_t process[2];
  nvmlDevice_t device = open_first();
  OK(nvmlDeviceGetUtilizationRates(device, &utilization));
  IS(utilization.gpu, 0);
  OK(nvmlDeviceGetMinorNumber(handle(1), &value));
  IS(value, 1);
  OK(nvmlSystemGetNVMLVersion(text, sizeof text));
  HOLDS(strlen(text) > 3);
  OK(nvmlDeviceGetCurrPcieLinkGeneration(device, &value));
  OK(nvmlDeviceGetMaxPcieLinkGeneration(device, &value));
  OK(nvmlDeviceGetCurrPcieLinkWidth(device, &value));
  IS(nvmlDeviceGetNvLinkState(device, 0, &link), NVML_ERROR_NOT_SUPPORTED);
  IS(nvmlDeviceGetUtilizationRates(0, &utilization), NVML_ERROR_INVALID_ARGUMENT);
  value = 2;
  OK(nvmlDeviceGetMPSComputeRunningProcesses_v3(device, &value, process));
  IS(value, 0);
}

static void *asks_all_the_time(void *argument) {
  nvmlDevice_t device = argument;
  for (int i = 0; i < 50; i++) {
    nvmlMemory_t memory;
    nvmlProcessInfo_t process[4];
    unsigned count = 4;
    OK(nvmlInit_v2());
    OK(nvmlDeviceGetMemoryInfo(device, &memory));
    HOLDS(memory.used <= 16 * MIB);
    OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, process));
    OK(nvmlShutdown());
  }
  return 0;
}

// Threads may ask while others allocate.
CASE(asked_by_threads, "DEVICES=64MiB") {
  pthread_t thread[4];
  nvmlDevice_t device = open_first();
  start();
  for (int i = 0; i < 4; i++) IS(pthread_create(&thread[i], 0, asks_all_the_time, device), 0);
  for (int i = 0; i < 100; i++) OK(cuMemFree(allocated(16 * MIB)));
  for (int i = 0; i < 4; i++) IS(pthread_join(thread[i], 0), 0);
}
