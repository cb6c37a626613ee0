/*
 * boaster.c - a user's own program that opens a domain over one node and tells its agent
 * how long the launch of a step has taken, which it did not launch.
 *
 *	boaster NODE ADDRESS AGENT_UID JOB STEP
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/step_protocol.h"

#define PARTS 8
#define NO_COMPONENT 0xfffffffe /* Slurm's NO_VAL */

static void put(uint8_t **at, uint32_t v)
{
	v = htonl(v);
	memcpy(*at, &v, sizeof(v));
	*at += sizeof(v);
}

static void cast(storm_domain_t *d, uint32_t event, const void *buf, size_t len)
{
	const struct storm_target to = { .kind = STORM_TARGET_MEMORY,
					 .remote_event = event };
	storm_event_t *e = storm_xfer_and_signal(d, NULL, &to, buf, len);
	struct storm_outcome out = { STORM_ABORTED, NULL, 0, 0 };

	if (e)
		storm_test_event(e, true, 0, &out);
	printf("event %u: %s\n", event,
	       out.state == STORM_DONE ? "done" : "failed");
	storm_outcome_clear(&out);
	storm_event_destroy(e);
}

int main(int argc, char **argv)
{
	struct storm_node node = { 0 };
	struct storm_domain_conf conf = { .nodes = &node, .count = 1 };
	uint8_t record[9 + 8 * PARTS + 1] = { 1 }, *at = record + 1;
	storm_domain_t *d;
	int err = 0;

	if (argc != 6)
		return 2;
	node.name = argv[1];
	storm_settings_default(&conf.set);
	strcpy(conf.set.interface, "eth0");
	conf.set.multicast = false;
	storm_addr_set(&node.addr, argv[2], conf.set.port);
	conf.agent_uid = (uint32_t) atoi(argv[3]);
	conf.job_id = (uint32_t) atoi(argv[4]);
	conf.step_id = (uint32_t) atoi(argv[5]);
	conf.step_het = NO_COMPONENT;
	d = storm_domain_create(&conf, &err);
	if (d && !(err = storm_domain_open(d)))
		err = storm_domain_wait_open(d, NULL);
	if (err) {
		fprintf(stderr, "no domain: %s\n", storm_strerror(err));
		return 1;
	}
	put(&at, 1000); /* nodes, tasks */
	put(&at, 1000);
	for (int i = 0; i < PARTS; i++) {
		put(&at, 0);
		put(&at, 3600000000u);
	}
	cast(d, STEP_EVENT_LAUNCH, "no launch", 9);
	cast(d, STEP_EVENT_LAUNCHED, record, sizeof(record));
	storm_domain_destroy(d);
	return 0;
}
