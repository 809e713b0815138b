/* Who holds how much of which device, over all processes that share SIMGPU_STATE.
 *
 * The ledger is a piece of shared memory with a robust lock of its own, the last one in the order of locks.
 * What a dead process held is given back by whoever looks next. */
#ifndef SIM_LEDGER_H
#define SIM_LEDGER_H
#include "machine.h"
#include <stddef.h>
#include <sys/types.h>

#define SIM_MAX_PROCESSES 128
#define SIM_OTHER_PROCESS 4194303 /* the process that the fault `other` invents; pids end below it */

typedef struct {
  size_t used, peak; /* of this process */
  size_t all;        /* of all processes */
} SimTotals;

typedef struct {
  pid_t pid;
  size_t bytes;
} SimHolder;

void sim_ledger_open(const SimMachine *machine);

/* 0, or -1 when the device has no room; `now` is told in both cases. */
int sim_ledger_take(int bus, size_t bytes, SimTotals *now);
void sim_ledger_give(int bus, size_t bytes);

/* The same for a context, which makes a process a user of the device even when it takes nothing. */
int sim_ledger_open_context(int bus, size_t bytes, SimTotals *now);
void sim_ledger_close_context(int bus, size_t bytes);

/* Another process takes so much, or what is free if that is less; returns what it took. */
size_t sim_ledger_take_for_other(int bus, size_t bytes, SimTotals *now);

/* The device is lost for all processes. */
void sim_ledger_lose(int bus);

#pragma GCC visibility push(default)
int sim_ledger_is_lost(int bus);
void sim_ledger_totals(int bus, SimTotals *now);

/* Up to `most` processes that have a context on a device or hold memory of it; returns how many there are. */
int sim_ledger_holders(int bus, SimHolder *holder, int most);
#pragma GCC visibility pop

/* life.c: whether processes live. */
typedef struct {
  pid_t pid;
  unsigned long long started; /* in clock ticks after boot: a pid that is used again differs in it */
} SimLife;

SimLife sim_life_of(pid_t pid);
int sim_is_alive(SimLife life);
#endif
