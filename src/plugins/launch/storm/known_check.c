/*
 * known_check.c - see known_check.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <pthread.h>

#include "src/common/slurm_xlator.h"

#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "known_check.h"
#include "known_paths.h"

#define CHECK_BYTES (20 * 1024) /* several of the longest datagrams */

static pthread_mutex_t check_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	storm_domain_t *d;
	storm_event_t *event;
	char *nodelist;
} check;

void known_check_begin(const struct storm_domain_conf *dc, const char *nodelist)
{
	static const uint8_t data[CHECK_BYTES];
	const struct storm_target to = { .kind = STORM_TARGET_MEMORY };
	int err;

	slurm_mutex_lock(&check_lock);
	if (!check.d && known_paths_take_check())
		check.d = storm_domain_create(dc, &err);
	if (check.d && !check.event) {
		/* that all take long datagrams shows only when they come */
		check.event = storm_xfer_and_signal(check.d, NULL, &to, data,
						    sizeof(data));
		check.nodelist = xstrdup(nodelist);
		storm_domain_open(check.d);
	}
	slurm_mutex_unlock(&check_lock);
}

void known_check_end(void)
{
	struct storm_outcome out = { 0 };

	slurm_mutex_lock(&check_lock);
	if (check.event && storm_test_event(check.event, false, 0, &out) &&
	    out.state == STORM_DONE && !out.nfaults)
		known_paths_forget(check.nodelist);
	storm_outcome_clear(&out);
	storm_event_destroy(check.event);
	storm_domain_destroy(check.d);
	xfree(check.nodelist);
	check.d = NULL;
	check.event = NULL;
	slurm_mutex_unlock(&check_lock);
}
