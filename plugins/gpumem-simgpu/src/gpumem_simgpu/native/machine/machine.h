/* The simulated machine: its devices as the environment describes them.  It is read once, when the first call
 * of any of the four libraries arrives, and never changes afterwards. */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H
#include <stddef.h>

#define SIM_MAX_DEVICES 16
#define SIM_UUID_TEXT 48 /* "MIG-" and 36 characters, with room */

typedef struct {
  size_t total;      /* bytes of memory that CUDA reports */
  size_t nvml_total; /* bytes that NVML reports; the difference is what the driver reserves */
  size_t context;    /* bytes that each context takes */
  char name[96];
  int cc_major, cc_minor, multiprocessors;
  int pools, vmm, managed, integrated; /* yes or no */
  int gpu;                             /* which physical GPU it is, or is a slice of */
  int slice;                           /* its number on that GPU; -1 for a whole GPU */
  char profile[32];                    /* of a slice, such as 1g.5gb */
  unsigned char uuid[16];
} SimDevice;

typedef struct {
  int first, count; /* its devices: one whole GPU, or slices that are neighbours */
  unsigned char uuid[16];
} SimGpu;

typedef enum {
  SIM_NVML_PRESENT,
  SIM_NVML_MISSING,
  SIM_NVML_MISMATCH,
  SIM_NVML_NO_PERMISSION,
  SIM_NVML_UNSUPPORTED,
  SIM_NVML_NO_SIZES,
} SimNvmlMode;

/* The number of a device in `device` is called its bus number everywhere. */
typedef struct {
  int devices, gpus;
  SimDevice device[SIM_MAX_DEVICES]; /* in bus order */
  SimGpu gpu[SIM_MAX_DEVICES];
  int fastest[SIM_MAX_DEVICES]; /* bus numbers in CUDA's own order */
  size_t granularity;           /* bytes that requests are rounded up to */
  int driver_version;           /* 13000 is CUDA 13.0 */
  SimNvmlMode nvml;
} SimMachine;

#pragma GCC visibility push(default) /* NVML and the runtime are libraries of their own */
const SimMachine *sim_machine(void);

/* "GPU-..." of a whole GPU, "MIG-..." of a slice. */
void sim_device_uuid_text(int bus, char out[SIM_UUID_TEXT]);
void sim_gpu_uuid_text(int gpu, char out[SIM_UUID_TEXT]);
#pragma GCC visibility pop

/* machine.c */
void sim_machine_read(SimMachine *machine);

/* visible.c: bus numbers of what CUDA shows now, in its order; returns how many. */
int sim_visible(const SimMachine *machine, int bus[SIM_MAX_DEVICES]);
#endif
