/* The part of NVML that the programs ask, declared by hand as its header is in no wheel.
 * Layouts and numbers: https://docs.nvidia.com/deploy/nvml-api/ and pynvml.py of nvidia-ml-py 12.535 and 13. */
#ifndef NVML_API_H
#define NVML_API_H

enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
};
#define NVML_VALUE_NOT_AVAILABLE (-1)

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;
typedef struct {
  unsigned version; /* sizeof | 2 << 24 */
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
#define NVML_MEMORY_V2 ((unsigned)(sizeof(nvmlMemory_v2_t) | 2u << 24))
typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;
typedef struct { /* of _v2 and _v3 */
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;
typedef struct {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
} nvmlPciInfo_t;

int nvmlInit_v2(void);
int nvmlInit(void);
int nvmlInitWithFlags(unsigned flags);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *text, unsigned length);
int nvmlSystemGetCudaDriverVersion_v2(int *version);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device);
int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *device);
int nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index);
int nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned length);
int nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned length);
int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *info);
int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory);
int nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *infos);
int nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos);
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos);
int nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos);
int nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos);
int nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *number);
int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, void *rates);
int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned *value);
int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned *value);
int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned *value);
int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *state);
int nvmlSystemGetNVMLVersion(char *text, unsigned length);
int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending);
int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count);
int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *slice);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t slice, nvmlDevice_t *device);
int nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *yes);
int nvmlDeviceGetGpuInstanceId(nvmlDevice_t slice, unsigned *id);
int nvmlDeviceGetComputeInstanceId(nvmlDevice_t slice, unsigned *id);
#endif
