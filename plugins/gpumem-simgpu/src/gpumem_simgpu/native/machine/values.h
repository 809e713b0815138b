/* Reading values of the SIMGPU_* variables.  What cannot be read ends the process with one line: a machine
 * that silently differs from the one a test describes would make the test a lie. */
#ifndef SIM_VALUES_H
#define SIM_VALUES_H
#include <stddef.h>

#define SIM_MAX_VALUES 16

typedef struct {
  const char *variable, *whole; /* its name and its value */
  int count;
  char text[SIM_MAX_VALUES][128];
} SimList;

/* The value of a variable; 0 where it is not set or empty. */
const char *sim_variable(const char *name);

/* Comma-separated values; "2x16GiB" is two of them.  `wanted` > 0: so many, or one that holds for all. */
void sim_read_list(const char *variable, const char *fallback, int wanted, SimList *list);

/* One value of a list, or the end of the process. */
size_t sim_list_size(const SimList *list, int index, int zero_too);
int sim_list_number(const SimList *list, int index, int least, int most);
int sim_list_yes(const SimList *list, int index);

/* These return 0 when the whole text is what they look for. */
int sim_parse_size(const char *text, size_t *bytes);
int sim_parse_number(const char *text, long least, long most, long *number);

/* One line on stderr, and abort(). */
void sim_unreadable(const char *variable, const char *value, const char *wanted) __attribute__((noreturn));
#endif
