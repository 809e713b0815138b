/* The part of NVML that memory tools ask for.  Structures are declared by hand, from the layouts that
 * nvidia-ml-py documents. */
#ifndef SIM_NVML_H
#define SIM_NVML_H
#include "ledger.h"
#include "machine.h"

#define API __attribute__((visibility("default"))) int
#define TRY(call)                                                                                            \
  do {                                                                                                       \
    int rc_ = (call);                                                                                        \
    if (rc_) return rc_;                                                                                     \
  } while (0)
#define NEED(condition)                                                                                      \
  do {                                                                                                       \
    if (!(condition)) return INVALID_ARGUMENT;                                                               \
  } while (0)

enum {
  SUCCESS = 0,
  UNINITIALIZED = 1,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  NO_PERMISSION = 4,
  NOT_FOUND = 6,
  INSUFFICIENT_SIZE = 7,
  LIBRARY_NOT_FOUND = 12,
  GPU_IS_LOST = 15,
  VERSION_MISMATCH = 18, /* of the library and the driver */
  ARGUMENT_VERSION_MISMATCH = 25,
};

/* A handle is a number in disguise: of a physical GPU, or of a slice. */
typedef void *Handle;
typedef struct {
  int gpu;
  int bus; /* of the device that is meant; -1 where a sliced GPU as a whole is */
} Target;

int nvml_ready(void);
int nvml_target(Handle handle, Target *target); /* a valid handle of a GPU that is not lost */
Handle nvml_gpu_handle(int gpu);
Handle nvml_slice_handle(int bus);
int nvml_text(const char *text, char *out, unsigned size);
#endif
