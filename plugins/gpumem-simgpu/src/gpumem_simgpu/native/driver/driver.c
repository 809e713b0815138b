/* Starting the driver, and what a fork leaves of it. */
#define _GNU_SOURCE
#include "driver.h"

Driver driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

void lock(void) { pthread_mutex_lock(&driver.lock); }
void unlock(void) { pthread_mutex_unlock(&driver.lock); }

static DriverState state(void) { return __atomic_load_n(&driver.state, __ATOMIC_ACQUIRE); }

/* In a forked child of a process that had started CUDA nothing works any more; NVIDIA says so for the
 * runtime: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#initialization and frameworks report
 * error 3. */
CUresult driver_ready(void) { return state() == ON ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED; }

CUresult device_ready(int dev) {
  TRY(driver_ready());
  if (dev < 0 || dev >= driver.devices) return CUDA_ERROR_INVALID_DEVICE;
  return is_lost(dev) ? DEVICE_LOST : CUDA_SUCCESS;
}
const SimDevice *sim_device(int dev) { return &sim_machine()->device[driver.device[dev].bus]; }
int is_lost(int dev) { return sim_ledger_is_lost(driver.device[dev].bus); }

static void after_fork_in_parent(void) { unlock(); }
static void after_fork_in_child(void) {
  if (driver.state == ON) __atomic_store_n(&driver.state, FORKED, __ATOMIC_RELEASE);
  unlock();
}

/* Locked. */
static CUresult start(void) {
  int bus[SIM_MAX_DEVICES], count = sim_visible(sim_machine(), bus);
  if (!count) return CUDA_ERROR_NO_DEVICE;
  for (int dev = 0; dev < count; dev++) {
    Device *device = &driver.device[dev];
    device->bus = bus[dev];
    if (!device->primary && !(device->primary = handle_new(CONTEXT, sizeof(Context), 0)))
      return CUDA_ERROR_OUT_OF_MEMORY;
    device->primary->dev = dev, device->primary->primary = 1;
    TRY(pools_open(dev));
  }
  driver.devices = count;
  pthread_atfork(lock, after_fork_in_parent, after_fork_in_child);
  __atomic_store_n(&driver.state, ON, __ATOMIC_RELEASE);
  return CUDA_SUCCESS;
}

API cuInit(unsigned flags) {
  const char *fault = 0;
  sim_machine();
  sim_fault_slow();
  NEED(!flags);
  CUresult rc = (CUresult)sim_fault_of_init(&fault);
  if (rc) {
    sim_log(&SIM_LINE(.api = "cuInit", .rc = (int)rc, .note = fault));
    return rc;
  }
  if (state() == FORKED) return CUDA_ERROR_NOT_INITIALIZED;
  lock();
  if (driver.state == OFF) rc = start();
  unlock();
  if (!rc) sim_trace("cuInit", -1, -1, 0, 0);
  return rc;
}

API cuDriverGetVersion(int *version) {
  NEED(version);
  *version = sim_machine()->driver_version;
  return CUDA_SUCCESS;
}
