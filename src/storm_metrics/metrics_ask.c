/*
 * metrics_ask.c - see metrics_ask.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "metrics_ask.h"
#include "src/libstorm/base/clock.h"
#include "src/storm_common/state_keys.h"
#include "src/storm_status/status_begin.h"

bool metrics_ask(const char *list, struct metrics *out, char **names)
{
	const uint64_t began = storm_now();
	struct status_answer answer;
	struct status_nodes nodes;
	struct storm_conf conf;
	const bool begun = status_begin(list, &conf, &nodes);
	const int err =
		begun ? status_ask(&nodes, &conf, STATE_QUERY, &answer) :
			STORM_OK;

	*names = NULL;
	*out = (struct metrics) { .at = storm_unix_ms(),
				  .took = storm_now() - began };
	if (!begun)
		return false;
	out->nodes = nodes.count;
	if (err) {
		status_say(err);
	} else {
		metrics_read(&nodes, &answer, out);
		*names = metrics_names(&nodes);
	}
	status_answer_clear(&answer);
	status_nodes_clear(&nodes);
	return !err;
}
