/*
 * check_job.c - see check_job.h.  A node's words are another host's: each is taken
 * apart here, as numbers and as text to print, and nothing else comes of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <munge.h>

#include "check_job.h"
#include "check_run.h"
#include "check_tell.h"

#define SKEW_NOTE 2
#define SKEW 60 /* s; MUNGE's limit is 300 */
#define KEYS 200
#define SECONDS "60" /* for all of it */

/* The keys that must be equal on all hosts. */
static void job_keys(const struct storm_conf *c, char *out, size_t size)
{
	char group[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, c->set.group.ip + 12, group, sizeof(group));
	snprintf(out, size, "Port=%u GroupBase=%s Transport=%s", c->set.port,
		 group,
		 c->set.transport == STORM_TRANSPORT_VERBS ? "verbs" : "udp");
}

void check_job_report(const struct storm_conf *conf)
{
	const char *node = getenv("SLURMD_NODENAME");
	char keys[KEYS], *cred = NULL;
	struct utsname u;

	if (!node)
		node = uname(&u) ? "?" : u.nodename;
	job_keys(conf, keys, sizeof(keys));
	if (munge_encode(&cred, NULL, NULL, 0))
		cred = NULL;
	check_tell_raw(stdout, node);
	printf("@keys\t%s\t%s\n@clock\t%s\t%ld\n", node, keys, node,
	       (long) time(NULL));
	if (cred)
		printf("@cred\t%s\t%s\n", node, cred);
	free(cred);
}

/* ---------------------------------------------------------------- on this host --- */

static const struct storm_conf *job_conf;

static void job_compare_keys(const char *node, const char *keys)
{
	char own[KEYS];

	job_keys(job_conf, own, sizeof(own));
	if (strcmp(keys, own))
		check_tell(
			CHECK_MISSING, node,
			"storm.conf gives %s, and here %s: make them the same, then restart slurmd there",
			keys, own);
	else
		check_tell(CHECK_OK, node,
			   "the same storm.conf, as far as it must be");
}

static void job_compare_clock(const char *node, const char *text)
{
	char *end;
	long long theirs = strtoll(text, &end, 10);
	long long off = (long long) time(NULL) - theirs;

	if (off < 0)
		off = -off;
	if (end == text || *end || off > SKEW)
		check_tell(
			CHECK_MISSING, node,
			"its clock and this host's differ by %lld s, and MUNGE accepts 300: run chrony or ntpd on all hosts",
			off);
	else if (off > SKEW_NOTE)
		check_tell(
			CHECK_NOTE, node,
			"its clock and this host's differ by %lld s: run chrony or ntpd on all hosts",
			off);
}

static void job_compare_cred(const char *node, const char *cred)
{
	munge_err_t err = munge_decode(cred, NULL, NULL, NULL, NULL, NULL);

	if (!err)
		check_tell(CHECK_OK, node,
			   "this host takes its MUNGE credentials");
	else if (err == EMUNGE_CRED_REWOUND || err == EMUNGE_CRED_EXPIRED)
		check_tell(
			CHECK_MISSING, node,
			"its clock is %s this host's, and MUNGE refuses its credentials: run chrony or ntpd on all hosts",
			err == EMUNGE_CRED_REWOUND ? "ahead of" : "behind");
	else
		check_tell(
			CHECK_MISSING, node,
			"this host refuses its MUNGE credential (%s): copy /etc/munge/munge.key there and 'systemctl restart munge'",
			munge_strerror(err));
}

static void job_line(char *line)
{
	char *node = strchr(line, '\t'), *value;

	if (*line != '@' || !node) {
		(void) check_tell_line(line);
		return;
	}
	line[strcspn(line, "\n")] = '\0';
	*node++ = '\0';
	value = strchr(node, '\t');
	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "@keys"))
		job_compare_keys(node, value);
	else if (!strcmp(line, "@clock"))
		job_compare_clock(node, value);
	else if (!strcmp(line, "@cred"))
		job_compare_cred(node, value);
}

void check_job(const char *nodes, const struct storm_conf *conf)
{
	static const char program[] = PKGLIBEXECDIR "/storm_check";
	const char *const argv[] = { "timeout",
				     SECONDS,
				     "srun",
				     "-Q",
				     "-w",
				     nodes,
				     "--ntasks-per-node=1",
				     "--mem=16",
				     "--overlap",
				     "--immediate=30",
				     "-t",
				     "2",
				     "--kill-on-bad-exit=0",
				     "-D",
				     "/",
				     program,
				     "--report",
				     NULL };
	char last[512];
	int rc;

	job_conf = conf;
	setenv("SLURM_STORM_LAUNCH", "slurm", 1);
	rc = check_run(argv, job_line, last, sizeof(last));
	if (rc)
		check_tell(
			CHECK_MISSING, "",
			"the job on %s failed: %s: run it when the nodes are idle, with STORM installed at the same path; or run storm check on each by hand",
			nodes,
			*last	  ? last :
			rc == 124 ? "no answer in " SECONDS " s" :
				    "srun gives no reason");
}
