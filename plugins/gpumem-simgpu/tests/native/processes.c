/* 16 processes share the devices of one SIMGPU_STATE; those that die give everything back, however they die. */
#include "random_use.h"
#include <sys/mman.h>

enum { PROCESSES = 16, KILLED_AT_ONCE = 6, SEED = 20240301 };

static void *in_shared_memory(size_t bytes) {
  void *place = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  HOLDS(place != MAP_FAILED);
  return place;
}

/* The others may hold all of the device when this process wants its context. */
static void start_when_there_is_room(void) {
  CUcontext context;
  CUresult rc;
  OK(cuInit(0));
  while ((rc = cuDevicePrimaryCtxRetain(&context, 0)) == CUDA_ERROR_OUT_OF_MEMORY) usleep(1000);
  OK(rc);
  OK(cuCtxSetCurrent(context));
}

static pid_t worker(int number, int steps, Tally *tally) {
  pid_t child = fork_child();
  if (child) return child;
  start_when_there_is_room();
  use_at_random((unsigned long long)(SEED + number), steps, 4 * MIB, tally, 0);
  exit(0);
}

static void share_the_device(void) {
  Tally *tally = in_shared_memory(sizeof *tally);
  pid_t child[PROCESSES];
  printf("seed %d\n", SEED);
  fflush(stdout);
  for (int i = 0; i < PROCESSES; i++) child[i] = worker(i, 200, tally);
  for (int i = 0; i < PROCESSES; i++) IS(ended_with(child[i]), 0);
  IS(tally->held, 0);
  HOLDS(tally->refused > 0);
  start();
  IS(used_bytes(), 1 * MIB);
}

// Together they are granted no more than there is, and nothing is left of them.
CASE(share_exactly, "DEVICES=40MiB GRANULARITY=1 CONTEXT=1MiB STATE=shared") { share_the_device(); }
CASE(share_pieces, "DEVICES=40MiB CONTEXT=1MiB STATE=shared") { share_the_device(); }

// Workers that are killed at any moment, also while they hold the lock, neither hang the others nor keep memory.
CASE(killed_at_random, "DEVICES=128MiB CONTEXT=1MiB STATE=shared") {
  unsigned long long state = SEED;
  Tally *tally = in_shared_memory(sizeof *tally * KILLED_AT_ONCE);
  pid_t child[KILLED_AT_ONCE];
  printf("seed %d\n", SEED);
  fflush(stdout);
  for (int i = 0; i < KILLED_AT_ONCE; i++) child[i] = worker(i, 1 << 30, &tally[i]);
  for (int i = 0; i < 80; i++) {
    usleep((unsigned)random_below(&state, 4000));
    int victim = (int)random_below(&state, KILLED_AT_ONCE);
    IS(kill(child[victim], SIGKILL), 0);
    IS(ended_with(child[victim]), 128 + SIGKILL);
    tally[victim] = (Tally){0};
    child[victim] = worker(1000 + i, 1 << 30, &tally[victim]);
  }
  for (int i = 0; i < KILLED_AT_ONCE; i++) kill(child[i], SIGKILL);
  for (int i = 0; i < KILLED_AT_ONCE; i++) IS(ended_with(child[i]), 128 + SIGKILL);
  start();
  IS(used_bytes(), 1 * MIB);
  OK(cuMemFree(allocated(126 * MIB)));
}

static void hold(size_t bytes, int *ready) {
  start();
  allocated(bytes);
  char told = 'x';
  IS(write(ready[1], &told, 1), 1);
  pause();
  exit(3);
}
static pid_t holder(size_t bytes) {
  int ready[2];
  char told;
  IS(pipe(ready), 0);
  pid_t child = fork_child();
  if (!child) hold(bytes, ready);
  close(ready[1]);
  IS(read(ready[0], &told, 1), 1);
  close(ready[0]);
  return child;
}

// What a process holds is missing for the others, until it is gone.
CASE(seen_by_others, "DEVICES=64MiB CONTEXT=1MiB STATE=shared") {
  pid_t child = holder(20 * MIB);
  start();
  IS(used_bytes(), 22 * MIB);
  refused(44 * MIB);
  kill(child, SIGTERM);
  IS(ended_with(child), 128 + SIGTERM);
  IS(used_bytes(), 1 * MIB);
  OK(cuMemFree(allocated(62 * MIB)));
}

// A dead process that its parent has not waited for yet holds nothing any more.
CASE(zombie, "DEVICES=64MiB STATE=shared") {
  siginfo_t how;
  pid_t child = holder(20 * MIB);
  start();
  IS(used_bytes(), 20 * MIB);
  kill(child, SIGKILL);
  IS(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0);
  IS(used_bytes(), 0);
  IS(ended_with(child), 128 + SIGKILL);
}

// Without a state of their own, processes that fork share what their parent has.
CASE(family, "DEVICES=64MiB") {
  pid_t child = fork_child();
  if (!child) {
    start();
    allocated(20 * MIB);
    IS(used_bytes(), 20 * MIB);
    exit(0);
  }
  IS(ended_with(child), 0);
  start();
  IS(used_bytes(), 0);
}

static void *goes_on(void *argument) {
  int *pipes = argument;
  char told;
  OK(cuInit(0));
  start();
  allocated(20 * MIB);
  IS(write(pipes[1], "x", 1), 1);
  while (read(pipes[2], &told, 1) < 0 && errno == EINTR) {}
  IS(used_bytes(), 20 * MIB);
  _exit(0);
}

// A process lives as long as one of its threads does, also when main() has ended by pthread_exit.
CASE(main_thread_gone, "DEVICES=64MiB STATE=shared") {
  int up[2], down[2];
  char told;
  IS(pipe(up), 0);
  IS(pipe(down), 0);
  pid_t child = fork_child();
  if (!child) {
    pthread_t thread;
    static int pipes[4];
    pipes[1] = up[1], pipes[2] = down[0];
    IS(pthread_create(&thread, 0, goes_on, pipes), 0);
    pthread_exit(0);
  }
  IS(read(up[0], &told, 1), 1);
  usleep(20000);
  start();
  IS(used_bytes(), 20 * MIB);
  IS(write(down[1], "x", 1), 1);
  IS(ended_with(child), 0);
  IS(used_bytes(), 0);
}

// A program that replaces another in the same process starts with nothing.
CASE(replaced_by_exec, "DEVICES=64MiB STATE=shared") {
  if (getenv("SECOND_PROGRAM")) {
    start();
    IS(used_bytes(), 0);
    return;
  }
  start();
  allocated(20 * MIB);
  setenv("SECOND_PROGRAM", "yes", 1);
  execl(program_invocation_name, program_invocation_name, "replaced_by_exec", (char *)0);
  HOLDS(!"exec works");
}

// For the Python beside this: a process that holds memory until its input ends, and one that asks who does.
CASE(holds_until_told, "DEVICES=64MiB STATE=shared") {
  start();
  allocated(20 * MIB);
  puts("ready");
  fflush(stdout);
  getchar();
}
CASE(finds_nothing_taken, "DEVICES=64MiB STATE=shared") {
  start();
  IS(used_bytes(), 0);
}
