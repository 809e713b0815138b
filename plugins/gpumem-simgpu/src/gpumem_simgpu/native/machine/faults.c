/* Reading SIMGPU_FAULTS, and counting requests until a fault is due. */
#define _GNU_SOURCE
#include "faults.h"
#include "values.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FAULTS 32

typedef enum { REFUSE, LOSE, INIT, OTHER, SLOW } Kind;
typedef struct {
  Kind kind;
  long number; /* of the request; the code of `init`, the milliseconds of `slow` */
  int onwards; /* later requests too */
  int bus;     /* -1: every device */
  size_t bytes;
  char note[80]; /* for the log: "fault: " and the text */
} Fault;

static Fault fault[MAX_FAULTS];
static int faults;
static unsigned long requests[SIM_MAX_DEVICES]; /* so far in this process, on each device */

static const char *const wanted =
    "alloc=N, alloc=N+, lost=N, init=CODE, other=SIZE:N or slow=MS, each of the first, "
    "second and fourth kind with @DEVICE where only one is meant";

static void unreadable(const char *text) { sim_unreadable("SIMGPU_FAULTS", text, wanted); }

static Kind kind_of(const char *word, const char *whole) {
  static const char *const name[] = {"alloc", "lost", "init", "other", "slow"};
  for (int i = 0; i < 5; i++)
    if (!strcmp(word, name[i])) return (Kind)i;
  unreadable(whole);
  return REFUSE;
}

static void read_fault(const char *text, int devices) {
  char copy[64];
  if (faults == MAX_FAULTS || strlen(text) >= sizeof copy) unreadable(text);
  Fault *one = &fault[faults++];
  *one = (Fault){.bus = -1};
  snprintf(one->note, sizeof one->note, "fault: %s", text);
  strcpy(copy, text);
  char *value = strchr(copy, '=');
  if (!value) unreadable(text);
  *value++ = 0;
  one->kind = kind_of(copy, text);
  char *at = strchr(value, '@');
  if (at) {
    long bus;
    *at++ = 0;
    if (one->kind == INIT || one->kind == SLOW || sim_parse_number(at, 0, devices - 1, &bus))
      unreadable(text);
    one->bus = (int)bus;
  }
  if (one->kind == OTHER) {
    char *colon = strchr(value, ':');
    if (!colon) unreadable(text);
    *colon = 0;
    if (sim_parse_size(value, &one->bytes) || !one->bytes) unreadable(text);
    value = colon + 1;
  }
  size_t length = strlen(value);
  if (one->kind == REFUSE && length && value[length - 1] == '+') one->onwards = 1, value[length - 1] = 0;
  if (sim_parse_number(value, 1, 1000000000, &one->number)) unreadable(text);
}

void sim_faults_read(const SimMachine *machine) {
  const char *value = sim_variable("SIMGPU_FAULTS");
  if (!value) return;
  char *copy = strdup(value), *rest = 0;
  for (char *part = strtok_r(copy, ", ", &rest); part; part = strtok_r(0, ", ", &rest))
    read_fault(part, machine->devices);
  free(copy);
}

void sim_fault_on_request(int bus, SimFaultHit *hit) {
  memset(hit, 0, sizeof *hit);
  unsigned long number = __atomic_add_fetch(&requests[bus], 1, __ATOMIC_RELAXED);
  for (int i = 0; i < faults; i++) {
    const Fault *one = &fault[i];
    unsigned long from = (unsigned long)one->number;
    if (one->bus >= 0 && one->bus != bus) continue;
    if (one->kind == REFUSE && (number == from || (one->onwards && number > from))) hit->refused = one->note;
    if (one->kind == LOSE && number == from) hit->lost = one->note;
    if (one->kind == OTHER && number == from) hit->other = one->note, hit->other_bytes += one->bytes;
  }
}

int sim_fault_of_init(const char **note) {
  for (int i = 0; i < faults; i++)
    if (fault[i].kind == INIT) {
      *note = fault[i].note;
      return (int)fault[i].number;
    }
  return 0;
}

void sim_fault_slow(void) {
  for (int i = 0; i < faults; i++) {
    if (fault[i].kind != SLOW) continue;
    struct timespec left = {fault[i].number / 1000, fault[i].number % 1000 * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR) {}
  }
}
