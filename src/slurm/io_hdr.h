/*
 * io_hdr.h - the head of a message with a step's input or output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_IO_HDR_H
#define STORM_SLURM_IO_HDR_H

#include "slurm/slurm.h"
#include "src/common/io_hdr.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
#define IO_HDR_PACKET_BYTES io_hdr_packed_size()
#endif

#endif
