/*
 * health_measure.c - see health_measure.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"

#include "health_measure.h"
#include "health_path.h"
#include "src/libstorm/storm.h"
#include "src/libstorm/wire/credential.h"

#define KB 1024
#define SLURMD_WAIT 10000 /* ms */

static void health_measure_disk(const char *path, struct health_sample *out)
{
	struct statvfs v;

	if (statvfs(path, &v)) {
		out->err = errno;
		return;
	}
	/* as root would write: users have less */
	out->free = (uint64_t) v.f_bavail * v.f_frsize;
	out->total = (uint64_t) v.f_blocks * v.f_frsize;
	out->free_inodes = v.f_favail;
	out->inodes = v.f_files;
	if (v.f_flag & ST_RDONLY)
		out->err = EROFS;
}

/* The number after this word in a file of /proc; false: there is none. */
static bool health_measure_word(const char *path, const char *word,
				uint64_t *out)
{
	FILE *f = fopen(path, "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		if (!strncmp(line, word, strlen(word))) {
			*out = strtoull(line + strlen(word), NULL, 10);
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

static void health_measure_memory(struct health_sample *out)
{
	uint64_t kb;

	if (!health_measure_word("/proc/meminfo", "MemAvailable:", &kb))
		out->err = ENOENT;
	else
		out->free = kb * KB;
}

static void health_measure_descriptors(struct health_sample *out)
{
	unsigned long long used, unused, most;
	FILE *f = fopen("/proc/sys/fs/file-nr", "re");

	if (!f || fscanf(f, "%llu %llu %llu", &used, &unused, &most) != 3)
		out->err = ENOENT;
	else
		out->free = used < most ? most - used : 0;
	if (!out->err)
		out->total = most;
	if (f)
		fclose(f);
}

/* slurmstepd and the programs of jobs watch files; no daemon of STORM does, so this is
 * no call of the library. */
static void health_measure_inotify(struct health_sample *out)
{
	int fd = (int) syscall(SYS_inotify_init1, IN_CLOEXEC);

	if (fd < 0 ||
	    syscall(SYS_inotify_add_watch, fd, "/", IN_DELETE_SELF) < 0)
		out->err = errno;
	if (fd >= 0)
		close(fd);
}

static void health_measure_munge(struct health_sample *out)
{
	static const char sent[] = "storm";
	void *payload = NULL;
	uint32_t uid, gid;
	size_t len = 0;
	char *cred = NULL;
	int err = storm_credential_encode(geteuid(), sent, sizeof(sent), &cred);

	if (!err)
		err = storm_credential_decode(cred, &payload, &len, &uid, &gid);
	if (!err && (len != sizeof(sent) || memcmp(payload, sent, len)))
		err = STORM_EAUTH;
	if (err) {
		out->err = EACCES;
		snprintf(out->line, sizeof(out->line), "%s",
			 storm_strerror(err));
	}
	free(payload);
	free(cred);
}

/* What slurmctld sends it, too. */
static void health_measure_slurmd(const struct health_place *at,
				  struct health_sample *out)
{
	slurm_msg_t msg, resp;

	slurm_msg_t_init(&msg);
	slurm_msg_t_init(&resp);
	msg.msg_type = REQUEST_PING;
	if (slurm_conf_get_addr(at->node, &msg.address, 0)) {
		out->err = EADDRNOTAVAIL;
		return;
	}
	if (at->slurmd_port)
		slurm_set_port(&msg.address, at->slurmd_port);
	slurm_msg_set_r_uid(&msg, SLURM_AUTH_UID_ANY);
	errno = 0;
	if (!slurm_send_recv_node_msg(&msg, &resp, SLURMD_WAIT))
		return;
	out->err = errno ? errno : EIO;
	snprintf(out->line, sizeof(out->line), "%s", slurm_strerror(out->err));
}

void health_measure(enum health_kind kind, const char *name,
		    const struct health_place *at, struct health_sample *out)
{
	switch (kind) {
	case HEALTH_CHECK_DISK:
		health_measure_disk(name, out);
		break;
	case HEALTH_CHECK_MEMORY:
		health_measure_memory(out);
		break;
	case HEALTH_CHECK_MUNGE:
		health_measure_munge(out);
		break;
	case HEALTH_CHECK_SLURMD:
		health_measure_slurmd(at, out);
		break;
	case HEALTH_CHECK_DESCRIPTORS:
		health_measure_descriptors(out);
		break;
	case HEALTH_CHECK_INOTIFY:
		health_measure_inotify(out);
		break;
	case HEALTH_CHECK_PROGRAM:
		break;
	}
}

int health_program_run(const char *path, const struct health_place *at, int out,
		       char (*why)[HEALTH_LINE])
{
	char node[NAME_MAX + 32], conf[PATH_MAX + 32];
	char *argv[] = { (char *) path, NULL };
	char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", node, conf,
			NULL };
	int null;

	if (!health_path_is_safe(path, why))
		return EACCES;
	snprintf(node, sizeof(node), "SLURMD_NODENAME=%s", at->node);
	if (at->conf)
		snprintf(conf, sizeof(conf), "SLURM_CONF=%s", at->conf);
	else
		env[2] = NULL;
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0 || chdir("/"))
		return errno;
	umask(022);
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	execve(path, argv, env);
	return errno;
}
