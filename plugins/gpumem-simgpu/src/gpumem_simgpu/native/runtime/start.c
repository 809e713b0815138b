/* The runtime starts CUDA and makes contexts when they are first needed. */
#include "runtime.h"
#include <pthread.h>

#define MOST_DEVICES 16

static __thread int device;
static __thread cudaError_t last;

/* The primary contexts that this runtime holds; each is retained once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static CUcontext held[MOST_DEVICES];

cudaError_t failed(int rc) {
  if (rc) last = (cudaError_t)rc;
  return (cudaError_t)rc;
}
RT cudaGetLastError(void) {
  cudaError_t rc = last;
  last = cudaSuccess;
  return rc;
}
RT cudaPeekAtLastError(void) { return last; }

cudaError_t started(void) { return (cudaError_t)cuInit(0); }
int chosen_device(void) { return device; }

/* Make the primary context active and current. */
static int enter_primary(int dev) {
  CUcontext context = 0;
  unsigned flags;
  int active;
  pthread_mutex_lock(&mutex);
  int rc = (int)cuDevicePrimaryCtxGetState(dev, &flags, &active);
  if (!rc && (!held[dev] || !active)) {
    rc = (int)cuDevicePrimaryCtxRetain(&context, dev);
    /* Where somebody reset it under our hands, our first hold on it goes on, and one is enough. */
    if (!rc && held[dev]) cuDevicePrimaryCtxRelease(dev);
    if (!rc) held[dev] = context;
  }
  context = held[dev];
  pthread_mutex_unlock(&mutex);
  return rc ? rc : (int)cuCtxSetCurrent(context);
}

cudaError_t in_context(void) {
  CUcontext context = 0;
  CUdevice dev;
  TRY(started());
  TRY(cuCtxGetCurrent(&context));
  if (context && cuCtxGetDevice(&dev) == CUDA_SUCCESS) return cudaSuccess;
  TRY(enter_primary(device));
  return cudaSuccess;
}

RT cudaSetDevice(int dev) {
  CUdevice found;
  TRY(started());
  TRY(cuDeviceGet(&found, dev));
  TRY(enter_primary(dev));
  device = dev;
  return cudaSuccess;
}
RT cudaGetDevice(int *dev) {
  CUdevice current;
  NEED(dev);
  TRY(started());
  *dev = cuCtxGetDevice(&current) ? device : current;
  return cudaSuccess;
}
RT cudaInitDevice(int dev, unsigned flags, unsigned kind) {
  CUcontext before = 0;
  CUdevice found;
  TRY(started());
  TRY(cuDeviceGet(&found, dev));
  TRY(cuCtxGetCurrent(&before));
  TRY(enter_primary(dev));
  TRY(cuCtxSetCurrent(before));
  return cudaSuccess;
}
RT cudaDeviceReset(void) {
  CUdevice dev;
  TRY(started());
  if (cuCtxGetDevice(&dev)) dev = device;
  pthread_mutex_lock(&mutex);
  int rc = (int)cuDevicePrimaryCtxReset(dev);
  if (!rc && held[dev]) cuDevicePrimaryCtxRelease(dev);
  if (!rc) held[dev] = 0;
  pthread_mutex_unlock(&mutex);
  TRY(rc);
  return failed((int)cuCtxSetCurrent(0));
}
RT cudaDeviceSynchronize(void) {
  TRY(in_context());
  return failed((int)cuCtxSynchronize());
}
