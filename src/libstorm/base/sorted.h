/*
 * sorted.h - binary search in an array that is sorted by a number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SORTED_H
#define STORM_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* The index of the first of n elements (of size bytes each) whose key is `key`
 * or greater; n if there is none.  key_of() gives an element's key. */
static inline uint32_t storm_sorted_at(const void *array, uint32_t n,
				       size_t size, uint64_t key,
				       uint64_t (*key_of)(const void *thing))
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (key_of((const char *) array + mid * size) < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

#endif
