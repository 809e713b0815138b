/* Devices: how many, which, and who they are. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdio.h>
#include <string.h>

API cuDeviceGetCount(int *count) {
  NEED(count);
  TRY(driver_ready());
  *count = driver.devices;
  return CUDA_SUCCESS;
}
API cuDeviceGet(CUdevice *dev, int ordinal) {
  NEED(dev);
  TRY(driver_ready());
  if (ordinal < 0 || ordinal >= driver.devices) return CUDA_ERROR_INVALID_DEVICE;
  *dev = ordinal;
  return CUDA_SUCCESS;
}
API cuDeviceGetName(char *name, int size, CUdevice dev) {
  NEED(name && size > 0);
  TRY(device_ready(dev));
  snprintf(name, (size_t)size, "%s", sim_device(dev)->name);
  return CUDA_SUCCESS;
}
/* The second version names the MIG device, the first its GPU (cuda.h). */
API cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
  NEED(uuid);
  TRY(device_ready(dev));
  memcpy(uuid->bytes, sim_device(dev)->uuid, 16);
  return CUDA_SUCCESS;
}
API cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
  NEED(uuid);
  TRY(device_ready(dev));
  memcpy(uuid->bytes, sim_machine()->gpu[sim_device(dev)->gpu].uuid, 16);
  return CUDA_SUCCESS;
}
API cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
  NEED(bytes);
  TRY(device_ready(dev));
  *bytes = sim_device(dev)->total;
  return CUDA_SUCCESS;
}
API cuDeviceComputeCapability(int *major, int *minor, CUdevice dev) {
  NEED(major && minor);
  TRY(device_ready(dev));
  *major = sim_device(dev)->cc_major, *minor = sim_device(dev)->cc_minor;
  return CUDA_SUCCESS;
}
API cuDeviceGetPCIBusId(char *text, int size, CUdevice dev) {
  NEED(text && size > 0);
  TRY(device_ready(dev));
  snprintf(text, (size_t)size, "0000:%02X:00.0", sim_device(dev)->gpu + 1);
  return CUDA_SUCCESS;
}
API cuDeviceGetByPCIBusId(CUdevice *dev, const char *text) {
  unsigned domain, bus;
  NEED(dev && text);
  TRY(driver_ready());
  if (sscanf(text, "%x:%x", &domain, &bus) != 2) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < driver.devices; i++)
    if (!domain && sim_device(i)->gpu + 1 == (int)bus) {
      *dev = i;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_DEVICE;
}
API cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  NEED(can);
  TRY(device_ready(a));
  TRY(device_ready(b));
  *can = a != b;
  return CUDA_SUCCESS;
}
API cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice a, CUdevice b) {
  NEED(value);
  TRY(device_ready(a));
  TRY(device_ready(b));
  if (a == b) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
  return CUDA_SUCCESS;
}
