/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/iaprof.h - the whole plugin interface, on one page: include this header.
 *
 * What a plugin implements: one struct iaprof_plugin, registered with IAPROF_REGISTER_PLUGIN(), and the operations of
 * its kind (iaprof/plugin.h, with the order and the threads of the callbacks).
 *
 *     all kinds   struct iaprof_plugin: a table of options (iaprof/option.h); configure(), destroy()
 *     source      struct iaprof_source_operations: probe(), check(), prepare(), start()*, thread(), stop()*, finish();
 *                 companions: sends records (iaprof/record.h)
 *     sink        struct iaprof_sink_operations: check(), prepare(), start(), finish()*, and at least one of records()
 *                 (iaprof/record.h) and profile() (iaprof/profile.h, with calls, jobs and counters in
 *                 iaprof/activity.h): writes an output
 *     decoder     struct iaprof_decoder_operations: code_open()*, code_close()*, code_decode()*, code_producers();
 *                 image_read() (iaprof/image.h), relocations, display_name(): names instructions of a device and reads
 *                 its images
 *
 *     * mandatory
 *
 * What the host offers: members of struct iaprof_host (iaprof/host.h), by the time in which they may be called.
 *
 *     always        clock(), log(), fail(), extension()
 *     requirements  in configure(): request(), request_times(), default_interval(), offline(); in check(): check_item()
 *     the run       target(); sources: command_environment(), inject(), sample_stride(), finished(); sinks: end_run(),
 *                   run_is_ending(), delivery()
 *     records       sources: emit(), advance(), intern_string(), intern_stack(), intern_frame(), declare_value_type(),
 *                   lost(), metadata()
 *     the loop      sources: on_fd(), remove_fd(), on_timer()
 *     code          sources: on_mapped_file()
 *     output        sinks: output_open(), output_write(), output_flush(), output_close(), output_discard(),
 *                   output_is_single(), screen_acquire(), screen_release()
 *
 * Extensions, which are not stable: "unwind-1" (iaprof/unwind.h, iaprof/python.h), included separately.
 *
 * Versions: iaprof/version.h. iaprof-plugin(7) is the manual; `iaprof-new-plugin` writes a plugin to start
 * from.
 */
#ifndef IAPROF_IAPROF_H
#define IAPROF_IAPROF_H

#include <iaprof/activity.h>
#include <iaprof/host.h>
#include <iaprof/image.h>
#include <iaprof/layout.h>
#include <iaprof/option.h>
#include <iaprof/plugin.h>
#include <iaprof/profile.h>
#include <iaprof/record.h>
#include <iaprof/version.h>

#endif
