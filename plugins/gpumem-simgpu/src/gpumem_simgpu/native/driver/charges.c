/* What a request takes from the device: as much as it asks for, rounded up to the granularity; or, for one of
 * up to half the granularity, a part of a piece that small requests of the process share. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT ((size_t)512) /* of addresses, and so of parts of a piece */

size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

static int size_class(size_t bytes) { /* bytes > 0; pieces of one class have less than twice as much room */
  return 63 - __builtin_clzll((unsigned long long)bytes);
}

static void unlink_piece(Device *device, Piece *piece) {
  if (piece->size_class < 0) return;
  if (piece->previous)
    piece->previous->next = piece->next;
  else
    device->piece[piece->size_class] = piece->next;
  if (piece->next) piece->next->previous = piece->previous;
  piece->size_class = -1;
}
static void link_piece(Device *device, Piece *piece) {
  if (!piece->room) return;
  int class = piece->size_class = size_class(piece->room);
  piece->previous = 0, piece->next = device->piece[class];
  if (piece->next) piece->next->previous = piece;
  device->piece[class] = piece;
}

/* Any piece of a higher class has room; of the same class only a few are looked at, so that thousands of
 * nearly full pieces cost nothing. */
static Piece *find_piece(Device *device, size_t part) {
  int class = size_class(part), looks = 0;
  for (Piece *piece = device->piece[class]; piece && looks < 8; piece = piece->next, looks++)
    if (piece->room >= part) return piece;
  for (class++; class < PIECE_SIZES; class++)
    if (device->piece[class]) return device->piece[class];
  return 0;
}

static CUresult take_part(Device *device, size_t bytes, Charge *charge, size_t *taken, SimTotals *now) {
  size_t step = sim_machine()->granularity, part = round_up(bytes, step >= 2 * ALIGNMENT ? ALIGNMENT : 1);
  Piece *piece = find_piece(device, part);
  if (piece) {
    sim_ledger_totals(device->bus, now);
    unlink_piece(device, piece);
  } else {
    if (!(piece = calloc(1, sizeof *piece))) return CUDA_ERROR_OUT_OF_MEMORY;
    if (sim_ledger_take(device->bus, step, now)) {
      free(piece);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    piece->room = step, piece->size_class = -1, *taken = step;
  }
  piece->room -= part, piece->requests++;
  link_piece(device, piece);
  charge->piece = piece, charge->part = part;
  return CUDA_SUCCESS;
}

CUresult charge_take(int dev, size_t bytes, Charge *charge, size_t *taken, SimTotals *now) {
  Device *device = &driver.device[dev];
  size_t step = sim_machine()->granularity;
  memset(charge, 0, sizeof *charge);
  *taken = 0;
  if (bytes > sim_device(dev)->total) { /* also keeps the rounding from overflowing */
    sim_ledger_totals(device->bus, now);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (bytes <= step / 2) return take_part(device, bytes, charge, taken, now);
  bytes = round_up(bytes, step);
  if (sim_ledger_take(device->bus, bytes, now)) return CUDA_ERROR_OUT_OF_MEMORY;
  charge->bytes = *taken = bytes;
  return CUDA_SUCCESS;
}

size_t charge_drop(int dev, Charge *charge) {
  Device *device = &driver.device[dev];
  Piece *piece = charge->piece;
  if (!piece) return charge->bytes;
  unlink_piece(device, piece);
  piece->room += charge->part;
  if (--piece->requests) {
    link_piece(device, piece);
    return 0;
  }
  free(piece);
  return sim_machine()->granularity;
}
