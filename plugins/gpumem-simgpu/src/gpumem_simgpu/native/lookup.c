/* Names of errors, and the search for entry points. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>

/* ---- errors and lookups ---- */
static const struct {
  int rc;
  const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};
API cuGetErrorName(CUresult rc, const char **s) {
  for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].rc == (int)rc) {
      *s = errors[i].name;
      return 0;
    }
  *s = "CUDA_ERROR_UNKNOWN";
  return 0;
}
API cuGetErrorString(CUresult rc, const char **s) {
  for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].rc == (int)rc) {
      *s = errors[i].text;
      return 0;
    }
  *s = "simulated error";
  return 0;
}
typedef struct {
  const char *name;
  int version;
  const char *symbol;
} Entry;
extern const Entry sim_entries[]; /* generated from cudaTypedefs.h */
extern const int sim_entries_n;
API cuGetProcAddress_v2(const char *name, void **fn, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *st) {
  static void *self;
  if (!self) {
    Dl_info d;
    dladdr((void *)cuInit, &d);
    self = dlopen(d.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }
  const char *sym = name;
  int best = -1, seen = 0;
  for (int i = 0; i < sim_entries_n; i++)
    if (!strcmp(sim_entries[i].name, name)) {
      seen = 1;
      if (sim_entries[i].version <= version && sim_entries[i].version > best)
        best = sim_entries[i].version, sym = sim_entries[i].symbol;
    }
  if (seen && best < 0) {
    *fn = 0;
    if (st) *st = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return 0;
  }
  *fn = self ? dlsym(self, sym) : dlsym(RTLD_DEFAULT, sym);
  if (st) *st = *fn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (sim_tracing() || !*fn) sim_event("cuGetProcAddress", -1, version, *fn, *fn ? 0 : 500, name);
  return *fn ? CUDA_SUCCESS : st ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
API cuGetProcAddress(const char *name, void **fn, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, fn, version, flags, 0);
}
API cuGetExportTable(const void **t, const CUuuid *id) {
  char b[40];
  for (int i = 0; i < 16; i++) snprintf(b + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
  sim_event("cuGetExportTable", -1, -1, 0, CUDA_ERROR_NOT_SUPPORTED, b);
  if (t) *t = 0;
  return CUDA_ERROR_NOT_SUPPORTED;
}
