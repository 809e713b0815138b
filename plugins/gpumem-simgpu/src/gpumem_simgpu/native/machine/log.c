/* Each line is one write() to a file opened for appending, so that lines of several processes never mix. */
#define _GNU_SOURCE
#include "log.h"
#include "machine.h"
#include "values.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_TEXT 2048
#define LONGEST_PROGRAM 200

typedef struct {
  char text[16384];
  size_t length;
} Text;

static int file = -1, trace;
static pid_t introduced; /* the process that wrote its first line; a forked child has still to do so */
static pthread_mutex_t introduction = PTHREAD_MUTEX_INITIALIZER;

__attribute__((format(printf, 2, 3))) static void add(Text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int added = vsnprintf(t->text + t->length, sizeof t->text - t->length, format, args);
  va_end(args);
  if (added > 0) t->length += (size_t)added;
  if (t->length >= sizeof t->text) t->length = sizeof t->text - 1;
}

/* How many bytes the UTF-8 character at `s` has; 0 if it is none, as file names need not be text. */
static int utf8_length(const unsigned char *s) {
  int length = *s < 0x80                 ? 1
               : *s >= 0xc2 && *s < 0xe0 ? 2
               : *s >= 0xe0 && *s < 0xf0 ? 3
               : *s >= 0xf0 && *s < 0xf5 ? 4
                                         : 0;
  for (int i = 1; i < length; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f)) return 0;
  return *s == 0xed && s[1] > 0x9f ? 0 : length;
}

static void add_string(Text *t, const char *key, const char *value, int most) {
  add(t, ", \"%s\": \"", key);
  const unsigned char *s = (const unsigned char *)value;
  for (int count = 0; *s && count < most; count++) {
    int length = utf8_length(s);
    if (*s == '"' || *s == '\\')
      add(t, "\\%c", *s);
    else if (*s < 0x20 || *s == 0x7f)
      add(t, "\\u%04x", *s);
    else if (length)
      add(t, "%.*s", length, s);
    else
      add(t, "\\ufffd");
    s += length ? length : 1;
  }
  add(t, "\"");
}

static void begin(Text *t, const char *api) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->length = 0;
  add(t, "{\"t\": %ld.%06ld, \"pid\": %d", (long)now.tv_sec, now.tv_nsec / 1000, (int)getpid());
  add_string(t, "api", api, LONGEST_TEXT);
}
static void finish(Text *t, int rc) {
  add(t, ", \"rc\": %d}\n", rc);
  /* A full disk must not change what the program sees. */
  while (write(file, t->text, t->length) < 0 && errno == EINTR) {}
}

/* The command line, its words joined by spaces. */
static void read_program(char *out, size_t size) {
  int from = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t length = from < 0 ? 0 : read(from, out, size - 1);
  if (from >= 0) close(from);
  if (length < 0) length = 0;
  while (length && !out[length - 1]) length--;
  for (ssize_t i = 0; i < length; i++)
    if (!out[i]) out[i] = ' ';
  out[length] = 0;
}

/* Before a process's first line stands one that says who it is. */
static void introduce(void) {
  pid_t me = getpid();
  if (__atomic_load_n(&introduced, __ATOMIC_ACQUIRE) == me) return;
  pthread_mutex_lock(&introduction);
  if (introduced != me) {
    Text t;
    char program[4 * LONGEST_PROGRAM + 1];
    read_program(program, sizeof program);
    begin(&t, "process started");
    add(&t, ", \"ppid\": %d", (int)getppid());
    add_string(&t, "program", program, LONGEST_PROGRAM);
    finish(&t, 0);
    __atomic_store_n(&introduced, me, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&introduction);
}

static void before_fork(void) { pthread_mutex_lock(&introduction); }
static void after_fork(void) { pthread_mutex_unlock(&introduction); }

void sim_log_open(void) {
  const char *value = sim_variable("SIMGPU_TRACE"), *path = sim_variable("SIMGPU_LOG");
  if (value && strcmp(value, "0") && strcmp(value, "1")) sim_unreadable("SIMGPU_TRACE", value, "0 or 1");
  trace = value && *value == '1';
  if (!path) return;
  file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) sim_unreadable("SIMGPU_LOG", path, "a file that can be written");
  pthread_atfork(before_fork, after_fork, after_fork);
}
int sim_log_is_open(void) { return file >= 0; }
int sim_tracing(void) {
  sim_machine();
  return trace && file >= 0;
}

static void add_totals(Text *t, const SimLine *line) {
  SimTotals now;
  size_t freed = line->freed > 0 ? (size_t)line->freed : 0;
  if (line->now)
    now = *line->now;
  else
    sim_ledger_totals(line->bus, &now);
  if (freed > now.used) freed = 0; /* a thread that goes on while the process ends, which has given back all */
  add(t, ", \"used\": %zu, \"peak\": %zu, \"device_used\": %zu", now.used - freed, now.peak, now.all - freed);
}

void sim_log(const SimLine *line) {
  Text t;
  sim_machine();
  if (file < 0) return;
  introduce();
  begin(&t, line->api);
  if (line->bus >= 0) add(&t, ", \"dev\": %d, \"phys\": %d", line->dev, line->bus);
  if (line->bytes >= 0) add(&t, ", \"bytes\": %lld", line->bytes);
  if (line->ptr) add(&t, ", \"ptr\": \"%p\"", line->ptr);
  if (line->id) add(&t, ", \"id\": %llu", line->id);
  if (line->charged >= 0) add(&t, ", \"charged\": %lld", line->charged);
  if (line->freed >= 0) add(&t, ", \"freed\": %lld", line->freed);
  if (line->bus >= 0) add_totals(&t, line);
  if (line->lib) add_string(&t, "lib", line->lib, LONGEST_TEXT);
  if (line->note) add_string(&t, "note", line->note, LONGEST_TEXT);
  finish(&t, line->rc);
}

/* Called with the ledger locked, so it must not ask for totals. */
void sim_log_gone(pid_t pid) {
  Text t;
  if (file < 0) return;
  introduce();
  begin(&t, "process ended");
  add(&t, ", \"gone\": %d", (int)pid);
  finish(&t, 0);
}

void sim_trace(const char *api, int dev, long long bytes, const void *ptr, const char *note) {
  if (sim_tracing()) sim_log(&SIM_LINE(.api = api, .dev = dev, .bytes = bytes, .ptr = ptr, .note = note));
}

int sim_stub(const char *name, int rc) {
  sim_log(&SIM_LINE(.api = name, .note = "not simulated", .rc = rc));
  return rc;
}
