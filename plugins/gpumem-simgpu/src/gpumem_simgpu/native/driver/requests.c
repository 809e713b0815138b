/* A request for memory of a device, from the question to the line in the log, and its end.
 *
 * A grant is logged after the memory was taken, a free before it is given back.  So whoever replays the log
 * of all processes never sees more held than there is. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdlib.h>

/* What passes every request: a slow driver, another process, a lost device, a refusal that was ordered. */
CUresult request_begin(SimLine *line) {
  SimFaultHit hit;
  line->lib = sim_caller();
  sim_fault_slow();
  if (is_lost(line->dev)) {
    line->note = "device lost";
    return DEVICE_LOST;
  }
  sim_fault_on_request(line->bus, &hit);
  if (hit.other) {
    SimTotals now;
    size_t taken = sim_ledger_take_for_other(line->bus, hit.other_bytes, &now);
    sim_log(&SIM_LINE(.api = "other process", .dev = line->dev, .bus = line->bus, .bytes = (long long)taken,
                      .id = next_id(), .charged = (long long)taken, .now = &now, .note = hit.other));
  }
  if (hit.lost) {
    sim_ledger_lose(line->bus);
    line->note = hit.lost;
    return DEVICE_LOST;
  }
  line->note = hit.refused;
  return hit.refused ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* Locked. */
static CUresult grant(Context *context, size_t bytes, BlockKind kind, SimLine *line, SimTotals *now) {
  Charge charge;
  size_t taken;
  CUresult rc = charge_take(context->dev, bytes, &charge, &taken, now);
  line->now = now;
  if (rc) return rc;
  char *start = backing_new(bytes);
  Block *block = start ? block_new(kind, context->dev, start, bytes) : 0;
  if (!block) { /* the host has no room */
    if (start) backing_free(start, bytes);
    sim_ledger_give(line->bus, charge_drop(context->dev, &charge));
    line->now = 0;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  block->context = context, block->charge = charge;
  line->ptr = start, line->id = block->id, line->charged = (long long)taken;
  return CUDA_SUCCESS;
}

CUresult request_memory(const char *api, Context *context, size_t bytes, BlockKind kind, CUdeviceptr *out) {
  SimTotals now;
  SimLine line = SIM_LINE(.api = api, .dev = context->dev, .bus = driver.device[context->dev].bus,
                          .bytes = (long long)bytes);
  CUresult rc = bytes && out ? request_begin(&line) : CUDA_ERROR_INVALID_VALUE;
  if (!rc) {
    lock();
    rc = grant(context, bytes, kind, &line, &now);
    unlock();
  }
  if (!rc) *out = (CUdeviceptr)line.ptr;
  line.rc = (int)rc;
  sim_log(&line);
  return rc;
}

void block_forget(Block *block, SimLine *line) {
  block_remove(block);
  if (!line->api) line->api = block->kind == POOLED ? "cuMemFreeAsync" : "cuMemFree";
  line->dev = block->dev, line->bus = block->dev < 0 ? -1 : driver.device[block->dev].bus;
  line->bytes = (long long)block->bytes, line->ptr = block->start, line->id = block->id;
  if (block->kind == POOLED)
    line->freed = (long long)pool_drop(block->pool, block->bytes);
  else if (block->kind == DEVICE || block->kind == MANAGED)
    line->freed = (long long)charge_drop(block->dev, &block->charge);
}

void block_end(Block *block, const SimLine *line) {
  int counted = block->kind == DEVICE || block->kind == MANAGED || block->kind == POOLED;
  if (counted) sim_log(line);
  if (block->kind != REGISTERED) backing_free(block->start, block->bytes);
  if (counted) sim_ledger_give(line->bus, (size_t)line->freed);
  free(block);
}

CUresult free_memory(const char *api, CUdeviceptr address) {
  TRY(driver_ready());
  if (!address) return CUDA_SUCCESS;
  SimLine line = SIM_LINE(.api = api, .ptr = (void *)address, .lib = sim_caller());
  CUresult rc = CUDA_ERROR_INVALID_VALUE;
  sim_fault_slow();
  lock();
  Block *block = block_at((void *)address);
  if (block && block->start == (char *)address &&
      (block->kind == DEVICE || block->kind == MANAGED || block->kind == POOLED))
    rc = is_lost(block->dev) ? DEVICE_LOST : CUDA_SUCCESS;
  if (!rc) block_forget(block, &line);
  unlock();
  if (rc) {
    line.rc = (int)rc;
    sim_log(&line);
    return rc;
  }
  block_end(block, &line);
  return CUDA_SUCCESS;
}
