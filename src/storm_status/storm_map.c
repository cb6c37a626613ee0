/*
 * storm_map.c - storm map: one character a node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/xmalloc.h"

#include "map_show.h"
#include "src/storm_common/show_options.h"
#include "src/storm_common/state_keys.h"
#include "status_begin.h"

static const char usage[] =
	"Usage: storm map [OPTIONS]\n"
	"Show each node as one character, and what that means.\n"
	"\n"
	"  -w, --nodelist=NODES  these nodes alone\n"
	"      --json            print JSON\n"
	"  -V, --version         print the version\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Exit status: 0 all is well, 1 something is wrong, 2 usage.\n";

static enum map_slurm map_state(uint32_t state)
{
	uint32_t base = state & NODE_STATE_BASE;

	if (base == NODE_STATE_DOWN || state & NODE_STATE_NO_RESPOND)
		return MAP_SLURM_DOWN;
	if (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL))
		return MAP_SLURM_DRAIN;
	if (base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED)
		return MAP_SLURM_BUSY;
	return base == NODE_STATE_IDLE ? MAP_SLURM_IDLE : MAP_SLURM_UNKNOWN;
}

/* A node of slurmctld's. */
struct map_known {
	const char *name;
	uint32_t state;
};

static int map_by_name(const void *x, const void *y)
{
	const struct map_known *a = x, *b = y;

	return strcmp(a->name, b->name);
}

/* What slurmctld says of each node (xfree); NULL: it does not answer, which was said. */
static enum map_slurm *map_ask_slurm(const struct status_nodes *n)
{
	node_info_msg_t *msg = NULL;
	struct map_known *sorted, *found;
	enum map_slurm *all;

	if (slurm_load_node(0, &msg, SHOW_ALL)) {
		fprintf(stderr,
			"storm: slurmctld does not say which nodes are busy or down: %s\n",
			slurm_strerror(errno));
		return NULL;
	}
	all = xcalloc(n->count, sizeof(*all));
	sorted = xcalloc(msg->record_count + 1, sizeof(*sorted));
	for (uint32_t i = 0; i < msg->record_count; i++) {
		const node_info_t *is = &msg->node_array[i];

		sorted[i] = (struct map_known) { is->name ? is->name : "",
						 is->node_state };
	}
	qsort(sorted, msg->record_count, sizeof(*sorted), map_by_name);
	for (uint32_t i = 0; i < n->count; i++) {
		const struct map_known key = { n->node[i].name, 0 };

		found = bsearch(&key, sorted, msg->record_count,
				sizeof(*sorted), map_by_name);
		if (found)
			all[i] = map_state(found->state);
	}
	xfree(sorted);
	slurm_free_node_info_msg(msg);
	return all;
}

static int map_run(const char *list, bool json)
{
	bool colour = !json && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	struct status_nodes nodes;
	struct status_answer answer;
	struct storm_conf conf;
	enum map_slurm *slurm;
	bool wrong = true;
	int err;

	if (!status_begin(list, &conf, &nodes))
		return SHOW_WRONG;
	err = status_ask(&nodes, &conf, STATE_QUERY, &answer);
	slurm = map_ask_slurm(&nodes);
	if (err) {
		status_say(err);
	} else {
		const struct map m = { &nodes, &answer, slurm };

		wrong = json ? map_show_json(stdout, &m) :
			       map_show_text(stdout, &m, show_columns(),
					     colour);
	}
	xfree(slurm);
	status_answer_clear(&answer);
	status_nodes_clear(&nodes);
	return wrong ? SHOW_WRONG : SHOW_FINE;
}

int main(int argc, char **argv)
{
	struct show_options o;
	int code;

	if (!show_options(argc, argv, "w:Vh", usage, &o, &code))
		return code;
	if (!show_no_argument(argc, argv, "map"))
		return SHOW_USAGE;
	return map_run(o.list, o.json);
}
