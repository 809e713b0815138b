/* Every range handed out, and questions about pointers.  The list is short, so it is searched from the front.
 */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>
#include <sys/mman.h>

static Block *blocks;

Block *sim_block_new(int kind, int dev, char *p, size_t n) {
  Block *b = calloc(1, sizeof *b);
  b->kind = kind, b->dev = dev, b->p = p, b->n = n, b->refs = 1;
  pthread_mutex_lock(&sim_driver_mutex);
  b->id = sim_next_id();
  b->next = blocks, blocks = b;
  pthread_mutex_unlock(&sim_driver_mutex);
  return b;
}
Block *sim_block_at(const void *p, int exact) {
  Block *b, *best = 0;
  pthread_mutex_lock(&sim_driver_mutex);
  for (b = blocks; b; b = b->next) {
    if (b->kind == PHYSICAL || !b->p) continue;
    if (exact ? b->p == p : b->p <= (char *)p && (char *)p < b->p + b->n)
      if (!best || b->n < best->n) best = b; /* innermost */
  }
  pthread_mutex_unlock(&sim_driver_mutex);
  return best;
}
void sim_block_drop(Block *x) {
  pthread_mutex_lock(&sim_driver_mutex);
  for (Block **q = &blocks; *q; q = &(*q)->next)
    if (*q == x) {
      *q = x->next;
      break;
    }
  pthread_mutex_unlock(&sim_driver_mutex);
  free(x);
}
/* Address space only: pages are committed when somebody writes to them. */
char *sim_lazy(size_t n) {
  void *p = mmap(0, n ? n : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) p = mmap(0, n ? n : 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? 0 : p;
}
size_t sim_round_up(size_t n, size_t g) { return (n + g - 1) / g * g; }

API cuPointerGetAttribute(void *v, CUpointer_attribute a, CUdeviceptr p) {
  Block *b = sim_block_at((void *)p, 0);
  if (!b) return CUDA_ERROR_INVALID_VALUE;
  int on_dev = b->kind == DEVICE || b->kind == POOLED || b->kind == MANAGED;
  switch ((int)a) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)v = b->dev >= 0 ? &sim_primary[b->dev] : 0; break;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *(unsigned *)v = on_dev ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)v = p; break;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (b->kind == DEVICE || b->kind == POOLED) return CUDA_ERROR_INVALID_VALUE;
    *(void **)v = (void *)p;
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)v = b->dev; break;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)v = b->kind == MANAGED; break;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)v = (CUdeviceptr)b->p; break;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)v = b->n; break;
  case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)v = 1; break;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)v = b->id; break;
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)v = b->pool; break;
  default: *(unsigned *)v = 0;
  }
  return 0;
}
API cuPointerGetAttributes(unsigned n, CUpointer_attribute *a, void **v, CUdeviceptr p) {
  for (unsigned i = 0; i < n; i++)
    if (cuPointerGetAttribute(v[i], a[i], p)) *(unsigned *)v[i] = 0;
  return 0;
}
API cuPointerSetAttribute(const void *v, CUpointer_attribute a, CUdeviceptr p) { return 0; }
