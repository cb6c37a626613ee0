/*
 * slurm_conf_kept.h - starts a process with the last good slurm.conf.
 *
 * slurmd and slurmctld go on while somebody edits slurm.conf.  What they start
 * meanwhile must not end because of a line that is not finished.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef SLURM_CONF_KEPT_H
#define SLURM_CONF_KEPT_H

/*
 * slurm_conf_init() for a process with one thread.  If $SLURM_CONF cannot be
 * read, it reads what dir keeps; if there is nothing, it ends the process as
 * Slurm does.  Returns what slurm_conf_kept_save() takes.
 */
char *slurm_conf_kept_init(const char *dir);

/* Keep the text in dir for later processes, and free it.  NULL: keep what is
 * there. */
void slurm_conf_kept_save(const char *dir, char *text);

#endif
