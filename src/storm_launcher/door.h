/*
 * door.h - where clients on this host are served for a head on another one: their bytes go
 * through a carrier as they are.  Nothing of what they say is read here, and nothing
 * waits.  Clients that come before there is a carrier wait for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DOOR_H
#define STORM_DOOR_H

#include "carrier.h"
#include "run_sock.h"

struct door;

/* Listen at a path.  files: keep the descriptors that clients send, for door_files().
 * NULL, and errno. */
struct door *door_create(const char *path, bool files);
/* Clients hear an end.  Removes the path.  NULL is allowed. */
void door_destroy(struct door *d);

/* For poll(2), POLLIN; and in how many ms door_serve() is to be called anyway, or -1. */
int door_fd(const struct door *d);
int door_patience(const struct door *d);
/* Do what can be done now. */
void door_serve(struct door *d);

/* A client is there, and no carrier. */
bool door_waits(const struct door *d);
/* A carrier and its stream, a TCP connection, become the door's. */
void door_give(struct door *d, int fd, struct carrier *c);
/* The carrier, which belongs to the door, for channel 0; NULL: there is none, or its
 * stream is over, which is logged. */
struct carrier *door_carrier(struct door *d);
/* All clients hear an end: the head cannot be reached. */
void door_refuse(struct door *d);

/* The descriptors that came with a channel, once; the caller closes them.  0; EPIPE: its
 * client is gone; EMFILE: none could be received. */
int door_files(struct door *d, uint32_t channel, int (*fd)[RUN_SOCK_FDS]);

#endif
