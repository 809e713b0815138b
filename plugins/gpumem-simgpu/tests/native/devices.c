/* What CUDA tells about devices. */
#include "device.h"
#include <sys/stat.h>

// Each device has its own name, size, capability and count of multiprocessors.
CASE(facts, "DEVICES=16MiB,32MiB NAMES=first,second CC=7.5,9.0 SMS=40,132 DRIVER_VERSION=12040") {
  char name[64], bus[32];
  int version = 0, major = 0, minor = 0;
  CUdevice device = 9;
  CUuuid one, two;
  OK(cuDriverGetVersion(&version));
  IS(version, 12040);
  OK(cuInit(0));
  OK(cuDeviceGetName(name, sizeof name, 1));
  SAYS(name, "second");
  OK(cuDeviceComputeCapability(&major, &minor, 0));
  IS(major * 10 + minor, 75);
  IS(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1), 9);
  IS(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 40);
  IS(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1), 132);
  OK(cuDeviceGetUuid(&one, 0));
  OK(cuDeviceGetUuid(&two, 1));
  HOLDS(memcmp(&one, &two, sizeof one) != 0);
  OK(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
  OK(cuDeviceGetByPCIBusId(&device, bus));
  IS(device, 1);
  IS(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED, 0), 0);
  IS(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0), 1);
  OK(cuDeviceCanAccessPeer(&version, 0, 1));
  IS(version, 1);
}

// Devices that do not exist and buffers that are too small.
CASE(wrong_questions, "DEVICES=16MiB NAMES=a_rather_long_name") {
  CUdevice device;
  size_t bytes;
  int value;
  char name[5] = "zzzz";
  OK(cuInit(0));
  IS(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  IS(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  IS(cuDeviceGet(0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuDeviceTotalMem(&bytes, 7), CUDA_ERROR_INVALID_DEVICE);
  IS(cuDeviceTotalMem(0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
  IS(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuDeviceGetName(name, 4, 0));
  SAYS(name, "a_r");
  IS(cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
  IS(cuDeviceGetByPCIBusId(&device, "0000:77:00.0"), CUDA_ERROR_INVALID_DEVICE);
  IS(cuDeviceGetByPCIBusId(&device, "nonsense"), CUDA_ERROR_INVALID_VALUE);
}

// A device that shares the host's memory says so.
CASE(integrated, "DEVICES=2x64MiB INTEGRATED=yes,no") {
  OK(cuInit(0));
  IS(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED, 0), 1);
  IS(attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0), 1);
  IS(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED, 1), 0);
  IS(attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 1), 0);
  start();
  OK(cuMemFree(allocated(64 * MIB)));
}

// Values of the variables hold for each device, for all, or for so many.
CASE(repeated_values, "DEVICES=2x16MiB,8MiB POOLS=2xyes,no VMM=no CC=2x8.0,9.0") {
  OK(cuInit(0));
  for (int i = 0; i < 3; i++) {
    IS(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, i), i < 2);
    IS(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, i), 0);
    IS(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i), i < 2 ? 8 : 9);
  }
}

// Programs that look for a device node before they try CUDA find one; other files are what they are.
CASE(device_nodes, "DEVICES=64MiB") {
  struct stat about, zero;
  IS(stat("/dev/nvidia0", &about), 0);
  IS(stat("/dev/null", &zero), 0);
  IS(about.st_rdev, zero.st_rdev);
  IS(stat("/dev/nvidiactl", &about), 0);
  IS(stat("/no/such/file", &about), -1);
  IS(errno, ENOENT);
  IS(stat("/", &about), 0);
  HOLDS(S_ISDIR(about.st_mode));
}
