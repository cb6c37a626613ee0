/*
 * storm_conf.h - storm.conf, which lies beside slurm.conf: Key=Value through
 * Slurm's own parser.  Every key has a default that suits a LAN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_H
#define STORM_CONF_H

#include "src/libstorm/storm.h"

/* What srun does when storm cannot serve a step, before the first byte of the
 * launch has left. */
enum storm_fallback {
	FALLBACK_WARN,		/* Slurm's own launch, with one warning */
	FALLBACK_NEVER		/* an error */
};

struct storm_conf {
	struct storm_settings set;
	enum storm_fallback fallback;
	/* ns that an agent whose slurmd is gone waits for the next one */
	uint64_t agent_linger;
};

/*
 * Read storm.conf; slurm.conf must have been read (slurm_conf_init).  No file:
 * the defaults.  SLURM_SUCCESS, or SLURM_ERROR and *error, a sentence that
 * names the file and the key, to be freed with xfree(); *out is then
 * untouched.  The name of an unknown key is in Slurm's own message, which was
 * logged before.  Never ends the process.
 */
int storm_conf_load(struct storm_conf *out, char **error);

/* The same from a named file, which must exist. */
int storm_conf_load_file(const char *path, struct storm_conf *out,
			 char **error);

void storm_conf_default(struct storm_conf *out);

/* Which storm.conf it is, as a short string: it differs once the file has
 * changed. */
#define STORM_CONF_STAMP_MAX 64
void storm_conf_stamp(char out[STORM_CONF_STAMP_MAX]);

#endif
