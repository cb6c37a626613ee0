/*
 * launch_exports.c - what launch_module.so exports: see launch_module.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_protocol_api.h"

#include "launch_module.h"
#include "src/libstorm/program/prepare.h"

__attribute__((visibility("default")))
const struct launch_module storm_launch_module = {
	.version = PACKAGE_VERSION,
	.prepare = storm_prepare_here,
	.not_served = launch_step_not_served,
	.begin = launch_step_begin,
	.find = storm_session_find,
	.open = launch_step_open,
	.check = launch_step_check,
	.close = storm_session_close,
	.bcast = launch_step_bcast,
	.stock_bcast = stock_bcast_file,
	.stdio = launch_step_stdio,
	.before_status = launch_step_before_status,
	.before_signal = launch_step_before_signal,
	.launch = storm_step_launch,
	.launch_add = storm_step_launch_add,
	.wait_start = storm_step_launch_wait_start,
	.wait_finish = storm_step_launch_wait_finish,
	.abort = storm_step_launch_abort,
	.fwd_signal = storm_step_launch_fwd_signal,
};
