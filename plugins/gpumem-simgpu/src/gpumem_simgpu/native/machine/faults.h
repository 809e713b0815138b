/* Faults on demand, from SIMGPU_FAULTS. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H
#include "machine.h"
#include <stddef.h>

/* What goes wrong with one request for device memory; the texts are notes for the log. */
typedef struct {
  const char *refused; /* out of memory, though there may be room */
  const char *lost;    /* the device is lost from now on */
  const char *other;   /* another process takes memory just before */
  size_t other_bytes;
} SimFaultHit;

void sim_faults_read(const SimMachine *machine);

/* Count a request on a device and say what goes wrong with it. */
void sim_fault_on_request(int bus, SimFaultHit *hit);

/* What cuInit answers; 0 is no fault. */
int sim_fault_of_init(const char **note);

/* Wait as long as a slow driver would. */
void sim_fault_slow(void);
#endif
