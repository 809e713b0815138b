/* Values of variables: sizes, numbers, yes or no, and lists of them. */
#define _GNU_SOURCE
#include "values.h"
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_unreadable(const char *variable, const char *value, const char *wanted) {
  fprintf(stderr, "gpumem-simgpu: %s=%s cannot be read; write %s\n", variable, value, wanted);
  abort();
}

const char *sim_variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : 0;
}

int sim_parse_number(const char *text, long least, long most, long *number) {
  char *end;
  if (!isdigit((unsigned char)*text)) return -1;
  errno = 0;
  *number = strtol(text, &end, 10);
  return errno || *end || *number < least || *number > most ? -1 : 0;
}

int sim_parse_size(const char *text, size_t *bytes) {
  static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "K", "M", "G", "T"};
  char *end;
  /* Digits only: strtold would also read "inf", "nan" and hexadecimal numbers. */
  if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.") < strcspn(text, "KMGT")) return -1;
  long double value = strtold(text, &end);
  int power = 0;
  for (int i = 0; i < 8 && !power; i++)
    if (!strcmp(end, unit[i])) power = i % 4 + 1;
  if (!power && *end) return -1;
  for (int i = 0; i < power; i++) value *= 1024;
  if (value >= (long double)INT64_MAX) return -1;
  *bytes = (size_t)value;
  return 0;
}

static void append(SimList *list, const char *text, size_t length, const char *whole) {
  if (list->count == SIM_MAX_VALUES) sim_unreadable(list->variable, whole, "at most 16 values");
  if (length >= sizeof *list->text) sim_unreadable(list->variable, whole, "shorter values");
  char *item = list->text[list->count++];
  memcpy(item, text, length);
  item[length] = 0;
}

/* "2x16GiB" stands for two values; returns the length of "2x", or 0. */
static size_t repetition(const char *text, size_t length, long *times) {
  char *end;
  *times = 1;
  if (!length || !isdigit((unsigned char)*text)) return 0;
  long number = strtol(text, &end, 10);
  if (*end != 'x' || end >= text + length) return 0;
  *times = number;
  return (size_t)(end + 1 - text);
}

void sim_read_list(const char *variable, const char *fallback, int wanted, SimList *list) {
  const char *value = sim_variable(variable), *whole = value ? value : fallback;
  list->variable = variable, list->whole = whole, list->count = 0;
  for (const char *part = whole;; part++) {
    const char *end = strchrnul(part, ',');
    long times;
    size_t length = (size_t)(end - part);
    while (length && isspace((unsigned char)*part)) part++, length--;
    while (length && isspace((unsigned char)part[length - 1])) length--;
    size_t prefix = repetition(part, length, &times);
    if (times < 1 || times > SIM_MAX_VALUES || (prefix && prefix == length))
      sim_unreadable(variable, whole, "NxVALUE with N from 1 to 16");
    for (long i = 0; i < times; i++) append(list, part + prefix, length - prefix, whole);
    part = end;
    if (!*part) break;
  }
  if (wanted > 0 && list->count == 1)
    while (list->count < wanted) memcpy(list->text[list->count++], list->text[0], sizeof *list->text);
  if (wanted > 0 && list->count != wanted)
    sim_unreadable(variable, whole, "one value for each device, or one for all");
}

size_t sim_list_size(const SimList *list, int index, int zero_too) {
  size_t bytes;
  if (sim_parse_size(list->text[index], &bytes) || (!bytes && !zero_too))
    sim_unreadable(list->variable, list->whole, "a size such as 16GiB, 512MiB or a number of bytes");
  return bytes;
}

int sim_list_number(const SimList *list, int index, int least, int most) {
  long number;
  char wanted[64];
  snprintf(wanted, sizeof wanted, "a number from %d to %d", least, most);
  if (sim_parse_number(list->text[index], least, most, &number))
    sim_unreadable(list->variable, list->whole, wanted);
  return (int)number;
}

int sim_list_yes(const SimList *list, int index) {
  if (!strcmp(list->text[index], "yes")) return 1;
  if (strcmp(list->text[index], "no")) sim_unreadable(list->variable, list->whole, "yes or no");
  return 0;
}
