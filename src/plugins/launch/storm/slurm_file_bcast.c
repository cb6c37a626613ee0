/*
 * slurm_file_bcast.c - Slurm's own file_bcast.c, compiled unmodified from the
 * tree that configure was given, with its messages sent to bcast.c.
 *
 * srun has global variables of the same names (src, fd, ...).  The plugin's
 * objects are built with hidden visibility, so it uses these.
 *
 * This file and bcast.c call each other by intent: bcast.c calls Slurm's
 * bcast_file(), which sends each block through bcast.c, which gets the mapped
 * file from here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/log.h"
#include "src/common/slurm_protocol_api.h"
#include "bcast.h"

/* Of a failure that bcast.c has logged with all nodes, Slurm logs a line for
 * each. */
#define error(...)                            \
	do {                                  \
		if (storm_bcast_told())       \
			verbose(__VA_ARGS__); \
		else                          \
			error(__VA_ARGS__);   \
	} while (0)
#define slurm_send_recv_msgs storm_bcast_send
#define bcast_file stock_bcast_file
#define bcast_decompress_data stock_bcast_decompress_data

/* For an empty file it copies zero bytes to NULL.  That is harmless, but the
 * undefined behaviour sanitizer would abort. */
SLURM_FILE_BCAST_COPIES(__attribute__((no_sanitize("nonnull-attribute"))))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#include SLURM_FILE_BCAST_C
#pragma GCC diagnostic pop

const void *stock_bcast_source(void)
{
	return src;
}

uint64_t stock_bcast_size(void)
{
	return f_stat.st_size;
}

sbcast_cred_t *stock_bcast_cred(void)
{
	return sbcast_cred->sbcast_cred;
}

uint32_t stock_bcast_job(void)
{
	return file_bcast_job(sbcast_cred);
}
