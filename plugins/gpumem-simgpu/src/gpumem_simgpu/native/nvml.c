/* The part of NVML that memory tools ask for.  Structures declared here by hand,
 * from the layouts that nvidia-ml-py documents. */
#define _GNU_SOURCE
#include "simgpu.h"
#include <stdio.h>
#include <string.h>
#define API __attribute__((visibility("default"))) int
enum { OK = 0, UNINIT = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, NO_LIBRARY = 12 };
typedef void *Dev; /* physical index + 1 */
typedef struct {
  unsigned long long total, free, used;
} Memory;
typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} Memory2;
typedef struct {
  unsigned pid;
  unsigned long long used;
  unsigned gi, ci;
} Proc;
typedef struct {
  char legacy[16];
  unsigned domain, bus, device, dev_id, sub_id;
  char id[32];
} Pci;
typedef struct {
  unsigned gpu, memory;
} Util;
static int inited;
#define NEED(d)                                                                                              \
  do {                                                                                                       \
    if (!inited) return UNINIT;                                                                              \
    if (!(d) || (long)(d) > sim_conf.nphys) return INVALID;                                                  \
  } while (0)
#define PHYS(d) ((int)(long)(d) - 1)

API nvmlInit_v2(void) {
  sim_boot();
  if (sim_conf.nvml == SIM_NVML_MISSING) return NO_LIBRARY;
  inited = 1;
  return OK;
}
API nvmlInit(void) { return nvmlInit_v2(); }
API nvmlInitWithFlags(unsigned f) { return nvmlInit_v2(); }
API nvmlShutdown(void) {
  inited = 0;
  return OK;
}
__attribute__((visibility("default"))) const char *nvmlErrorString(int rc) {
  switch (rc) {
  case OK: return "Success";
  case UNINIT: return "Uninitialized";
  case INVALID: return "Invalid Argument";
  case NOT_SUPPORTED: return "Not Supported";
  case NOT_FOUND: return "Not Found";
  case SMALL: return "Insufficient Size";
  case NO_LIBRARY: return "NVML Shared Library Not Found";
  default: return "Unknown Error";
  }
}
API nvmlSystemGetDriverVersion(char *s, unsigned n) {
  snprintf(s, n, "580.00.00");
  return OK;
}
API nvmlSystemGetNVMLVersion(char *s, unsigned n) {
  snprintf(s, n, "13.580.00.00");
  return OK;
}
API nvmlSystemGetCudaDriverVersion(int *v) {
  sim_boot();
  *v = sim_conf.driver_version;
  return OK;
}
API nvmlSystemGetCudaDriverVersion_v2(int *v) { return nvmlSystemGetCudaDriverVersion(v); }
API nvmlDeviceGetCount_v2(unsigned *n) {
  if (!inited) return UNINIT;
  *n = (unsigned)sim_conf.nphys;
  return OK;
}
API nvmlDeviceGetCount(unsigned *n) { return nvmlDeviceGetCount_v2(n); }
API nvmlDeviceGetHandleByIndex_v2(unsigned i, Dev *d) {
  if (!inited) return UNINIT;
  if (i >= (unsigned)sim_conf.nphys) return INVALID;
  *d = (Dev)(long)(i + 1);
  return OK;
}
API nvmlDeviceGetHandleByIndex(unsigned i, Dev *d) { return nvmlDeviceGetHandleByIndex_v2(i, d); }
API nvmlDeviceGetUUID(Dev d, char *s, unsigned n) {
  NEED(d);
  sim_uuid_text(PHYS(d), s, n);
  return OK;
}
API nvmlDeviceGetHandleByUUID(const char *s, Dev *d) {
  char b[64];
  for (long i = 1; i <= sim_conf.nphys; i++) {
    nvmlDeviceGetUUID((Dev)i, b, sizeof b);
    if (!strncmp(b, s, strlen(s))) {
      *d = (Dev)i;
      return OK;
    }
  }
  return NOT_FOUND;
}
API nvmlDeviceGetHandleByPciBusId_v2(const char *s, Dev *d) {
  unsigned dom, bus;
  if (sscanf(s, "%x:%x", &dom, &bus) != 2 || bus < 1 || bus > (unsigned)sim_conf.nphys) return NOT_FOUND;
  *d = (Dev)(long)bus;
  return OK;
}
API nvmlDeviceGetIndex(Dev d, unsigned *i) {
  NEED(d);
  *i = (unsigned)PHYS(d);
  return OK;
}
API nvmlDeviceGetMinorNumber(Dev d, unsigned *i) {
  NEED(d);
  *i = (unsigned)PHYS(d);
  return OK;
}
API nvmlDeviceGetName(Dev d, char *s, unsigned n) {
  NEED(d);
  snprintf(s, n, "%s", sim_conf.name[PHYS(d)]);
  return OK;
}
API nvmlDeviceGetCudaComputeCapability(Dev d, int *a, int *b) {
  NEED(d);
  *a = sim_conf.cc_major;
  *b = sim_conf.cc_minor;
  return OK;
}
API nvmlDeviceGetPciInfo_v3(Dev d, Pci *p) {
  NEED(d);
  memset(p, 0, sizeof *p);
  p->bus = (unsigned)PHYS(d) + 1;
  snprintf(p->legacy, sizeof p->legacy, "0000:%02X:00.0", p->bus);
  snprintf(p->id, sizeof p->id, "00000000:%02X:00.0", p->bus);
  return OK;
}
/* NVML's total may be larger than CUDA's; the difference is what the driver reserves.  The first version of
 * the call counts it as used, the second one names it. */
static int memory_info(int phys, Memory2 *m) {
  if (sim_conf.nvml == SIM_NVML_UNSUPPORTED) return NOT_SUPPORTED;
  m->total = sim_conf.nvml_total[phys];
  m->reserved = m->total > sim_conf.phys_total[phys] ? m->total - sim_conf.phys_total[phys] : 0;
  m->used = sim_used_phys(phys);
  m->free = m->total > m->used + m->reserved ? m->total - m->used - m->reserved : 0;
  return OK;
}
API nvmlDeviceGetMemoryInfo(Dev d, Memory *m) {
  NEED(d);
  Memory2 all;
  int rc = memory_info(PHYS(d), &all);
  if (rc) return rc;
  m->total = all.total, m->free = all.free, m->used = all.used + all.reserved;
  return OK;
}
API nvmlDeviceGetMemoryInfo_v2(Dev d, Memory2 *m) {
  NEED(d);
  return memory_info(PHYS(d), m);
}
API nvmlDeviceGetComputeRunningProcesses_v3(Dev d, unsigned *n, Proc *p) {
  NEED(d);
  pid_t pid[SIM_MAXPROC];
  size_t used[SIM_MAXPROC];
  unsigned k = (unsigned)sim_procs(PHYS(d), pid, used, SIM_MAXPROC), room = *n;
  *n = k;
  if (k > room) return SMALL;
  for (unsigned i = 0; i < k; i++)
    p[i].pid = (unsigned)pid[i], p[i].used = used[i], p[i].gi = p[i].ci = 0xffffffff;
  return OK;
}
API nvmlDeviceGetComputeRunningProcesses_v2(Dev d, unsigned *n, Proc *p) {
  return nvmlDeviceGetComputeRunningProcesses_v3(d, n, p);
}
API nvmlDeviceGetComputeRunningProcesses(Dev d, unsigned *n, void *p) { /* v1: 16-byte records */
  Proc q[SIM_MAXPROC];
  unsigned room = *n, k = SIM_MAXPROC;
  int rc = nvmlDeviceGetComputeRunningProcesses_v3(d, &k, q);
  *n = k;
  if (rc || k > room) return rc ? rc : SMALL;
  struct {
    unsigned pid;
    unsigned long long used;
  } *o = p;
  for (unsigned i = 0; i < k; i++) o[i].pid = q[i].pid, o[i].used = q[i].used;
  return OK;
}
API nvmlDeviceGetGraphicsRunningProcesses_v3(Dev d, unsigned *n, Proc *p) {
  NEED(d);
  *n = 0;
  return OK;
}
API nvmlDeviceGetUtilizationRates(Dev d, Util *u) {
  NEED(d);
  u->gpu = u->memory = 0;
  return OK;
}
API nvmlDeviceGetMaxMigDeviceCount(Dev d, unsigned *n) {
  NEED(d);
  *n = 0;
  return OK;
}
API nvmlDeviceGetMigMode(Dev d, unsigned *a, unsigned *b) {
  NEED(d);
  return NOT_SUPPORTED;
}
API nvmlDeviceGetNvLinkState(Dev d, unsigned l, unsigned *s) {
  NEED(d);
  return NOT_SUPPORTED;
}
/* torch insists on finding these */
API nvmlDeviceGetNvLinkRemoteDeviceType(Dev d, unsigned l, int *t) {
  NEED(d);
  return NOT_SUPPORTED;
}
API nvmlDeviceGetNvLinkRemotePciInfo_v2(Dev d, unsigned l, Pci *p) {
  NEED(d);
  return NOT_SUPPORTED;
}
API nvmlDeviceGetGpuFabricInfoV(Dev d, void *i) {
  NEED(d);
  return NOT_SUPPORTED;
}
/* XLA insists on finding these */
API nvmlDeviceGetCurrPcieLinkGeneration(Dev d, unsigned *v) {
  NEED(d);
  *v = 4;
  return OK;
}
API nvmlDeviceGetMaxPcieLinkGeneration(Dev d, unsigned *v) {
  NEED(d);
  *v = 4;
  return OK;
}
API nvmlDeviceGetCurrPcieLinkWidth(Dev d, unsigned *v) {
  NEED(d);
  *v = 16;
  return OK;
}
API nvmlDeviceGetFieldValues(Dev d, int n, void *v) {
  NEED(d);
  return NOT_SUPPORTED;
}
API nvmlSystemGetConfComputeState(void *s) { return NOT_SUPPORTED; }
