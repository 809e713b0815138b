/* Which shared object asked: the first frame above us that is neither ours nor one that only passes calls on.
 */
#define _GNU_SOURCE
#include "log.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unwind.h>

#define DEEPEST 64

typedef struct {
  const char *path;
  int frames;
} Walk;

static const char *own_path;
static size_t own_folder; /* length of the folder part of own_path */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

static void find_own_folder(void) {
  Dl_info info;
  if (!dladdr((void *)sim_caller, &info) || !info.dli_fname) return;
  own_path = info.dli_fname, own_folder = folder_length(own_path);
}

/* The executable of a test may lie beside our libraries, so that alone does not make it one of them. */
static int is_ours(const char *path, size_t folder) {
  static const char *const name[] = {"libcuda.so", "libcudart.so", "libnvidia-ml.so"};
  if (!own_folder || folder != own_folder || strncmp(own_path, path, folder)) return 0;
  for (size_t i = 0; i < sizeof name / sizeof *name; i++)
    if (!strncmp(path + folder, name[i], strlen(name[i]))) return 1;
  return 0;
}

static int passes_on(const char *base) {
  static const char *const through[] = {"libc.so",  "libc-",  "libpthread", "libdl",
                                        "ld-linux", "libffi", "libgcc_s"};
  for (size_t i = 0; i < sizeof through / sizeof *through; i++)
    if (!strncmp(base, through[i], strlen(through[i]))) return 1;
  return 0;
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument) {
  Walk *walk = argument;
  Dl_info info;
  /* The return address may be the first byte of the next function, so look one byte before it. */
  void *address = (void *)(_Unwind_GetIP(context) - 1);
  if (++walk->frames > DEEPEST) return _URC_END_OF_STACK;
  if (!dladdr(address, &info) || !info.dli_fname) return _URC_NO_REASON;
  size_t folder = folder_length(info.dli_fname);
  if (is_ours(info.dli_fname, folder) || passes_on(info.dli_fname + folder)) return _URC_NO_REASON;
  walk->path = info.dli_fname;
  return _URC_END_OF_STACK;
}

const char *sim_caller(void) {
  Walk walk = {0, 0};
  if (!sim_log_is_open()) return 0;
  pthread_once(&once, find_own_folder);
  _Unwind_Backtrace(step, &walk); /* stops at the frame it looks for: a few microseconds */
  return walk.path;
}
