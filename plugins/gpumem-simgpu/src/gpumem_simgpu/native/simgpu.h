/* The simulated NVIDIA devices: what the driver, the runtime and NVML share.  All of it lives in
 * libcuda.so.1. */
#ifndef SIMGPU_H
#define SIMGPU_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SIM_MAXDEV 16
#define SIM_MAXPROC 128

typedef struct {
  int phys;
} SimVisible;

enum { SIM_NVML_PRESENT, SIM_NVML_MISSING, SIM_NVML_UNSUPPORTED };

typedef struct {
  int ndev, nphys;               /* how many devices CUDA shows, and how many there are */
  SimVisible dev[SIM_MAXDEV];    /* what CUDA shows, in its own order */
  int order[SIM_MAXDEV];         /* CUDA's order of the physical devices before CUDA_VISIBLE_DEVICES */
  size_t phys_total[SIM_MAXDEV]; /* memory that CUDA reports */
  size_t nvml_total[SIM_MAXDEV]; /* memory that NVML reports */
  char name[SIM_MAXDEV][96];
  unsigned char uuid[SIM_MAXDEV][16];
  int cc_major, cc_minor, sms, driver_version;
  size_t ctx_bytes; /* charged when a process first makes a context on a device */
  int nvml;         /* one of SIM_NVML_... */
} SimConf;

extern SimConf sim_conf;

/* config.c */
void sim_boot(void);    /* idempotent: read the environment, map the shared state */
void sim_visible(void); /* read CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, as cuInit does */
void sim_uuid_text(int phys, char *out, size_t n);
int sim_phys(int dev);
size_t sim_total(int dev);

/* accounting.c */
void sim_accounting_open(void);
int sim_take(int dev, size_t bytes); /* 0, or -1 when the device has no room */
void sim_give(int dev, size_t bytes);
size_t sim_used(int dev); /* bytes taken by all living processes */
size_t sim_used_phys(int phys);
void sim_totals(int dev, size_t *mine, size_t *peak, size_t *all);
int sim_procs(int phys, pid_t *pids, size_t *bytes, int max);

/* events.c: the log, JSON lines */
typedef struct {
  const char *api;
  int dev;         /* -1: no device */
  long long bytes; /* -1: no size */
  const void *ptr;
  unsigned long long id; /* of the block, the same when it is asked for and when it is freed */
  size_t freed;          /* bytes that this call is about to give back */
  int rc;
  const char *note;
} SimMemory;
void sim_events_open(void);
int sim_tracing(void);
void sim_event(const char *api, int dev, long long bytes, const void *ptr, int rc, const char *note);
void sim_memory(const SimMemory *m);    /* as sim_event, and names the library that called */
void sim_gone(pid_t pid);               /* a process ended without giving its memory back */
int sim_stub(const char *name, int rc); /* log a call that is not simulated, return rc */

/* caller.c */
const char *sim_caller(void); /* path of the library that called into ours, or 0 */
#endif
