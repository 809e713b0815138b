/* Names and texts of errors. */
#include "driver.h"

typedef struct {
  int code;
  const char *name, *text;
} ErrorName;
extern const ErrorName sim_error_names[]; /* written by stubs.py from cuda.h */
extern const int sim_error_names_count;

/* Where people read a text, it is the driver's; the others are made from the names. */
static const struct {
  int code;
  const char *text;
} known_text[] = {
    {CUDA_SUCCESS, "no error"},
    {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "named symbol not found"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_NOT_SUPPORTED, "operation not supported"},
    {CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_UNKNOWN, "unknown error"},
};

static const ErrorName *find(int code) {
  for (int i = 0; i < sim_error_names_count; i++)
    if (sim_error_names[i].code == code) return &sim_error_names[i];
  return 0;
}

API cuGetErrorName(CUresult code, const char **name) {
  const ErrorName *found = find((int)code);
  NEED(name);
  *name = found ? found->name : 0;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuGetErrorString(CUresult code, const char **text) {
  const ErrorName *found = find((int)code);
  NEED(text);
  *text = found ? found->text : 0;
  for (size_t i = 0; i < sizeof known_text / sizeof *known_text; i++)
    if (known_text[i].code == (int)code) *text = known_text[i].text;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
