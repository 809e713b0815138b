/* The first call of any of the four libraries reads the machine and opens what processes share. */
#define _GNU_SOURCE
#include "faults.h"
#include "ledger.h"
#include "log.h"
#include "machine.h"
#include <pthread.h>

static SimMachine machine;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void boot(void) {
  sim_machine_read(&machine);
  sim_faults_read(&machine);
  sim_log_open();
  sim_ledger_open(&machine);
}

const SimMachine *sim_machine(void) {
  pthread_once(&once, boot);
  return &machine;
}
