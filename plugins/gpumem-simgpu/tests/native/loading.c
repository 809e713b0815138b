/* A program that is not linked with the libraries but loads them, as frameworks do, and may close them again. */
#include "check.h"
#include <cuda.h>
#include <dlfcn.h>

static void *loaded(const char *library) {
  void *found = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!found) fprintf(stderr, "%s\n", dlerror());
  HOLDS(found != 0);
  return found;
}
static void *call(void *library, const char *name) {
  void *found = dlsym(library, name);
  HOLDS(found != 0);
  return found;
}

static void use(void *cuda, size_t bytes) {
  CUcontext context;
  CUdeviceptr pointer;
  CUresult (*init)(unsigned) = call(cuda, "cuInit");
  CUresult (*retain)(CUcontext *, CUdevice) = call(cuda, "cuDevicePrimaryCtxRetain");
  CUresult (*set)(CUcontext) = call(cuda, "cuCtxSetCurrent");
  CUresult (*alloc)(CUdeviceptr *, size_t) = call(cuda, "cuMemAlloc_v2");
  OK(init(0));
  OK(retain(&context, 0));
  OK(set(context));
  OK(alloc(&pointer, bytes));
}

// Closed and loaded again it works, and forks and ends of the process do not call into what is gone.
CASE(closed_and_loaded_again, "DEVICES=64MiB") {
  for (int i = 0; i < 3; i++) {
    void *cuda = loaded("libcuda.so.1"), *nvml = loaded("libnvidia-ml.so.1");
    use(cuda, 4 * MIB);
    IS(dlclose(nvml), 0);
    IS(dlclose(cuda), 0);
    pid_t child = fork_child();
    if (!child) exit(0);
    IS(ended_with(child), 0);
  }
}

// The runtime and NVML bring the driver along, and all of them see one machine.
CASE(one_machine, "DEVICES=64MiB") {
  void *runtime12 = loaded("libcudart.so.12"), *runtime13 = loaded("libcudart.so.13");
  void *nvml = loaded("libnvidia-ml.so.1"), *device = 0;
  struct {
    unsigned long long total, free, used;
  } memory = {0};
  void *pointer = 0;
  size_t left = 0, total = 0;
  int (*alloc)(void **, size_t) = call(runtime12, "cudaMalloc");
  int (*info)(size_t *, size_t *) = call(runtime13, "cudaMemGetInfo");
  int (*start)(void) = call(nvml, "nvmlInit_v2");
  int (*by_index)(unsigned, void **) = call(nvml, "nvmlDeviceGetHandleByIndex_v2");
  int (*memory_of)(void *, void *) = call(nvml, "nvmlDeviceGetMemoryInfo");
  OK(alloc(&pointer, 6 * MIB));
  OK(info(&left, &total));
  IS(left, 58 * MIB);
  OK(start());
  OK(by_index(0, &device));
  OK(memory_of(device, &memory));
  IS(memory.used, 6 * MIB);
}
