/* Every process has a row; what a device has left is its total less the sum of its column.  Each change is
 * one store into one row, so a process that is killed in the middle leaves nothing half done, and whoever
 * finds the lock ownerless goes on with it. */
#define _GNU_SOURCE
#include "ledger.h"
#include "log.h"
#include "values.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[16] = "gpumem-simgpu 1";

typedef struct {
  SimLife life; /* pid 0: the row is free */
  size_t used[SIM_MAX_DEVICES], peak[SIM_MAX_DEVICES];
  unsigned contexts[SIM_MAX_DEVICES];
  size_t other[SIM_MAX_DEVICES]; /* what the process that a fault invented took in its name */
} Row;

typedef struct {
  char magic[16]; /* written last: without it the rest is not ready */
  pthread_mutex_t lock;
  int lost[SIM_MAX_DEVICES];
  Row row[SIM_MAX_PROCESSES];
} Ledger;

static Ledger *ledger;
static size_t total[SIM_MAX_DEVICES];
static pid_t me; /* whose row `mine` is: a forked child has none at first */
static Row *mine;
static int over; /* the process is ending and its row is gone */

/* ---- opening ---- */

static void make_lock(pthread_mutex_t *lock) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(lock, &kind);
  pthread_mutexattr_destroy(&kind);
}

static Ledger *map(int file) {
  int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void *place = mmap(0, sizeof(Ledger), PROT_READ | PROT_WRITE, flags, file, 0);
  return place == MAP_FAILED ? 0 : place;
}

static void prepare(Ledger *new) {
  make_lock(&new->lock);
  memcpy(new->magic, magic, sizeof magic);
}

/* The first process prepares the file; one that dies over it leaves it without its mark. */
static Ledger *open_shared(const char *path) {
  struct stat status;
  Ledger *found = 0;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) sim_unreadable("SIMGPU_STATE", path, "a file that can be written");
  flock(file, LOCK_EX);
  if (!fstat(file, &status) && (status.st_size == 0 || status.st_size == sizeof(Ledger)) &&
      !ftruncate(file, sizeof(Ledger)))
    found = map(file);
  if (found && !*found->magic) prepare(found);
  if (!found || memcmp(found->magic, magic, sizeof magic))
    sim_unreadable("SIMGPU_STATE", path, "a new file, or one that this version made");
  flock(file, LOCK_UN); /* the mapping keeps the open file, and the lock on it, beyond close() */
  close(file);
  return found;
}

void sim_ledger_open(const SimMachine *machine) {
  const char *path = sim_variable("SIMGPU_STATE");
  for (int i = 0; i < machine->devices; i++) total[i] = machine->device[i].total;
  if (path)
    ledger = open_shared(path);
  else if ((ledger = map(-1)))
    prepare(ledger);
  else
    abort();
}

/* ---- rows ---- */

static size_t column(int bus) {
  size_t sum = 0;
  for (int i = 0; i < SIM_MAX_PROCESSES; i++)
    if (ledger->row[i].life.pid) sum += ledger->row[i].used[bus] + ledger->row[i].other[bus];
  return sum;
}

/* The line comes first: another process can then be granted the memory only by a later line. */
static void clear(Row *row) {
  int invented = 0;
  for (int i = 0; i < SIM_MAX_DEVICES; i++) invented |= row->other[i] != 0;
  if (invented) sim_log_gone(SIM_OTHER_PROCESS);
  sim_log_gone(row->life.pid);
  row->life.pid = 0; /* from here on the row is nobody's, so the rest may be done by halves */
  memset(row, 0, sizeof *row);
}

static void bury_the_dead(void) {
  for (int i = 0; i < SIM_MAX_PROCESSES; i++) {
    Row *row = &ledger->row[i];
    if (row->life.pid && row != mine && !sim_is_alive(row->life)) clear(row);
  }
}

static void lock(void) {
  sim_machine();
  if (pthread_mutex_lock(&ledger->lock) == EOWNERDEAD) pthread_mutex_consistent(&ledger->lock);
  pid_t now = getpid();
  if (me != now) me = now, mine = 0;
  bury_the_dead();
}
static void unlock(void) { pthread_mutex_unlock(&ledger->lock); }

/* This process's row, made when it first takes something; 0 when there are too many processes. */
static Row *own_row(void) {
  if (mine || over) return mine;
  for (int i = 0; i < SIM_MAX_PROCESSES; i++) /* it ran another program before, which held memory */
    if (ledger->row[i].life.pid == me) clear(&ledger->row[i]);
  for (int i = 0; i < SIM_MAX_PROCESSES && !mine; i++)
    if (!ledger->row[i].life.pid) mine = &ledger->row[i];
  if (mine) {
    memset(mine, 0, sizeof *mine);
    mine->life = sim_life_of(me);
  }
  return mine;
}

static void tell(int bus, SimTotals *now) {
  now->used = mine ? mine->used[bus] : 0;
  now->peak = mine ? mine->peak[bus] : 0;
  now->all = column(bus);
}

/* ---- taking and giving ---- */

static int take(int bus, size_t bytes, unsigned contexts, SimTotals *now) {
  lock();
  Row *row = own_row();
  size_t all = column(bus);
  int fits = row && bytes <= total[bus] && all <= total[bus] - bytes;
  if (fits) {
    row->used[bus] += bytes;
    row->contexts[bus] += contexts;
    if (row->used[bus] > row->peak[bus]) row->peak[bus] = row->used[bus];
  }
  tell(bus, now);
  unlock();
  return fits ? 0 : -1;
}

int sim_ledger_take(int bus, size_t bytes, SimTotals *now) { return take(bus, bytes, 0, now); }
int sim_ledger_open_context(int bus, size_t bytes, SimTotals *now) { return take(bus, bytes, 1, now); }

static void give(int bus, size_t bytes, unsigned contexts) {
  if (!bytes && !contexts) return;
  lock();
  if (mine) {
    mine->used[bus] -= bytes < mine->used[bus] ? bytes : mine->used[bus];
    mine->contexts[bus] -= contexts < mine->contexts[bus] ? contexts : mine->contexts[bus];
  }
  unlock();
}
void sim_ledger_give(int bus, size_t bytes) { give(bus, bytes, 0); }
void sim_ledger_close_context(int bus, size_t bytes) { give(bus, bytes, 1); }

size_t sim_ledger_take_for_other(int bus, size_t bytes, SimTotals *now) {
  lock();
  Row *row = own_row();
  size_t all = column(bus), left = row && all < total[bus] ? total[bus] - all : 0;
  if (bytes > left) bytes = left;
  if (row) row->other[bus] += bytes;
  *now =
      (SimTotals){.used = row ? row->other[bus] : 0, .peak = row ? row->other[bus] : 0, .all = column(bus)};
  unlock();
  return bytes;
}

void sim_ledger_totals(int bus, SimTotals *now) {
  lock();
  tell(bus, now);
  unlock();
}

int sim_ledger_holders(int bus, SimHolder *holder, int most) {
  int count = 0;
  size_t others = 0;
  lock();
  for (int i = 0; i < SIM_MAX_PROCESSES; i++) {
    Row *row = &ledger->row[i];
    if (!row->life.pid) continue;
    others += row->other[bus];
    if (!row->used[bus] && !row->contexts[bus]) continue;
    if (count < most) holder[count] = (SimHolder){row->life.pid, row->used[bus]};
    count++;
  }
  if (others) {
    if (count < most) holder[count] = (SimHolder){SIM_OTHER_PROCESS, others};
    count++;
  }
  unlock();
  return count;
}

void sim_ledger_lose(int bus) { __atomic_store_n(&ledger->lost[bus], 1, __ATOMIC_RELAXED); }
int sim_ledger_is_lost(int bus) {
  sim_machine();
  return __atomic_load_n(&ledger->lost[bus], __ATOMIC_RELAXED);
}

/* What is asked for after this, by other libraries that are still ending, is refused; frees do nothing. */
__attribute__((destructor)) static void leave(void) {
  if (!ledger) return;
  lock();
  if (mine) clear(mine);
  mine = 0, over = 1;
  unlock();
}
