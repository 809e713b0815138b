/* The log: one JSON object a line, each written by one write() to a file opened for appending, so that lines
 * of several processes and threads never mix. */
#define _GNU_SOURCE
#include "simgpu.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  char text[16384];
  size_t n;
} Line;

static int log_fd = -1, trace;

void sim_events_open(void) {
  const char *s = getenv("SIMGPU_TRACE");
  trace = s && *s && *s != '0';
  if ((s = getenv("SIMGPU_LOG")) && *s) log_fd = open(s, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}
int sim_tracing(void) {
  sim_boot();
  return trace;
}

__attribute__((format(printf, 2, 3))) static void add(Line *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int k = vsnprintf(l->text + l->n, sizeof l->text - l->n, format, args);
  va_end(args);
  if (k > 0) l->n = l->n + (size_t)k < sizeof l->text ? l->n + (size_t)k : sizeof l->text - 1;
}
static void add_text(Line *l, const char *key, const char *value) {
  add(l, ", \"%s\": \"", key);
  for (int i = 0; value[i] && i < 2048; i++) {
    unsigned char c = (unsigned char)value[i];
    if (c == '"' || c == '\\')
      add(l, "\\%c", c);
    else if (c < 0x20)
      add(l, "\\u%04x", c);
    else
      add(l, "%c", c);
  }
  add(l, "\"");
}

static void start(Line *l, const char *api) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  l->n = 0;
  add(l, "{\"t\": %ld.%06ld, \"pid\": %d", (long)t.tv_sec, t.tv_nsec / 1000, (int)getpid());
  add_text(l, "api", api);
}
static void finish(Line *l, int rc) {
  add(l, ", \"rc\": %d}\n", rc);
  if (write(log_fd, l->text, l->n) < 0) return; /* a full disk must not change what the program sees */
}

static void emit(const SimMemory *m, const char *lib) {
  Line l;
  sim_boot();
  if (log_fd < 0) return;
  start(&l, m->api);
  if (m->dev >= 0) add(&l, ", \"dev\": %d, \"phys\": %d", m->dev, sim_phys(m->dev));
  if (m->bytes >= 0) add(&l, ", \"bytes\": %lld", m->bytes);
  if (m->ptr) add(&l, ", \"ptr\": \"%p\"", m->ptr);
  if (m->id) add(&l, ", \"id\": %llu", m->id);
  if (m->dev >= 0) {
    size_t used, peak, all;
    sim_totals(m->dev, &used, &peak, &all);
    add(&l, ", \"used\": %zu, \"peak\": %zu, \"device_used\": %zu", used - m->freed, peak, all - m->freed);
  }
  if (lib) add_text(&l, "lib", lib);
  if (m->note) add_text(&l, "note", m->note);
  finish(&l, m->rc);
}

void sim_event(const char *api, int dev, long long bytes, const void *ptr, int rc, const char *note) {
  emit(&(SimMemory){.api = api, .dev = dev, .bytes = bytes, .ptr = ptr, .rc = rc, .note = note}, 0);
}

void sim_memory(const SimMemory *m) {
  sim_boot();
  if (log_fd >= 0) emit(m, sim_caller());
}

/* Called under the accounting lock, so it must not ask for totals. */
void sim_gone(pid_t pid) {
  Line l;
  if (log_fd < 0) return;
  start(&l, "process ended");
  add(&l, ", \"gone\": %d", (int)pid);
  finish(&l, 0);
}

int sim_stub(const char *name, int rc) {
  sim_boot();
  if (rc || trace) sim_event(name, -1, -1, 0, rc, rc ? "not simulated" : "ignored");
  return rc;
}
