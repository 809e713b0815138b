/* Devices and contexts. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sim_up;
pthread_mutex_t sim_driver_mutex = PTHREAD_MUTEX_INITIALIZER;
struct CUctx_st sim_primary[SIM_MAXDEV];
struct CUmemPoolHandle_st sim_pool[SIM_MAXDEV], *sim_current_pool[SIM_MAXDEV];
static int charged[SIM_MAXDEV];
static unsigned long long last_id;
static __thread CUcontext stack[64];
static __thread int depth;

CUcontext sim_current(void) { return depth ? stack[depth - 1] : 0; }
unsigned long long sim_next_id(void) { return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED); }

/* ---- initialisation, devices ---- */
API cuInit(unsigned flags) {
  sim_boot();
  pthread_mutex_lock(&sim_driver_mutex);
  if (!sim_up) sim_visible();
  if (!CFG->ndev) {
    pthread_mutex_unlock(&sim_driver_mutex);
    return CUDA_ERROR_NO_DEVICE;
  }
  if (!sim_up)
    for (int i = 0; i < CFG->ndev; i++) {
      sim_primary[i].dev = i, sim_primary[i].primary = 1, sim_primary[i].id = sim_next_id();
      sim_pool[i].dev = i, sim_current_pool[i] = &sim_pool[i];
    }
  sim_up = 1;
  pthread_mutex_unlock(&sim_driver_mutex);
  TRACE(-1, -1, 0);
  return CUDA_SUCCESS;
}
API cuDriverGetVersion(int *v) {
  sim_boot();
  *v = CFG->driver_version;
  return 0;
}
API cuDeviceGetCount(int *n) {
  NEED_INIT;
  *n = CFG->ndev;
  return 0;
}
API cuDeviceGet(CUdevice *d, int i) {
  NEED_DEV(i);
  *d = i;
  return 0;
}
API cuDeviceGetName(char *s, int n, CUdevice d) {
  NEED_DEV(d);
  snprintf(s, n, "%s", CFG->name[sim_phys(d)]);
  return 0;
}
API cuDeviceGetUuid_v2(CUuuid *u, CUdevice d) {
  NEED_DEV(d);
  memcpy(u, CFG->uuid[sim_phys(d)], 16);
  return 0;
}
API cuDeviceGetUuid(CUuuid *u, CUdevice d) { return cuDeviceGetUuid_v2(u, d); }
API cuDeviceTotalMem_v2(size_t *n, CUdevice d) {
  NEED_DEV(d);
  *n = sim_total(d);
  return 0;
}
API cuDeviceComputeCapability(int *a, int *b, CUdevice d) {
  NEED_DEV(d);
  *a = CFG->cc_major;
  *b = CFG->cc_minor;
  return 0;
}
API cuDeviceGetPCIBusId(char *s, int n, CUdevice d) {
  NEED_DEV(d);
  snprintf(s, n, "0000:%02X:00.0", sim_phys(d) + 1);
  return 0;
}
API cuDeviceGetByPCIBusId(CUdevice *d, const char *s) {
  NEED_INIT;
  unsigned dom, bus;
  if (sscanf(s, "%x:%x", &dom, &bus) == 2)
    for (int i = 0; i < CFG->ndev; i++)
      if (sim_phys(i) + 1 == (int)bus) {
        *d = i;
        return 0;
      }
  return CUDA_ERROR_INVALID_DEVICE;
}
API cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  NEED_DEV(a);
  NEED_DEV(b);
  *can = a != b;
  return 0;
}
API cuDeviceGetP2PAttribute(int *v, CUdevice_P2PAttribute a, CUdevice x, CUdevice y) {
  NEED_DEV(x);
  NEED_DEV(y);
  *v = a != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
  return 0;
}
API cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
  NEED_DEV(d);
  switch ((int)a) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *v = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *v = 64; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *v = 0x7fffffff; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *v = 65535; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *v = 49152; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 166912; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *v = 167936; break;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: *v = 1024; break;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: *v = 65536; break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *v = 0x7fffffff; break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *v = 65536; break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *v = 1410000; break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *v = 1215000; break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *v = 5120; break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *v = 40 << 20; break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: *v = 512; break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: *v = 32; break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = CFG->sms; break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *v = 2048; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *v = 32; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = CFG->cc_major; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = CFG->cc_minor; break;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *v = sim_phys(d) + 1; break;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *v = 2; break;
  case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
  case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *v = 1; break;
  case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES: *v = 1; break;
  case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: *v = 2; break;
  default: *v = 0;
  }
  return 0;
}

/* ---- contexts ---- */
static CUresult charge(int d) { /* the first context of a process costs memory */
  if (charged[d]) return 0;
  SimMemory said = {.api = "context", .dev = d, .bytes = (long long)CFG->ctx_bytes};
  if (CFG->ctx_bytes && sim_take(d, CFG->ctx_bytes))
    said.rc = CUDA_ERROR_OUT_OF_MEMORY;
  else
    charged[d] = 1;
  sim_memory(&said);
  return said.rc;
}
API cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
  NEED_DEV(d);
  CUresult rc = charge(d);
  if (rc) return rc;
  sim_primary[d].refs++;
  *c = &sim_primary[d];
  TRACE(d, -1, *c);
  return 0;
}
API cuDevicePrimaryCtxRelease_v2(CUdevice d) {
  NEED_DEV(d);
  if (sim_primary[d].refs) sim_primary[d].refs--;
  return 0;
}
API cuDevicePrimaryCtxRelease(CUdevice d) { return cuDevicePrimaryCtxRelease_v2(d); }
API cuDevicePrimaryCtxReset_v2(CUdevice d) {
  NEED_DEV(d);
  return 0;
}
API cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned f) {
  NEED_DEV(d);
  sim_primary[d].flags = f;
  return 0;
}
API cuDevicePrimaryCtxGetState(CUdevice d, unsigned *f, int *on) {
  NEED_DEV(d);
  *f = sim_primary[d].flags;
  *on = sim_primary[d].refs > 0;
  return 0;
}
API cuCtxCreate_v2(CUcontext *c, unsigned flags, CUdevice d) {
  NEED_DEV(d);
  CUresult rc = charge(d);
  if (rc) return rc;
  *c = calloc(1, sizeof **c);
  (*c)->dev = d, (*c)->flags = flags, (*c)->id = sim_next_id();
  if (depth < 64) stack[depth++] = *c;
  return 0;
}
API cuCtxCreate_v4(CUcontext *c, CUctxCreateParams *p, unsigned flags, CUdevice d) {
  return cuCtxCreate_v2(c, flags, d);
}
API cuCtxDestroy_v2(CUcontext c) {
  if (sim_current() == c && depth) depth--;
  return 0;
}
API cuCtxPushCurrent_v2(CUcontext c) {
  if (depth == 64) return CUDA_ERROR_INVALID_VALUE;
  stack[depth++] = c;
  return 0;
}
API cuCtxPopCurrent_v2(CUcontext *c) {
  if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
  if (c) *c = stack[depth - 1];
  depth--;
  return 0;
}
API cuCtxSetCurrent(CUcontext c) {
  NEED_INIT;
  if (!c) {
    if (depth) depth--;
    return 0;
  }
  if (!depth) depth = 1;
  stack[depth - 1] = c;
  return 0;
}
API cuCtxGetCurrent(CUcontext *c) {
  NEED_INIT;
  *c = sim_current();
  return 0;
}
API cuCtxGetDevice(CUdevice *d) {
  NEED_CTX;
  *d = c->dev;
  return 0;
}
API cuCtxGetDevice_v2(CUdevice *d, CUcontext x) {
  if (!x) x = sim_current();
  if (!x) return CUDA_ERROR_INVALID_CONTEXT;
  *d = x->dev;
  return 0;
}
API cuCtxGetFlags(unsigned *f) {
  NEED_CTX;
  *f = c->flags;
  return 0;
}
API cuCtxGetId(CUcontext x, unsigned long long *id) {
  if (!x) x = sim_current();
  if (!x) return CUDA_ERROR_INVALID_CONTEXT;
  *id = x->id;
  return 0;
}
API cuCtxGetApiVersion(CUcontext x, unsigned *v) {
  *v = 3020;
  return 0;
}
API cuCtxSynchronize(void) {
  NEED_CTX;
  (void)c;
  return 0;
}
API cuCtxGetStreamPriorityRange(int *lo, int *hi) {
  if (lo) *lo = 0;
  if (hi) *hi = -5;
  return 0;
}
API cuCtxEnablePeerAccess(CUcontext p, unsigned f) { return 0; }
API cuCtxDisablePeerAccess(CUcontext p) { return 0; }
API cuCtxSetLimit(CUlimit l, size_t v) { return 0; }
API cuCtxGetLimit(size_t *v, CUlimit l) {
  *v = l == CU_LIMIT_STACK_SIZE ? 1024 : 8 << 20;
  return 0;
}
