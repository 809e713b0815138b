/* The machine, read from the SIMGPU_* variables. */
#define _GNU_SOURCE
#include "machine.h"
#include "values.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_sizes(SimMachine *machine) {
  SimList list;
  sim_read_list("SIMGPU_DEVICES", "1x16GiB", 0, &list);
  machine->devices = list.count;
  for (int i = 0; i < list.count; i++)
    machine->device[i].total = machine->device[i].nvml_total = sim_list_size(&list, i, 0);
  if (sim_variable("SIMGPU_NVML_TOTAL")) {
    sim_read_list("SIMGPU_NVML_TOTAL", "", machine->devices, &list);
    for (int i = 0; i < list.count; i++) machine->device[i].nvml_total = sim_list_size(&list, i, 0);
  }
  sim_read_list("SIMGPU_CONTEXT", "0", machine->devices, &list);
  for (int i = 0; i < list.count; i++) machine->device[i].context = sim_list_size(&list, i, 1);
  sim_read_list("SIMGPU_GRANULARITY", "2MiB", 1, &list);
  machine->granularity = sim_list_size(&list, 0, 0);
}

static void read_abilities(SimMachine *machine) {
  SimList pools, vmm, managed, integrated;
  sim_read_list("SIMGPU_POOLS", "yes", machine->devices, &pools);
  sim_read_list("SIMGPU_VMM", "yes", machine->devices, &vmm);
  sim_read_list("SIMGPU_MANAGED", "yes", machine->devices, &managed);
  sim_read_list("SIMGPU_INTEGRATED", "no", machine->devices, &integrated);
  for (int i = 0; i < machine->devices; i++) {
    SimDevice *device = &machine->device[i];
    device->pools = sim_list_yes(&pools, i);
    device->vmm = sim_list_yes(&vmm, i);
    device->managed = sim_list_yes(&managed, i);
    device->integrated = sim_list_yes(&integrated, i);
  }
}

static void read_kinds(SimMachine *machine) {
  SimList names, capability, multiprocessors;
  sim_read_list("SIMGPU_NAMES", "NVIDIA Simulated GPU", machine->devices, &names);
  sim_read_list("SIMGPU_CC", "8.0", machine->devices, &capability);
  sim_read_list("SIMGPU_SMS", "108", machine->devices, &multiprocessors);
  for (int i = 0; i < machine->devices; i++) {
    SimDevice *device = &machine->device[i];
    int end = 0;
    snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1, names.text[i]);
    const char *text = capability.text[i];
    if (sscanf(text, "%2d.%1d%n", &device->cc_major, &device->cc_minor, &end) != 2 || text[end])
      sim_unreadable(capability.variable, capability.whole, "a compute capability such as 8.0");
    device->multiprocessors = sim_list_number(&multiprocessors, i, 1, 100000);
  }
}

/* "0:1g.5gb" is a slice of the physical GPU 0; an empty part is a whole GPU. */
static void place_on_gpu(SimMachine *machine, int bus, const SimList *mig) {
  SimDevice *device = &machine->device[bus];
  const char *text = mig ? mig->text[bus] : "";
  SimGpu *last = machine->gpus ? &machine->gpu[machine->gpus - 1] : 0;
  device->slice = -1;
  if (*text) {
    const char *colon = strchr(text, ':');
    char *end;
    long gpu = strtol(text, &end, 10);
    if (!colon || end == text || end != colon || !colon[1] || strlen(colon + 1) >= sizeof device->profile)
      sim_unreadable("SIMGPU_MIG", mig->whole, "GPU:PROFILE such as 0:1g.5gb, or nothing for a whole GPU");
    strcpy(device->profile, colon + 1);
    if (gpu == machine->gpus - 1 && machine->device[last->first].slice >= 0) {
      device->gpu = (int)gpu, device->slice = last->count++;
      return;
    }
    if (gpu != machine->gpus)
      sim_unreadable("SIMGPU_MIG", mig->whole,
                     "physical GPUs numbered from 0, slices of one beside each other");
    device->slice = 0;
  }
  device->gpu = machine->gpus;
  machine->gpu[machine->gpus++] = (SimGpu){.first = bus, .count = 1};
}

static void read_mig(SimMachine *machine) {
  SimList mig;
  int sliced = sim_variable("SIMGPU_MIG") != 0;
  if (sliced) sim_read_list("SIMGPU_MIG", "", machine->devices, &mig);
  for (int i = 0; i < machine->devices; i++) place_on_gpu(machine, i, sliced ? &mig : 0);
}

/* The first byte differs between GPUs, so that a short prefix such as GPU-a1 names one of them. */
static void make_uuids(SimMachine *machine) {
  for (int i = 0; i < machine->gpus; i++) {
    unsigned char *uuid = machine->gpu[i].uuid;
    memset(uuid, 0x51, 16);
    uuid[0] = (unsigned char)(0xa0 + i), uuid[15] = (unsigned char)i;
  }
  for (int i = 0; i < machine->devices; i++) {
    SimDevice *device = &machine->device[i];
    memcpy(device->uuid, machine->gpu[device->gpu].uuid, 16);
    if (device->slice >= 0)
      memset(device->uuid, 0x61, 15), device->uuid[0] = (unsigned char)(0xb0 + i),
                                      device->uuid[15] = (unsigned char)i;
  }
}

/* SIMGPU_FASTEST_FIRST=1,0: devices that it does not mention follow in bus order. */
static void read_order(SimMachine *machine) {
  int seen[SIM_MAX_DEVICES] = {0}, count = 0;
  if (sim_variable("SIMGPU_FASTEST_FIRST")) {
    SimList list;
    sim_read_list("SIMGPU_FASTEST_FIRST", "", 0, &list);
    for (int i = 0; i < list.count; i++) {
      int bus = sim_list_number(&list, i, 0, machine->devices - 1);
      if (seen[bus]++) sim_unreadable(list.variable, list.whole, "each device once");
      machine->fastest[count++] = bus;
    }
  }
  for (int i = 0; i < machine->devices; i++)
    if (!seen[i]) machine->fastest[count++] = i;
}

static void read_nvml(SimMachine *machine) {
  static const char *const word[] = {"present",       "missing",     "mismatch",
                                     "no-permission", "unsupported", "no-sizes"};
  const char *value = sim_variable("SIMGPU_NVML");
  machine->nvml = SIM_NVML_PRESENT;
  for (int i = 0; value && i < 6; i++)
    if (!strcmp(value, word[i])) {
      machine->nvml = (SimNvmlMode)i;
      return;
    }
  if (value)
    sim_unreadable("SIMGPU_NVML", value,
                   "present, missing, mismatch, no-permission, unsupported or no-sizes");
}

void sim_machine_read(SimMachine *machine) {
  SimList version;
  read_sizes(machine);
  read_abilities(machine);
  read_kinds(machine);
  read_mig(machine);
  make_uuids(machine);
  read_order(machine);
  read_nvml(machine);
  sim_read_list("SIMGPU_DRIVER_VERSION", "13000", 1, &version);
  machine->driver_version = sim_list_number(&version, 0, 1000, INT_MAX);
}

static void uuid_text(const char *kind, const unsigned char u[16], char out[SIM_UUID_TEXT]) {
  snprintf(out, SIM_UUID_TEXT, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
           kind, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
           u[14], u[15]);
}
void sim_gpu_uuid_text(int gpu, char out[SIM_UUID_TEXT]) {
  uuid_text("GPU", sim_machine()->gpu[gpu].uuid, out);
}
void sim_device_uuid_text(int bus, char out[SIM_UUID_TEXT]) {
  const SimDevice *device = &sim_machine()->device[bus];
  uuid_text(device->slice < 0 ? "GPU" : "MIG", device->uuid, out);
}
