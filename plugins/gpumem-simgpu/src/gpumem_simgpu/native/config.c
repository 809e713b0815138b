/* What the environment says about the devices: SIMGPU_*, CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER. */
#define _GNU_SOURCE
#include "simgpu.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SimConf sim_conf;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t parse_size(const char *s, const char **end) {
  char *e;
  double v = strtod(s, &e);
  static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "K", "M", "G", "T"};
  for (int i = 0; i < 8; i++)
    if (!strncmp(e, unit[i], strlen(unit[i]))) {
      v *= (double)(1ull << (10 * (i % 4 + 1)));
      e += strlen(unit[i]);
      break;
    }
  if (end) *end = e;
  return (size_t)v;
}

/* "2x16GiB, 8GiB" is three sizes; returns how many were read. */
static int parse_sizes(const char *s, size_t *out) {
  int n = 0;
  while (*s && n < SIM_MAXDEV) {
    char *x;
    const char *e;
    long k = strtol(s, &x, 10);
    if (x != s && *x == 'x')
      s = x + 1;
    else
      k = 1;
    size_t bytes = parse_size(s, &e);
    if (e == s) break;
    while (k-- > 0 && n < SIM_MAXDEV) out[n++] = bytes;
    s = e + strspn(e, ", ");
  }
  return n;
}

/* The first byte differs between devices, so that a short prefix such as GPU-a1 names one of them. */
static void set_uuid(int phys) {
  unsigned char *u = sim_conf.uuid[phys];
  memset(u, 0x51, 16);
  u[0] = (unsigned char)(0xa0 + phys);
  u[15] = (unsigned char)phys;
}

void sim_uuid_text(int phys, char *out, size_t n) {
  const unsigned char *u = sim_conf.uuid[phys];
  snprintf(out, n, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
           u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

int sim_phys(int dev) { return sim_conf.dev[dev].phys; }
size_t sim_total(int dev) { return sim_conf.phys_total[sim_phys(dev)]; }

/* The one device whose UUID begins with these n characters; -1 when none does or several do. */
static int by_uuid_prefix(const char *s, size_t n) {
  int found = -1;
  for (int i = 0; i < sim_conf.nphys; i++) {
    char text[64];
    sim_uuid_text(i, text, sizeof text);
    if (n > strlen(text) || strncmp(text, s, n)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

void sim_visible(void) {
  SimConf *c = &sim_conf;
  const char *v = getenv("CUDA_VISIBLE_DEVICES"), *order = getenv("CUDA_DEVICE_ORDER");
  int bus_order = order && !strcmp(order, "PCI_BUS_ID");
  c->ndev = 0;
  if (!v) {
    for (int i = 0; i < c->nphys; i++) c->dev[c->ndev++].phys = bus_order ? i : c->order[i];
    return;
  }
  while (*v && c->ndev < SIM_MAXDEV) {
    v += strspn(v, " ,");
    int phys = -1;
    if (!strncmp(v, "GPU-", 4)) {
      size_t n = strcspn(v, ", ");
      phys = by_uuid_prefix(v, n);
      v += n;
    } else {
      char *e;
      long i = strtol(v, &e, 10);
      if (e == v) break;
      if (i >= 0 && i < c->nphys) phys = bus_order ? (int)i : c->order[i];
      v = e;
    }
    if (phys < 0) break; /* as the driver does: what stands before the bad entry stays visible */
    c->dev[c->ndev++].phys = phys;
  }
}

/* SIMGPU_FASTEST_FIRST=1,0: devices it does not mention follow in bus order. */
static void read_order(const char *s) {
  int seen[SIM_MAXDEV] = {0}, n = 0;
  while (s && *s) {
    char *e;
    long i = strtol(s, &e, 10);
    if (e == s) break;
    if (i >= 0 && i < sim_conf.nphys && !seen[i]) seen[i] = 1, sim_conf.order[n++] = (int)i;
    s = e + strspn(e, ", ");
  }
  for (int i = 0; i < sim_conf.nphys; i++)
    if (!seen[i]) sim_conf.order[n++] = i;
}

static void read_names(const char *all, const char *each) {
  for (int i = 0; i < sim_conf.nphys; i++) {
    snprintf(sim_conf.name[i], sizeof sim_conf.name[i], "%s", all ? all : "NVIDIA Simulated GPU");
    if (!each || !*each) continue;
    size_t n = strcspn(each, ",");
    if (n) snprintf(sim_conf.name[i], sizeof sim_conf.name[i], "%.*s", (int)n, each);
    each += n + (each[n] == ',');
  }
}

static void boot(void) {
  SimConf *c = &sim_conf;
  const char *s = getenv("SIMGPU_DEVICES");
  c->nphys = parse_sizes(s ? s : "1x16GiB", c->phys_total);
  memcpy(c->nvml_total, c->phys_total, sizeof c->nvml_total);
  if ((s = getenv("SIMGPU_NVML_TOTAL"))) parse_sizes(s, c->nvml_total);
  for (int i = 0; i < c->nphys; i++) set_uuid(i);
  read_order(getenv("SIMGPU_FASTEST_FIRST"));
  read_names(getenv("SIMGPU_NAME"), getenv("SIMGPU_NAMES"));
  c->cc_major = 8, c->cc_minor = 0;
  if ((s = getenv("SIMGPU_CC"))) sscanf(s, "%d.%d", &c->cc_major, &c->cc_minor);
  c->sms = (s = getenv("SIMGPU_SMS")) ? atoi(s) : 108;
  c->driver_version = (s = getenv("SIMGPU_DRIVER_VERSION")) ? atoi(s) : 13000;
  c->ctx_bytes = (s = getenv("SIMGPU_CONTEXT")) ? parse_size(s, 0) : 0;
  s = getenv("SIMGPU_NVML");
  c->nvml = !s                          ? SIM_NVML_PRESENT
            : !strcmp(s, "missing")     ? SIM_NVML_MISSING
            : !strcmp(s, "unsupported") ? SIM_NVML_UNSUPPORTED
                                        : SIM_NVML_PRESENT;
  sim_visible();
  sim_events_open();
  sim_accounting_open();
}

void sim_boot(void) { pthread_once(&once, boot); }
