/* What the programs ask NVML, in one word each. */
#ifndef NVML_CALLS_H
#define NVML_CALLS_H
#include "device.h"
#include "nvml_api.h"

static inline nvmlDevice_t handle(unsigned index) {
  nvmlDevice_t device = 0;
  OK(nvmlDeviceGetHandleByIndex_v2(index, &device));
  return device;
}
static inline nvmlDevice_t open_first(void) {
  OK(nvmlInit_v2());
  return handle(0);
}

#endif
