/*
 * each_product.h - all combinations of several sources, in order: the last one varies
 * fastest.  Linked ones go together.  Memory is bounded by all sources but those of the
 * first group, which is read as it is needed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_PRODUCT_H
#define STORM_EACH_PRODUCT_H

#include <stddef.h>
#include <stdint.h>

struct each_options;
struct each_product;

/* NULL: it was said why. */
struct each_product *each_product_open(const struct each_options *o);

/* How many values a combination has: one of each source. */
size_t each_product_width(const struct each_product *p);

/* 1, and the values, which are the product's until the next call; 0 at the end; -1: it
 * was said why. */
int each_product_next(struct each_product *p, char *const **values);

/* How many combinations there are, if all sources are words; else 0. */
uint64_t each_product_total(const struct each_product *p);

/* NULL is nothing. */
void each_product_close(struct each_product *p);

#endif
