/* A test program: cases with a machine each, and checks that say where they failed and what was expected.
 *
 *   // A promise, as a comment.
 *   CASE(name, "DEVICES=64MiB GRANULARITY=1") { ... }
 *
 * The string is the machine: SIMGPU_* variables without that prefix, and variables of CUDA in full, parted by
 * blanks.  The Python beside this file reads the cases from the source, sets the variables and runs each case
 * in a process of its own: `program CASE`.
 *
 * Under a sanitizer the start of a program is what takes long, so `program CASE CASE ...` runs each case in a
 * forked child, which sets the variables itself: the machine is read with the first call. */
#ifndef CHECK_H
#define CHECK_H
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Longer than any case needs, also under valgrind: what hangs ends with SIGALRM. */
#define SECONDS_UNTIL_HUNG 120

typedef struct Case {
  const char *name, *machine;
  void (*run)(void);
  struct Case *next;
} Case;
static Case *all_cases;

#define CASE(name, variables)                                                                                \
  static void name(void);                                                                                    \
  __attribute__((constructor)) static void add_##name(void) {                                                \
    static Case this = {#name, variables, name, 0};                                                                    \
    this.next = all_cases, all_cases = &this;                                                                \
  }                                                                                                          \
  static void name(void)

/* A failed check ends the process: what follows it would only fail because of it. */
#define IS(actual, expected) check_is(__FILE__, __LINE__, #actual, (long long)(actual), (long long)(expected))
#define OK(call) IS(call, 0)
#define HOLDS(condition) check_holds(__FILE__, __LINE__, #condition, !!(condition))
#define SAYS(actual, expected) check_says(__FILE__, __LINE__, #actual, actual, expected)

__attribute__((noreturn)) static inline void check_failed(void) {
  fflush(stderr);
  _exit(1);
}
static inline void check_is(const char *file, int line, const char *what, long long actual, long long expected) {
  if (actual == expected) return;
  fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", file, line, what, actual, expected);
  check_failed();
}
static inline void check_holds(const char *file, int line, const char *what, int holds) {
  if (holds) return;
  fprintf(stderr, "%s:%d: expected %s\n", file, line, what);
  check_failed();
}
static inline void check_says(const char *file, int line, const char *what, const char *actual,
                              const char *expected) {
  if (actual && !strcmp(actual, expected)) return;
  fprintf(stderr, "%s:%d: %s is \"%s\", expected \"%s\"\n", file, line, what, actual ? actual : "(null)", expected);
  check_failed();
}

/* Random numbers that are the same on every machine (xorshift64*), one state per thread or process. */
static inline unsigned long long random_next(unsigned long long *state) {
  *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
  return *state * 2685821657736338717ull;
}
static inline size_t random_below(unsigned long long *state, size_t limit) {
  return (size_t)((random_next(state) >> 33) % limit);
}

/* A child that does not outlive a failed check of its parent. */
static inline pid_t fork_child(void) {
  pid_t parent = getpid(), child = fork();
  HOLDS(child >= 0);
  if (!child) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    alarm(SECONDS_UNTIL_HUNG);
  }
  return child;
}

/* The exit status of a child; a signal counts as 128 and its number. */
static inline int ended_with(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void in_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  IS(pthread_create(&thread, 0, run, argument), 0);
  IS(pthread_join(thread, 0), 0);
}

static Case *find_case(const char *name) {
  for (Case *one = all_cases; one; one = one->next)
    if (!strcmp(one->name, name)) return one;
  fprintf(stderr, "no case is called %s\n", name);
  exit(2);
}

/* A file of this case in the working directory. */
static inline void set_file(const char *variable, const char *file, const Case *one) {
  char path[4096];
  IS(getcwd(path, sizeof path) != 0, 1);
  size_t length = strlen(path);
  HOLDS((size_t)snprintf(path + length, sizeof path - length, "/%s.%s", file, one->name) < sizeof path - length);
  setenv(variable, path, 1);
}

static inline void set_machine(const Case *one) {
  char words[512], *rest = 0;
  HOLDS((size_t)snprintf(words, sizeof words, "%s", one->machine) < sizeof words);
  for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(0, " ", &rest)) {
    char name[64], *value = strchr(word, '=');
    *value++ = 0;
    snprintf(name, sizeof name, "%s%s", strncmp(word, "CUDA_", 5) ? "SIMGPU_" : "", word);
    setenv(name, value, 1);
  }
  if (getenv("SIMGPU_STATE")) set_file("SIMGPU_STATE", "state", one);
  set_file("SIMGPU_LOG", "log", one);
}

static inline int run_in_a_child(const Case *one) {
  pid_t child = fork_child();
  if (!child) {
    set_machine(one);
    one->run();
    exit(0);
  }
  int status = ended_with(child);
  if (status) fprintf(stderr, "%s ended with %d\n", one->name, status);
  return status;
}

int main(int argc, char **argv) {
  int failed = 0;
  alarm(argc == 2 ? SECONDS_UNTIL_HUNG : 0);
  if (argc == 2) find_case(argv[1])->run();
  for (int i = 1; argc > 2 && i < argc; i++) failed |= run_in_a_child(find_case(argv[i]));
  return failed;
}
#endif
