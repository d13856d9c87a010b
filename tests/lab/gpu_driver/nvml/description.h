/* Copyright: (c) 2026, the zerocopy.rdma authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 *
 * What the stand-in tells of its GPUs, and where it has it from; README.md has the format.
 */
#ifndef LAB_DESCRIPTION_H
#define LAB_DESCRIPTION_H

#include <limits.h>
#include "nvml.h"

#define MOST_GPUS 64

struct nvmlDevice_st {
	unsigned int index, minor;
	unsigned int domain, bus, slot, vendor_device;
	unsigned int architecture;
	int major_capability, minor_capability;
	unsigned long long mebibytes;
	char uuid[NVML_UUID_SIZE], name[NVML_NAME_SIZE];
};

struct description {
	char root[PATH_MAX], driver[NVML_UUID_SIZE];
	int cuda;
	unsigned int count;
	/* One more, to read the next line into. */
	struct nvmlDevice_st gpus[MOST_GPUS + 1];
};

/* As it was when NVML was initialised. */
extern struct description described;

/* 0, or -1 where there is none or it is wrong. */
int describe(struct description *found);

/* The GPU of that UUID or PCI address (any number of digits for the domain), NULL if there is none. */
struct nvmlDevice_st *gpu_of(struct description *from, const char *name);

#endif
