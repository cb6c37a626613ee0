/*
 * bcast.h - Slurm's file broadcast with its data sent by libstorm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_BCAST_H
#define STORM_BCAST_H

#include "src/bcast/file_bcast.h"

#include "step_domain.h"
#include "timeline.h"

struct step_cast {
	/* Given. */
	const struct storm_conf *conf;
	struct step_domain_conf sdc;	/* without sbcast_cred; a job_id of
					   NO_VAL: the credential's */
	const char *otherwise;		/* "this step goes by ..." */
	struct storm_record *rec;
	const bool *abort;		/* NULL, or set from another thread to
					   give up */
	void (*progress)(const char *path, uint64_t done, uint64_t size);
	/* Given or made: an open domain over the nodes of the credential; the
	 * caller destroys it, also after a failure. */
	struct step_domain *domain;
	/* Made: why Slurm's own broadcast was used; NULL: it was not. */
	char *fallback;
};

/*
 * Slurm's bcast_file(), with the same parameters and result, by storm.  Where
 * storm cannot start, the file goes by Slurm's own messages as the policy of
 * storm.conf says.  One broadcast at a time: others wait.
 */
int storm_bcast(struct step_cast *cast, struct bcast_parameters *params);

/* One warning a command: the components of a heterogeneous step fail alike. */
void storm_warn_once(const char *why, const char *otherwise);

/*
 * Storm cannot serve: say so as the policy wants and keep the reason in
 * *kept, which takes over why.  True: go on without storm; false: give up.
 * "otherwise" says what happens instead.
 */
bool storm_fall_back(enum storm_fallback policy, const char *otherwise,
		     char *why, char **kept);

/* Add to what slurm_send_recv_msgs() gives back: this node answered rc.  A
 * list of NULL is made. */
List storm_answer(List list, const char *node, int rc);

/* slurm_file_bcast.c: Slurm's file_bcast.c, its messages sent to us. */
int stock_bcast_file(struct bcast_parameters *params);
int stock_bcast_decompress_data(file_bcast_msg_t *req);
const void *stock_bcast_source(void);	/* the mapped file */
uint64_t stock_bcast_size(void);
sbcast_cred_t *stock_bcast_cred(void);
uint32_t stock_bcast_job(void);
List storm_bcast_send(const char *nodelist, slurm_msg_t *msg, int timeout);

#endif
