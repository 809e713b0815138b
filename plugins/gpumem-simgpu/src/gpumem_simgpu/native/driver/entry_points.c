/* Finding entry points by name and version. */
#define _GNU_SOURCE
#include "driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const char *name;
  int version; /* of CUDA, from which on it is there */
  const char *symbol;
} EntryPoint;
extern const EntryPoint sim_entry_points[]; /* written by stubs.py from cudaTypedefs.h */
extern const int sim_entry_points_count;

static void *self; /* this library */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_self(void) {
  Dl_info info;
  if (dladdr((void *)cuInit, &info)) self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

/* The newest that is not newer than `version`; 0 when there are only newer ones.  A name that the table does
 * not know is its own symbol. */
static const char *symbol_of(const char *name, int version) {
  const EntryPoint *best = 0;
  int known = 0;
  for (int i = 0; i < sim_entry_points_count; i++) {
    const EntryPoint *one = &sim_entry_points[i];
    if (strcmp(one->name, name)) continue;
    known = 1;
    if (one->version <= version && (!best || one->version > best->version)) best = one;
  }
  return best ? best->symbol : known ? 0 : name;
}

API cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status) {
  NEED(name && *name && function);
  pthread_once(&once, find_self);
  const char *symbol = symbol_of(name, version);
  *function = symbol ? dlsym(self ? self : RTLD_DEFAULT, symbol) : 0;
  CUdriverProcAddressQueryResult found = *function ? CU_GET_PROC_ADDRESS_SUCCESS
                                         : symbol  ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
                                                   : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  if (status) *status = found;
  if (found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
    sim_log(&SIM_LINE(.api = "cuGetProcAddress", .bytes = version, .note = name, .rc = CUDA_ERROR_NOT_FOUND));
  else
    sim_trace("cuGetProcAddress", -1, version, *function, name);
  return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
API cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, 0);
}

/* Tables that are not public: nothing here has any, and whoever asks is told so. */
API cuGetExportTable(const void **table, const CUuuid *id) {
  char text[33];
  NEED(table && id);
  for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
  sim_log(&SIM_LINE(.api = "cuGetExportTable", .note = text, .rc = CUDA_ERROR_NOT_SUPPORTED));
  *table = 0;
  return CUDA_ERROR_NOT_SUPPORTED;
}
