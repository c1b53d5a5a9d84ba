/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error and its chain of causes as one line: "source xe-eustall: open stream: Operation not permitted: needs ...".
 * Functions whose failures the user should see take a struct error and return a negative errno.
 */
#pragma once

#include <stdarg.h>

#define ERROR_TEXT_SIZE 2048

/*
 * Initialise with {0}. text is empty until an error is set; it never contains control characters, as names in it may
 * come from other users.
 */
struct error {
	int code; /* negative errno; 0: none */
	char text[ERROR_TEXT_SIZE];
};

/*
 * Sets the innermost cause; code may have either sign. EMFILE and ENFILE get the remedy appended. Returns the code,
 * made negative. error may be NULL.
 */
int error_set(struct error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int error_set_va(struct error *error, int code, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));

/* Prepends "text: " and returns the code: return error_wrap(error, "read %s", path). */
int error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int error_wrap_va(struct error *error, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
