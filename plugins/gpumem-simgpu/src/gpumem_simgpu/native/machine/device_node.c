/* One framework looks for a device node before it tries CUDA: /dev/nvidia0 and /dev/nvidiactl look like
 * /dev/null.  This works only where the library is preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#define VISIBLE __attribute__((visibility("default")))

static const char *node(const char *path) {
  return path && (!strcmp(path, "/dev/nvidia0") || !strcmp(path, "/dev/nvidiactl")) ? "/dev/null" : path;
}

/* The C library's own; several threads may look for it at once and find the same. */
static void *real(void **known, const char *name) {
  void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
  if (!found) {
    found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(known, found, __ATOMIC_RELAXED);
  }
  return found;
}

VISIBLE int stat(const char *path, struct stat *st) {
  static void *known;
  int (*next)(const char *, struct stat *) = (int (*)(const char *, struct stat *))real(&known, "stat");
  return next(node(path), st);
}

VISIBLE int stat64(const char *path, struct stat64 *st) {
  static void *known;
  int (*next)(const char *, struct stat64 *) = (int (*)(const char *, struct stat64 *))real(&known, "stat64");
  return next(node(path), st);
}
