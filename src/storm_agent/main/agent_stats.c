/*
 * agent_stats.c - see agent_stats.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "agent_stats.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/turns/agent_gang.h"
#include "src/storm_common/agent_contract.h"
#include "src/storm_common/no_gang.h"

void agent_stats(struct agent *a, char *buf, size_t size)
{
	const struct agent_count c = agent_gang_count(a);
	struct storm_nm_stats n;
	char net[STORM_NET_COUNTERS_MAX];
	char word[NO_GANG_WORD], lacks[NO_GANG_WORD + 2] = "null";

	if (a->gang_lacks) {
		no_gang_word(a->gang_lacks, &word);
		snprintf(lacks, sizeof(lacks), "\"%s\"", word);
	}
	storm_nm_stats(a->nm, &n);
	a->net.driver->counters(a->net.net, net, sizeof(net));
#define N(field) #field, n.field
#define C(field) #field, c.field
#define F "\"%s\": %" PRIu64
	snprintf(buf, size,
		 "{\"node\": \"%s\", \"version\": \"%s\", \"pid\": %d, "
		 "\"slurmd_attached\": %s, \"no_gang\": %s,\n"
		 " \"agent\": {" F ", " F ", " F ", " F ", " F ", " F ", " F
		 ", " F ", " F ", " F "},\n"
		 " \"gang\": {" F ", " F ", " F ", " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F "},\n"
		 " \"nm\": {" F ", " F ", " F ", " F ", " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F ", " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F "},\n"
		 " %s}\n",
		 a->node, AGENT_BUILD, getpid(),
		 a->slurmd.lifelines ? "true" : "false", lacks, C(files),
		 C(files_failed), C(bytes), C(launches), C(launches_failed),
		 C(signals), C(steps), C(reports), C(opens_bad), C(pauses),
		 C(gang_steps), C(gang_maps), C(gang_strobes), C(gang_missed),
		 C(gang_slots), C(gang_stops), C(gang_opened), C(gang_awake),
		 C(gang_fast), C(gang_fills), C(gang_agreed), C(gang_planned),
		 N(sessions), N(sessions_total), N(rx_datagrams), N(rx_bytes),
		 N(tx_datagrams), N(tx_bytes), N(data_new), N(data_dup),
		 N(data_moved), N(data_dropped), N(repaired), N(nacks_sent),
		 N(joined_again), N(nacks_served), N(relayed), N(strobes),
		 N(bad_seal), N(bad_wire), N(bad_session), N(replayed),
		 N(fenced), N(opens_refused), net);
#undef N
#undef C
#undef F
}
