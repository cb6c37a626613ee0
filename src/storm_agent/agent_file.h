/*
 * agent_file.h - writes files through the session's child (file_child.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_FILE_H
#define STORM_AGENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_session;
struct storm_target;

/*
 * Operations of struct storm_nm_ops, which are all answered later.
 * agent_file_end() frees the file, and removes what was not committed; NULL is
 * fine.
 */
void agent_file_begin(void *host, void *ctx, uint64_t session, uint64_t op,
		      const struct storm_target *to, uint64_t size,
		      void **file);
bool agent_file_waits(void *host, void *file);
uint8_t *agent_file_room(void *host, void *file, size_t *size);
void agent_file_write(void *host, void *file, uint64_t off, size_t len,
		      uint64_t below);
bool agent_file_read(void *host, void *file, uint64_t off, size_t len);
void agent_file_stage(void *host, void *file, uint64_t session, uint64_t op,
		      const uint8_t *digest);
void agent_file_commit(void *host, void *file, uint64_t session, uint64_t op);
void agent_file_end(void *host, void *file);

/* End the child, which removes what was not committed.  The files stay until
 * agent_file_end(). */
void agent_file_session_close(struct agent_session *s);

/* End the transfers of children that do not answer.  Returns when the next one
 * is due. */
uint64_t agent_file_tick(struct agent *a, uint64_t now);

#endif
