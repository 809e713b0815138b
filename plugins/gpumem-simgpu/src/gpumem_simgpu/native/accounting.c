/* Who holds how much of which device, over all processes that share SIMGPU_STATE. */
#define _GNU_SOURCE
#include "simgpu.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  pid_t pid;
  size_t used[SIM_MAXDEV], peak[SIM_MAXDEV];
} Slot;
typedef struct {
  Slot slot[SIM_MAXPROC];
} State;

static State *state;
static int state_fd = -1;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

void sim_accounting_open(void) {
  const char *s = getenv("SIMGPU_STATE");
  if (s && *s) state_fd = open(s, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (state_fd >= 0 && ftruncate(state_fd, sizeof(State)) == 0)
    state = mmap(0, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0);
  else
    state = mmap(0, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (state == MAP_FAILED) abort();
}

/* Record locks belong to a process, so they also hold between a parent and its forked child (flock's do not).
 */
static void file_lock(short type) {
  struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
  if (state_fd >= 0)
    while (fcntl(state_fd, F_SETLKW, &whole) && errno == EINTR) {}
}
static void lock(void) {
  sim_boot();
  pthread_mutex_lock(&mu);
  file_lock(F_WRLCK);
}
static void unlock(void) {
  file_lock(F_UNLCK);
  pthread_mutex_unlock(&mu);
}

static int dead(pid_t p) { return p && kill(p, 0) && errno == ESRCH; }

static Slot *mine(void) { /* under the lock; also takes back what the dead held */
  Slot *empty = 0, *found = 0;
  pid_t me = getpid();
  for (int i = 0; i < SIM_MAXPROC; i++) {
    Slot *s = &state->slot[i];
    if (dead(s->pid)) {
      sim_gone(s->pid);
      memset(s, 0, sizeof *s);
    }
    if (s->pid == me) found = s;
    if (!s->pid && !empty) empty = s;
  }
  if (!found && empty) (found = empty)->pid = me;
  return found ? found : &state->slot[0];
}

static size_t used_locked(int phys) {
  size_t n = 0;
  for (int i = 0; i < SIM_MAXPROC; i++) n += state->slot[i].used[phys];
  return n;
}

int sim_take(int dev, size_t bytes) {
  lock();
  Slot *s = mine();
  int p = sim_phys(dev);
  size_t u = used_locked(p), total = sim_total(dev);
  int ok = bytes <= total && u <= total - bytes;
  if (ok) {
    s->used[p] += bytes;
    if (s->used[p] > s->peak[p]) s->peak[p] = s->used[p];
  }
  unlock();
  return ok ? 0 : -1;
}

void sim_give(int dev, size_t bytes) {
  lock();
  Slot *s = mine();
  int p = sim_phys(dev);
  s->used[p] = bytes > s->used[p] ? 0 : s->used[p] - bytes;
  unlock();
}

void sim_totals(int dev, size_t *used, size_t *peak, size_t *all) {
  lock();
  Slot *s = mine();
  int p = sim_phys(dev);
  *used = s->used[p], *peak = s->peak[p], *all = used_locked(p);
  unlock();
}

size_t sim_used_phys(int phys) {
  lock();
  mine();
  size_t n = used_locked(phys);
  unlock();
  return n;
}
size_t sim_used(int dev) { return sim_used_phys(sim_phys(dev)); }

int sim_procs(int phys, pid_t *pids, size_t *bytes, int max) {
  int n = 0;
  lock();
  mine();
  for (int i = 0; i < SIM_MAXPROC; i++) {
    Slot *s = &state->slot[i];
    if (!s->pid || !s->used[phys]) continue;
    if (n < max) pids[n] = s->pid, bytes[n] = s->used[phys];
    n++;
  }
  unlock();
  return n;
}

__attribute__((destructor)) static void bye(void) {
  int held = 0;
  if (!state) return;
  lock();
  for (int i = 0; i < SIM_MAXPROC; i++)
    if (state->slot[i].pid == getpid()) {
      held = 1;
      memset(&state->slot[i], 0, sizeof(Slot));
    }
  unlock();
  if (held) sim_gone(getpid());
}
