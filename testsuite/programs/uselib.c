/*
 * uselib - prints what libgreet returns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>

const char *greet(void);

int main(void)
{
	puts(greet());
	return 0;
}
