/* Which shared object asked: the first frame above us that is neither ours nor one that only passes calls on.
 */
#define _GNU_SOURCE
#include "simgpu.h"
#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

typedef struct {
  const char *path;
  int frames;
} Walk;

static const char *own_folder(size_t *length) {
  static const char *path;
  static size_t n;
  if (!path) {
    Dl_info info;
    if (!dladdr((void *)own_folder, &info) || !info.dli_fname) return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    n = slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
    path = info.dli_fname;
  }
  *length = n;
  return path;
}

static int passes_on(const char *base) {
  static const char *const through[] = {"libc.so",  "libc-",  "libpthread", "libdl",
                                        "ld-linux", "libffi", "libgcc_s"};
  for (unsigned i = 0; i < sizeof through / sizeof *through; i++)
    if (!strncmp(base, through[i], strlen(through[i]))) return 1;
  return 0;
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument) {
  Walk *walk = argument;
  Dl_info info;
  size_t n = 0;
  const char *own = own_folder(&n);
  /* The return address may be the first byte of the next function, so look one byte before it. */
  void *address = (void *)(_Unwind_GetIP(context) - 1);
  if (++walk->frames > 64) return _URC_END_OF_STACK;
  if (!dladdr(address, &info) || !info.dli_fname) return _URC_NO_REASON;
  const char *slash = strrchr(info.dli_fname, '/');
  size_t folder = slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
  if (own && folder == n && n && !strncmp(own, info.dli_fname, n)) return _URC_NO_REASON;
  if (passes_on(slash ? slash + 1 : info.dli_fname)) return _URC_NO_REASON;
  walk->path = info.dli_fname;
  return _URC_END_OF_STACK;
}

const char *sim_caller(void) {
  Walk walk = {0, 0};
  _Unwind_Backtrace(step, &walk); /* stops at the frame it looks for: a few microseconds */
  return walk.path;
}
