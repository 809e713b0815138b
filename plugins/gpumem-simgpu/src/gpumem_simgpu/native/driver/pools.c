/* Stream-ordered pools.  What a pool has reserved follows what its blocks use, in steps of the granularity,
 * and falls back to its release threshold when memory is freed and when somebody synchronises. */
#include "streams.h"

static int has_pools(int dev) { return sim_device(dev)->pools; }

CUresult pools_open(int dev) {
  Device *device = &driver.device[dev];
  if (device->pool) return CUDA_SUCCESS;
  Pool *pool = handle_new(POOL, sizeof *pool, 0);
  if (!pool) return CUDA_ERROR_OUT_OF_MEMORY;
  pool->dev = dev;
  for (int i = 0; i < 3; i++) pool->reuse[i] = 1;
  device->pool = device->current = device->pools = pool;
  return CUDA_SUCCESS;
}

/* Locked.  Let go of what exceeds `keep` and no block needs; returns how much. */
static size_t shrink(Pool *pool, size_t keep) {
  size_t needed = round_up(pool->used, sim_machine()->granularity);
  if (keep < needed) keep = needed;
  if (pool->reserved <= keep) return 0;
  size_t released = pool->reserved - keep;
  pool->reserved = keep;
  return released;
}
static size_t to_threshold(Pool *pool) {
  return shrink(pool, pool->threshold / sim_machine()->granularity * sim_machine()->granularity);
}

/* Locked. */
static void delete(Pool *pool) {
  for (Pool **place = &driver.device[pool->dev].pools; *place; place = &(*place)->next)
    if (*place == pool) {
      *place = pool->next;
      break;
    }
  handle_drop(pool);
}

size_t pool_drop(Pool *pool, size_t bytes) {
  pool->used -= bytes, pool->blocks--;
  size_t released = to_threshold(pool);
  if (pool->destroyed && !pool->blocks) delete(pool);
  return released;
}

/* Not locked.  Say that a pool let go of memory, and give it back. */
static void give_back(int dev, const void *pool, const char *api, size_t bytes) {
  int bus = driver.device[dev].bus;
  sim_log(&SIM_LINE(.api = api, .dev = dev, .bus = bus, .bytes = (long long)bytes, .ptr = pool,
                    .freed = (long long)bytes));
  sim_ledger_give(bus, bytes);
}

static void settle(int dev, int empty) {
  size_t released = 0;
  lock();
  for (Pool *pool = driver.device[dev].pools; pool; pool = pool->next)
    released += empty ? shrink(pool, 0) : to_threshold(pool);
  unlock();
  if (released) give_back(dev, 0, "pools released", released);
}
void pools_settle(int dev) { settle(dev, 0); }
void pools_empty(int dev) { settle(dev, 1); }

/* ---- allocating ---- */

/* Locked. */
static CUresult grant(Pool *pool, size_t bytes, SimLine *line, SimTotals *now) {
  size_t used = pool->used + bytes, reserved = round_up(used, sim_machine()->granularity), more = 0;
  if (bytes > sim_device(pool->dev)->total || (pool->most && used > pool->most))
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (reserved > pool->reserved) {
    more = reserved - pool->reserved;
    line->now = now;
    if (sim_ledger_take(line->bus, more, now)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  char *start = backing_new(bytes);
  Block *block = start ? block_new(POOLED, pool->dev, start, bytes) : 0;
  if (!block) {
    if (start) backing_free(start, bytes);
    sim_ledger_give(line->bus, more);
    line->now = 0;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  block->context = driver.device[pool->dev].primary, block->pool = pool;
  pool->used = used, pool->reserved += more, pool->blocks++;
  if (pool->used > pool->used_high) pool->used_high = pool->used;
  if (pool->reserved > pool->reserved_high) pool->reserved_high = pool->reserved;
  line->ptr = start, line->id = block->id, line->charged = (long long)more;
  return CUDA_SUCCESS;
}

/* Locked.  The pool that lives at this address, and has not been destroyed. */
static Pool *find(CUmemoryPool address) {
  Pool *pool = handle_find(POOL, address);
  return pool && !pool->destroyed ? pool : 0;
}

/* `from` 0: the current pool of the device. */
static CUresult allocate(const char *api, int dev, CUmemoryPool from, size_t bytes, CUdeviceptr *out) {
  SimTotals now;
  if (!has_pools(dev)) return CUDA_ERROR_NOT_SUPPORTED;
  SimLine line = SIM_LINE(.api = api, .dev = dev, .bus = driver.device[dev].bus, .bytes = (long long)bytes);
  CUresult rc = bytes && out ? request_begin(&line) : CUDA_ERROR_INVALID_VALUE;
  if (!rc) {
    lock();
    Pool *pool = from ? find(from) : driver.device[dev].current;
    rc = pool ? grant(pool, bytes, &line, &now) : CUDA_ERROR_INVALID_VALUE;
    unlock();
  }
  if (!rc) *out = (CUdeviceptr)line.ptr;
  line.rc = (int)rc;
  sim_log(&line);
  return rc;
}
/* The device is the stream's, not that of the current context (cuda.h). */
API cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream) {
  struct CUstream_st known;
  TRY(stream_look(stream, &known));
  return allocate("cuMemAllocAsync", known.dev, 0, bytes, out);
}
API cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool from, CUstream stream) {
  struct CUstream_st known;
  TRY(stream_look(stream, &known));
  lock();
  Pool *pool = find(from);
  int dev = pool ? pool->dev : 0;
  unlock();
  return pool ? allocate("cuMemAllocFromPoolAsync", dev, from, bytes, out) : CUDA_ERROR_INVALID_VALUE;
}
API cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  struct CUstream_st known;
  NEED(address);
  TRY(stream_look(stream, &known));
  return free_memory("cuMemFreeAsync", address);
}

/* ---- pools of a program's own ---- */

API cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties) {
  NEED(out && properties);
  TRY(driver_ready());
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return (CUresult)sim_stub("cuMemPoolCreate in host memory", CUDA_ERROR_NOT_SUPPORTED);
  int dev = properties->location.id;
  TRY(device_ready(dev));
  if (!has_pools(dev)) return CUDA_ERROR_NOT_SUPPORTED;
  lock();
  Pool *pool = handle_new(POOL, sizeof *pool, 0);
  if (pool) {
    pool->dev = dev, pool->most = properties->maxSize;
    for (int i = 0; i < 3; i++) pool->reuse[i] = 1;
    pool->next = driver.device[dev].pools, driver.device[dev].pools = pool;
    *out = pool;
  }
  unlock();
  return pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API cuMemPoolDestroy(CUmemoryPool address) {
  size_t released = 0;
  int dev = 0;
  TRY(driver_ready());
  lock();
  Pool *pool = find(address);
  Device *device = pool ? &driver.device[pool->dev] : 0;
  if (!pool || device->pool == pool) {
    unlock();
    return CUDA_ERROR_INVALID_VALUE;
  }
  dev = pool->dev;
  if (device->current == pool) device->current = device->pool;
  pool->destroyed = 1, pool->threshold = 0;
  released = to_threshold(pool);
  if (!pool->blocks) delete(pool);
  unlock();
  if (released) give_back(dev, address, "cuMemPoolDestroy", released);
  return CUDA_SUCCESS;
}
API cuMemPoolTrimTo(CUmemoryPool address, size_t keep) {
  TRY(driver_ready());
  lock();
  Pool *pool = find(address);
  int dev = pool ? pool->dev : 0;
  size_t step = sim_machine()->granularity, most = SIZE_MAX / 2;
  size_t released = pool ? shrink(pool, round_up(keep < most ? keep : most, step)) : 0;
  unlock();
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  give_back(dev, address, "cuMemPoolTrimTo", released);
  return CUDA_SUCCESS;
}

/* ---- which pool is current ---- */

static CUresult pool_of(CUmemoryPool *out, int dev, int current) {
  NEED(out);
  TRY(device_ready(dev));
  if (!has_pools(dev)) return CUDA_ERROR_NOT_SUPPORTED;
  lock();
  *out = current ? driver.device[dev].current : driver.device[dev].pool;
  unlock();
  return CUDA_SUCCESS;
}
API cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev) { return pool_of(out, dev, 0); }
API cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev) { return pool_of(out, dev, 1); }
API cuDeviceSetMemPool(CUdevice dev, CUmemoryPool address) {
  TRY(device_ready(dev));
  if (!has_pools(dev)) return CUDA_ERROR_NOT_SUPPORTED;
  lock();
  Pool *pool = find(address);
  if (pool && pool->dev != dev) pool = 0;
  if (pool) driver.device[dev].current = pool;
  unlock();
  return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
