/* Streams, events, modules and launches: accepted and checked, and at an end at once. */
#include "device.h"

// A stream knows what it was made with; what is no stream is refused.
CASE(streams, "DEVICES=2x64MiB") {
  CUstream stream = 0, other = 0;
  CUcontext found = 0;
  unsigned flags = 9;
  int priority = 9;
  unsigned long long one = 0, two = 0;
  CUcontext context = start();
  OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -1));
  OK(cuStreamCreate(&other, 0));
  OK(cuStreamGetFlags(stream, &flags));
  IS(flags, CU_STREAM_NON_BLOCKING);
  OK(cuStreamGetPriority(stream, &priority));
  IS(priority, -1);
  OK(cuStreamGetCtx(stream, &found));
  HOLDS(found == context);
  OK(cuStreamGetId(stream, &one));
  OK(cuStreamGetId(other, &two));
  HOLDS(one != two);
  OK(cuStreamQuery(stream));
  OK(cuStreamSynchronize(stream));
  OK(cuStreamQuery(CU_STREAM_LEGACY));
  OK(cuStreamQuery(CU_STREAM_PER_THREAD));
  OK(cuStreamDestroy(stream));
  HOLDS(cuStreamQuery(stream) != CUDA_SUCCESS);
  HOLDS(cuStreamDestroy(stream) != CUDA_SUCCESS);
  HOLDS(cuStreamDestroy(0) != CUDA_SUCCESS);
  IS(cuStreamCreate(0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuStreamCreate(&stream, 64), CUDA_ERROR_INVALID_VALUE);
}

// Memory of a pool comes from the device of the stream it is asked for in, whichever context is current.
CASE(pool_of_the_streams_device, "DEVICES=2x64MiB") {
  CUstream there = 0;
  CUdeviceptr pointer = 0;
  CUcontext first = start_on(0), second = start_on(1);
  OK(cuStreamCreate(&there, 0));
  OK(cuCtxSetCurrent(first));
  OK(cuMemAllocAsync(&pointer, 4 * MIB, there));
  IS(used_bytes(), 0);
  OK(cuCtxSetCurrent(second));
  IS(used_bytes(), 4 * MIB);
  OK(cuMemFreeAsync(pointer, there));
  OK(cuStreamSynchronize(there));
  IS(used_bytes(), 0);
  OK(cuStreamDestroy(there));
  HOLDS(cuMemAllocAsync(&pointer, MIB, there) != CUDA_SUCCESS);
}

static int called;
static void count_call(void *data) { called += *(int *)data; }
static void count_callback(CUstream stream, CUresult status, void *data) {
  (void)stream;
  IS(status, 0);
  count_call(data);
}

// Functions of the host are called, and may allocate.
CASE(host_functions, "DEVICES=64MiB") {
  int one = 1;
  CUdeviceptr memory;
  start();
  memory = allocated(64);
  OK(cuLaunchHostFunc(0, count_call, &one));
  OK(cuStreamAddCallback(0, count_callback, &one, 0));
  IS(called, 2);
  IS(cuLaunchHostFunc(0, 0, &one), CUDA_ERROR_INVALID_VALUE);
  unsigned value = 0;
  OK(cuStreamWriteValue32(0, memory, 77, 0));
  OK(cuMemcpyDtoH(&value, memory, sizeof value));
  IS(value, 77);
  OK(cuStreamWriteValue64(0, memory + 8, 78, 0));
  OK(cuStreamWaitValue32(0, memory, 77, CU_STREAM_WAIT_VALUE_GEQ));
}

// Events have happened when they are recorded, and tell the time between two of them.
CASE(events, "DEVICES=64MiB") {
  CUevent first = 0, second = 0, untimed = 0;
  float milliseconds = -1;
  start();
  OK(cuEventCreate(&first, 0));
  OK(cuEventCreate(&second, 0));
  OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  HOLDS(cuEventElapsedTime(&milliseconds, first, second) != CUDA_SUCCESS); /* not recorded yet */
  OK(cuEventRecord(first, 0));
  usleep(3000);
  OK(cuEventRecord(second, 0));
  OK(cuEventQuery(second));
  OK(cuEventSynchronize(second));
  OK(cuStreamWaitEvent(0, second, 0));
  OK(cuEventElapsedTime(&milliseconds, first, second));
  HOLDS(milliseconds >= 3.0f);
  OK(cuEventRecord(untimed, 0));
  HOLDS(cuEventElapsedTime(&milliseconds, untimed, second) != CUDA_SUCCESS);
  OK(cuEventDestroy(first));
  HOLDS(cuEventRecord(first, 0) != CUDA_SUCCESS);
  HOLDS(cuEventDestroy(first) != CUDA_SUCCESS);
  OK(cuEventDestroy(second));
  OK(cuEventDestroy(untimed));
}

// Nothing is ever being captured, and asking for a capture is not supported.
CASE(capture, "DEVICES=64MiB") {
  CUstreamCaptureStatus status = 9;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  start();
  OK(cuStreamIsCapturing(0, &status));
  IS(status, CU_STREAM_CAPTURE_STATUS_NONE);
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  IS(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  IS(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  IS(cuStreamBeginCapture(0, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_NOT_SUPPORTED);
}

// Modules have every function and variable that is asked for; launches are accepted.
CASE(modules, "DEVICES=64MiB") {
  CUmodule module = 0;
  CUfunction function = 0, same = 0;
  CUdeviceptr variable = 0, again = 0;
  const char *name = 0;
  size_t bytes = 0;
  int value = 0;
  start();
  OK(cuModuleLoadData(&module, "anything"));
  OK(cuModuleGetFunction(&function, module, "kernel"));
  OK(cuModuleGetFunction(&same, module, "kernel"));
  OK(cuFuncGetName(&name, function));
  SAYS(name, "kernel");
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  HOLDS(value > 0);
  OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0));
  OK(cuModuleGetGlobal(&variable, &bytes, module, "variable"));
  HOLDS(bytes > 0);
  OK(cuMemsetD8(variable, 1, bytes));
  OK(cuModuleGetGlobal(&again, 0, module, "variable"));
  HOLDS(again == variable);
  for (int i = 0; i < 200; i++) { /* more variables than a fixed table would hold */
    char many[32];
    snprintf(many, sizeof many, "variable%d", i);
    OK(cuModuleGetGlobal(&again, &bytes, module, many));
    OK(cuMemsetD8(again, 1, 16));
  }
  IS(used_bytes(), 0);
  OK(cuModuleUnload(module));
  HOLDS(cuModuleUnload(module) != CUDA_SUCCESS);
  HOLDS(cuModuleGetFunction(&function, module, "kernel") != CUDA_SUCCESS);
}

// Libraries and their kernels likewise; they go with their context.
CASE(libraries, "DEVICES=64MiB") {
  CUlibrary library = 0;
  CUkernel kernel = 0;
  CUfunction function = 0;
  CUmodule module = 0;
  const char *name = 0;
  int grid = 0, threads = 0, count = 0;
  CUcontext context = 0;
  start();
  OK(cuCtxCreate(&context, 0, 0));
  OK(cuLibraryLoadData(&library, "anything", 0, 0, 0, 0, 0, 0));
  OK(cuLibraryGetKernel(&kernel, library, "kernel"));
  OK(cuKernelGetFunction(&function, kernel));
  OK(cuFuncGetName(&name, function));
  SAYS(name, "kernel");
  OK(cuLibraryGetModule(&module, library));
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, function, 0, 0, 0));
  HOLDS(grid > 0 && threads > 0);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, 128, 0));
  HOLDS(count > 0);
  OK(cuCtxDestroy(context));
}

// Every way to load, and every way to launch.
CASE(loads_and_launches, "DEVICES=64MiB") {
  CUmodule module[4] = {0};
  CUmodule of_function = 0;
  CUlibrary library = 0;
  CUkernel kernel = 0;
  CUfunction function = 0;
  CUdeviceptr variable = 0;
  CUmoduleLoadingMode mode = 9;
  const char *name = 0;
  size_t bytes = 0;
  int value = 0;
  start();
  OK(cuModuleLoad(&module[0], "file"));
  OK(cuModuleLoadDataEx(&module[1], "data", 0, 0, 0));
  OK(cuModuleLoadFatBinary(&module[2], "data"));
  OK(cuModuleGetLoadingMode(&mode));
  OK(cuLibraryLoadData(&library, "data", 0, 0, 0, 0, 0, 0));
  OK(cuLibraryGetGlobal(&variable, &bytes, library, "variable"));
  OK(cuMemsetD8Async(variable, 1, bytes, 0));
  OK(cuLibraryGetKernel(&kernel, library, "kernel"));
  OK(cuKernelGetName(&name, kernel));
  SAYS(name, "kernel");
  OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
  HOLDS(value > 0);
  OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, kernel, 0));
  OK(cuModuleGetFunction(&function, module[0], "kernel"));
  OK(cuFuncGetModule(&of_function, function));
  HOLDS(of_function == module[0]);
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
  IS(value, 80);
  OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
  OK(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1));
  CUlaunchConfig how = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
  OK(cuLaunchKernelEx(&how, function, 0, 0));
  OK(cuLaunchCooperativeKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0));
  HOLDS(cuLaunchKernel(0, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0) != CUDA_SUCCESS);
  OK(cuLibraryUnload(library));
  HOLDS(cuLibraryUnload(library) != CUDA_SUCCESS);
  HOLDS(cuMemsetD8(variable, 1, bytes) != CUDA_SUCCESS);
  HOLDS(cuModuleGetFunction(&function, module[0], "") != CUDA_SUCCESS);
}
