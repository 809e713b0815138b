/* Objects that programs hold by address.  A tree knows the living ones, so that a stale or invented address
 * is an error and not a crash. */
#define _GNU_SOURCE
#include "driver.h"
#include <search.h>
#include <stdint.h>
#include <stdlib.h>

static void *tree;    /* of tsearch(3), by address */
static Handle *first; /* all of them, newest first */

unsigned long long next_id(void) {
  static unsigned long long last;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y ? -1 : x > y;
}

void *handle_new(HandleKind kind, size_t bytes, Context *context) {
  Handle *handle = calloc(1, bytes);
  if (!handle) return 0;
  if (!tsearch(handle, &tree, by_address)) {
    free(handle);
    return 0;
  }
  handle->kind = kind, handle->context = context, handle->id = next_id();
  handle->next = first;
  if (first) first->previous = handle;
  first = handle;
  return handle;
}

void *handle_find(HandleKind kind, const void *address) {
  Handle **found = address ? tfind(address, &tree, by_address) : 0;
  return found && (*found)->kind == kind ? *found : 0;
}

void handle_drop(void *address) {
  Handle *handle = address;
  tdelete(handle, &tree, by_address);
  if (handle->previous)
    handle->previous->next = handle->next;
  else
    first = handle->next;
  if (handle->next) handle->next->previous = handle->previous;
  free(handle);
}

void *handle_of(HandleKind kind, const Context *context) {
  Handle *handle = first;
  while (handle && (handle->kind != kind || handle->context != context)) handle = handle->next;
  return handle;
}

void handles_drop_of(Context *context) {
  for (Handle *handle = first, *next; handle; handle = next) {
    next = handle->next;
    if (handle->context == context) handle_drop(handle);
  }
}
