/* Whether a process still lives: it is neither gone, nor a zombie, nor another one under the same number. */
#define _GNU_SOURCE
#include "ledger.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  char state;
  long
      threads; /* more than one: a process whose main thread has ended, and is a zombie, lives on in others */
  unsigned long long started;
} Stat;

/* From /proc/PID/stat; see proc_pid_stat(5).  0 when it cannot be read. */
static int read_stat(pid_t pid, Stat *stat) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  /* The second field is the program's name in brackets; it may hold anything, also brackets. */
  const char *after = strrchr(text, ')');
  const char *format = " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu";
  return after && sscanf(after + 1, format, &stat->state, &stat->threads, &stat->started) == 3;
}

SimLife sim_life_of(pid_t pid) {
  Stat stat;
  return (SimLife){.pid = pid, .started = read_stat(pid, &stat) ? stat.started : 0};
}

int sim_is_alive(SimLife life) {
  Stat stat;
  if (kill(life.pid, 0) && errno == ESRCH) return 0;
  if (!read_stat(life.pid, &stat)) return kill(life.pid, 0) == 0 || errno != ESRCH;
  if (life.started && stat.started != life.started) return 0;
  return (stat.state != 'Z' && stat.state != 'X') || stat.threads > 1;
}
