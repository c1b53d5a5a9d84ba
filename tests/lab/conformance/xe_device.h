/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to an xe device, for the tests; and the control files of its double, where the device is the double. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "xe_rows.h"
#include "xe_uapi.h"

#define RING_SIZE (512 * 1024)
#define RING_ROWS (RING_SIZE / ROW_SIZE)
#define NOBODY 65534

/* The node and the number of a GT with Xe-cores: set by device_find(). */
struct device {
	char node[64];
	int fd;
	unsigned gt;
	unsigned cores; /* of that GT */
	bool is_double;
};

extern struct device device;

/* An address where nothing is, which the compiler does not know. */
extern void *const volatile nowhere;

/* The first render node whose driver is xe. Returns false if there is none, or if it has no EU stall sampling. */
bool device_find(void);
/* Opens the node again, after the device came back; -1 if it is not there. */
int device_open(void);
bool device_is_xe(int fd);

/* DEVICE_QUERY with the size asked first. Returns memory to be freed, NULL with errno. */
void *device_query(uint32_t query, uint32_t *size);
/* Xe-cores of a GT, from the topology. */
unsigned device_cores(unsigned gt);

/* One property of STREAM_OPEN. */
struct property {
	uint32_t id;
	uint64_t value;
};
#define PROPERTIES_MAX 8

/* OBSERVATION with this type, operation and parameter. */
int observe(uint64_t type, uint64_t operation, const void *parameter);
/* STREAM_OPEN for EU stalls with a chain of properties. */
int stream_open_with(const struct property *properties, unsigned count);
/* A non-blocking stream on device.gt that waits for wait rows. */
int stream_open(unsigned wait);
/* The same, enabled. */
int stream_start(unsigned wait);
bool is_readable(int fd, int milliseconds);
/* Reads until EAGAIN, appending to *bytes; -1 with errno at another error. Waits up to some seconds for wanted bytes.
 */
ssize_t stream_drain(int fd, uint8_t **bytes, size_t *size, size_t wanted);

/* The double's control files. Each returns 0, or -1 with errno. */
__attribute__((format(printf, 1, 2))) int scenario_write(const char *format, ...);
int command_write(const char *command);
const char *error_read(void);
/* A number from the file truth: the one after `key` in the first line that starts with `line`. */
uint64_t truth_number(const char *line, const char *key);
/* A line of the file state. */
bool state_has(const char *text);
/* Waits until the player is at rest. */
bool player_finish(void);
/* Starts the player and waits for it. */
bool play(void);
/* The sums that the file truth has per address of a GT, of rows produced or read. */
void truth_sums(struct row_sums *sums, unsigned gt, const char *what);

/* A child process that runs a function and gives its result, 0 to 255; checks in it count. -1 if it could not. */
int in_child(int (*function)(void *argument), void *argument);
/* In a child: gives up root for good. */
void become_nobody(void);

bool file_write(const char *path, const char *text);
bool file_read(const char *path, char *text, size_t size);
