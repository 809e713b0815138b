/* Every range of addresses that was handed out.  Ranges do not overlap, so a tree finds the one that holds an
 * address: two ranges compare equal when they touch. */
#define _GNU_SOURCE
#include "driver.h"
#include <search.h>
#include <stdlib.h>

static void *tree; /* of tsearch(3) */

static int by_range(const void *a, const void *b) {
  const Block *x = a, *y = b;
  if (x->start + x->bytes <= y->start) return -1;
  return x->start >= y->start + y->bytes;
}

Block *block_new(BlockKind kind, int dev, char *start, size_t bytes) {
  Block *block = calloc(1, sizeof *block);
  if (!block) return 0;
  block->start = start, block->bytes = bytes, block->kind = kind, block->dev = dev;
  Block **found = tsearch(block, &tree, by_range);
  while (found && *found != block && (*found)->kind == REGISTERED && kind != REGISTERED) {
    /* The program gave the memory back to the host without unregistering it. */
    Block *stale = *found;
    block_remove(stale);
    free(stale);
    found = tsearch(block, &tree, by_range);
  }
  if (!found || *found != block) {
    free(block);
    return 0;
  }
  block->id = next_id();
  return block;
}

Block *block_at(const void *address) {
  const Block wanted = {.start = (char *)address, .bytes = 1};
  Block **found = tfind(&wanted, &tree, by_range);
  return found ? *found : 0;
}

void block_remove(Block *block) { tdelete(block, &tree, by_range); }

typedef struct {
  const Context *context;
  Block *first;
} Search;

static void look(const void *node, VISIT visit, void *closure) {
  Block *block = *(Block *const *)node;
  Search *search = closure;
  if ((visit != postorder && visit != leaf) || block->context != search->context || block->kind == MAPPED)
    return;
  block->next = search->first, search->first = block;
}
Block *blocks_of_context(const Context *context) {
  Search search = {context, 0};
  twalk_r(tree, look, &search);
  return search.first;
}

/* Memory that is mapped in several blocks beside each other is one range for a copy. */
int blocks_cover(const char *start, size_t bytes) {
  uintptr_t past;
  if (__builtin_add_overflow((uintptr_t)start, bytes, &past)) return 0;
  const char *end = (const char *)past;
  while (start < end) {
    Block *block = block_at(start);
    if (!block || (block->kind == MAPPED && !block->access)) return 0;
    start = block->start + block->bytes;
  }
  return 1;
}

int is_device_memory(const Block *block) { return block->kind <= GLOBAL; }
