/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priority for what must keep up with a busy machine: the threads and processes that take samples out of the Linux
 * kernel and supply them with unwind tables. They need little CPU time, but need it soon.
 */
#pragma once

/*
 * Raise the priority of the calling thread, or of a process and its session, which it calls as its first process, if
 * permitted. They do nothing if iaprof runs at a lower priority than other programs: its caller wants that.
 */
void priority_raise_thread(void);
/* Takes it back, for what the thread does between. */
void priority_lower_thread(void);
void priority_raise_session(void);
/* Gives the calling process the priority of any other one, in a session of its own. */
void priority_give_up(void);
