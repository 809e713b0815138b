/* CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, read as the driver reads them.
 *
 * Numbers, beginnings of UUIDs, MIG devices and the end of the list at the first invalid entry:
 * https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
 * An entry that is listed twice leaves no device, and text behind digits is ignored: this the documentation
 * does not tell; the source is named in README.md beside this folder.
 * MIG: one slice at most, and no whole GPU beside it:
 * https://docs.nvidia.com/datacenter/tesla/mig-user-guide/mig-device-names.html#device-enumeration */
#define _GNU_SOURCE
#include "machine.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Physical GPUs in the order in which CUDA counts them: a sliced one stands where its first slice does. */
static void order_gpus(const SimMachine *machine, int order[SIM_MAX_DEVICES]) {
  const char *value = getenv("CUDA_DEVICE_ORDER");
  int by_bus = value && !strcmp(value, "PCI_BUS_ID");
  int seen[SIM_MAX_DEVICES] = {0}, count = 0;
  for (int i = 0; i < machine->devices; i++) {
    int gpu = machine->device[by_bus ? i : machine->fastest[i]].gpu;
    if (!seen[gpu]++) order[count++] = gpu;
  }
}

static int begins(const char *uuid, const char *text, size_t length) {
  return length <= strlen(uuid) && !strncasecmp(uuid, text, length);
}

/* The one device whose UUID begins so; -1 when none does or several do.  The UUID of a sliced GPU stands for
 * its first slice. */
static int by_uuid(const SimMachine *machine, const char *text, size_t length) {
  int found = -1;
  char uuid[SIM_UUID_TEXT];
  for (int i = 0; i < machine->gpus; i++) {
    sim_gpu_uuid_text(i, uuid);
    if (!begins(uuid, text, length)) continue;
    if (found >= 0) return -1;
    found = machine->gpu[i].first;
  }
  for (int i = 0; i < machine->devices; i++) {
    if (machine->device[i].slice < 0) continue;
    sim_device_uuid_text(i, uuid);
    if (!begins(uuid, text, length)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* MIG-GPU-<uuid>/<GPU instance>/<compute instance>, as drivers before R470 wrote it. */
static int by_instance(const SimMachine *machine, const char *text, size_t length) {
  const char *slash = memchr(text, '/', length);
  char entry[128], uuid[SIM_UUID_TEXT];
  int instance, compute, end = 0;
  if (!slash || length >= sizeof entry) return -1;
  size_t rest = length - (size_t)(slash + 1 - text);
  memcpy(entry, slash + 1, rest);
  entry[rest] = 0;
  if (sscanf(entry, "%d/%d%n", &instance, &compute, &end) != 2 || entry[end] || compute) return -1;
  for (int i = 0; i < machine->devices; i++) {
    const SimDevice *device = &machine->device[i];
    sim_gpu_uuid_text(device->gpu, uuid);
    /* nvidia-smi counts GPU instances from 1 where the card is cut into slices. */
    if (device->slice + 1 == instance && device->slice >= 0 &&
        begins(uuid, text + 4, (size_t)(slash - text) - 4))
      return i;
  }
  return -1;
}

/* The device that an entry names, -1 for none. */
static int find(const SimMachine *machine, const int *order, const char *text, size_t length, int uuids) {
  if (uuids) {
    if (length > 8 && !strncmp(text, "MIG-GPU-", 8)) return by_instance(machine, text, length);
    return length > 4 && (!strncmp(text, "GPU-", 4) || !strncmp(text, "MIG-", 4))
               ? by_uuid(machine, text, length)
               : -1;
  }
  if (!isdigit((unsigned char)*text)) return -1;
  unsigned long number = strtoul(text, 0, 10);
  return number < (unsigned long)machine->gpus ? machine->gpu[order[number]].first : -1;
}

static int listed(const SimMachine *machine, const int *order, const char *value, int bus[SIM_MAX_DEVICES]) {
  int count = 0;
  value += strspn(value, " \t");
  int uuids = !strncmp(value, "GPU-", 4) || !strncmp(value, "MIG-", 4);
  for (const char *part = value;; part++) {
    const char *end = strchrnul(part, ',');
    part += strspn(part, " \t");
    size_t length = (size_t)(end > part ? end - part : 0);
    while (length && isspace((unsigned char)part[length - 1])) length--;
    int found = find(machine, order, part, length, uuids);
    if (found < 0) return count;
    for (int i = 0; i < count; i++)
      if (bus[i] == found) return 0;
    if (count == SIM_MAX_DEVICES) return count;
    bus[count++] = found;
    part = end;
    if (!*part) return count;
  }
}

int sim_visible(const SimMachine *machine, int bus[SIM_MAX_DEVICES]) {
  const char *value = getenv("CUDA_VISIBLE_DEVICES");
  int order[SIM_MAX_DEVICES], count = 0;
  order_gpus(machine, order);
  if (value)
    count = listed(machine, order, value, bus);
  else
    for (; count < machine->gpus; count++) bus[count] = machine->gpu[order[count]].first;
  for (int i = 0; i < count; i++)
    if (machine->device[bus[i]].slice >= 0) {
      bus[0] = bus[i];
      return 1;
    }
  return count;
}
