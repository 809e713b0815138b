/* How much memory a device has, and who holds it. */
#include "nvml.h"
#include <string.h>

#define NOT_AVAILABLE (~0ull)
#define NO_INSTANCE 0xffffffffu

typedef struct {
  unsigned long long total, free, used;
} Memory;
typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} Memory2;
#define MEMORY_2 (sizeof(Memory2) | 2u << 24)

typedef struct {
  unsigned pid;
  unsigned long long used;
} Process1;
typedef struct {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
} Process2;

/* NVML does not tell the memory of a GPU that shares the host's: what an NVIDIA GB10 answers is in
 * https://github.com/XuehaiPan/nvitop/pull/208; it does list processes with their sizes there:
 * https://github.com/Syllo/nvtop/issues/426 */
static int add_memory(int bus, Memory2 *sum) {
  const SimDevice *device = &sim_machine()->device[bus];
  SimTotals now;
  if (device->integrated) return NOT_SUPPORTED;
  sim_ledger_totals(bus, &now);
  size_t reserved = device->nvml_total > device->total ? device->nvml_total - device->total : 0;
  size_t gone = now.all + reserved;
  sum->total += device->nvml_total, sum->reserved += reserved, sum->used += now.all;
  sum->free += device->nvml_total > gone ? device->nvml_total - gone : 0;
  return SUCCESS;
}

/* A sliced GPU has as much as its slices together. */
static int memory_of(Handle handle, Memory2 *sum) {
  const SimMachine *machine = sim_machine();
  Target target;
  TRY(nvml_target(handle, &target));
  if (machine->nvml == SIM_NVML_UNSUPPORTED) return NOT_SUPPORTED;
  memset(sum, 0, sizeof *sum);
  if (target.bus >= 0) return add_memory(target.bus, sum);
  const SimGpu *gpu = &machine->gpu[target.gpu];
  for (int bus = gpu->first; bus < gpu->first + gpu->count; bus++) TRY(add_memory(bus, sum));
  return SUCCESS;
}

/* The first version of the call counts what the driver reserves as used, the second one names it. */
API nvmlDeviceGetMemoryInfo(Handle handle, Memory *out) {
  Memory2 sum;
  TRY(nvml_ready());
  NEED(out);
  TRY(memory_of(handle, &sum));
  *out = (Memory){.total = sum.total, .free = sum.free, .used = sum.used + sum.reserved};
  return SUCCESS;
}
API nvmlDeviceGetMemoryInfo_v2(Handle handle, Memory2 *out) {
  Memory2 sum;
  TRY(nvml_ready());
  NEED(out);
  if (out->version != MEMORY_2) return ARGUMENT_VERSION_MISMATCH;
  TRY(memory_of(handle, &sum));
  sum.version = MEMORY_2;
  *out = sum;
  return SUCCESS;
}

/* ---- processes ---- */

static void add_processes(int bus, Process2 *out, unsigned room, unsigned *count) {
  const SimMachine *machine = sim_machine();
  SimHolder holder[SIM_MAX_PROCESSES + 1];
  int found = sim_ledger_holders(bus, holder, SIM_MAX_PROCESSES + 1);
  unsigned instance = machine->device[bus].slice < 0 ? NO_INSTANCE : (unsigned)machine->device[bus].slice + 1;
  for (int i = 0; i < found; i++, ++*count)
    if (*count < room)
      out[*count] = (Process2){.pid = (unsigned)holder[i].pid,
                               .used = machine->nvml == SIM_NVML_NO_SIZES ? NOT_AVAILABLE : holder[i].bytes,
                               .gpu_instance = instance,
                               .compute_instance = instance == NO_INSTANCE ? NO_INSTANCE : 0};
}

static int processes_of(Handle handle, Process2 *out, unsigned room, unsigned *count) {
  const SimMachine *machine = sim_machine();
  Target target;
  TRY(nvml_target(handle, &target));
  if (machine->nvml == SIM_NVML_UNSUPPORTED) return NOT_SUPPORTED;
  const SimGpu *gpu = &machine->gpu[target.gpu];
  int first = target.bus < 0 ? gpu->first : target.bus,
      last = target.bus < 0 ? gpu->first + gpu->count : first + 1;
  *count = 0;
  for (int bus = first; bus < last; bus++) add_processes(bus, out, room, count);
  return SUCCESS;
}

/* `count` is the room, and then how many there are; too little room is an error that tells how much is
 * needed. */
API nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, unsigned *count, Process2 *out) {
  TRY(nvml_ready());
  NEED(count && (out || !*count));
  unsigned room = *count, found;
  TRY(processes_of(handle, out, room, &found));
  *count = found;
  return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
API nvmlDeviceGetComputeRunningProcesses_v2(Handle handle, unsigned *count, Process2 *out) {
  return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, out);
}
API nvmlDeviceGetComputeRunningProcesses(Handle handle, unsigned *count, Process1 *out) {
  enum { MOST = SIM_MAX_DEVICES * (SIM_MAX_PROCESSES + 1) };
  Process2 all[MOST];
  TRY(nvml_ready());
  NEED(count && (out || !*count));
  unsigned room = *count, found;
  TRY(processes_of(handle, all, MOST, &found));
  *count = found;
  if (found > room) return INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < found; i++) out[i] = (Process1){.pid = all[i].pid, .used = all[i].used};
  return SUCCESS;
}

/* Nothing here draws, and there is no MPS. */
static int none(Handle handle, unsigned *count) {
  Target target;
  TRY(nvml_target(handle, &target));
  NEED(count);
  *count = 0;
  return SUCCESS;
}
API nvmlDeviceGetGraphicsRunningProcesses_v3(Handle handle, unsigned *count, Process2 *out) {
  return none(handle, count);
}
API nvmlDeviceGetGraphicsRunningProcesses_v2(Handle handle, unsigned *count, Process2 *out) {
  return none(handle, count);
}
API nvmlDeviceGetGraphicsRunningProcesses(Handle handle, unsigned *count, Process1 *out) {
  return none(handle, count);
}
API nvmlDeviceGetMPSComputeRunningProcesses_v3(Handle handle, unsigned *count, Process2 *out) {
  return none(handle, count);
}
