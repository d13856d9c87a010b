/* Copyright: (c) 2026, the zerocopy.rdma authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 *
 * Finds the description by where this library is: a container has the driver's files below /driver-root, a pod has
 * some of them at the places of the node.
 */
#define _GNU_SOURCE
#include "description.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Sets root and version from <root>[/usr]/lib/<triplet>/libnvidia-ml.so.<version>. */
static int locate(struct description *found)
{
	static const char usr[] = "/usr", so[] = "/libnvidia-ml.so.";
	char path[PATH_MAX], *library, *directory;
	Dl_info self;

	if (!dladdr((void *)locate, &self) || !realpath(self.dli_fname, path))
		return -1;
	library = strstr(path, so);
	if (!library)
		return -1;
	snprintf(found->driver, sizeof found->driver, "%s", library + strlen(so));
	*library = '\0';
	directory = strstr(path, "/lib/");
	if (!directory)
		return -1;
	*directory = '\0';
	if (directory - path >= (long)strlen(usr) && !strcmp(directory - strlen(usr), usr))
		directory[-(long)strlen(usr)] = '\0';
	snprintf(found->root, sizeof found->root, "%s", path);
	return 0;
}

static int read_gpu(const char *line, struct nvmlDevice_st *gpu)
{
	unsigned int function;

	return sscanf(line, "gpu %u %x:%x:%x.%x %x %79s %llu %u %d.%d %95[^\n]", &gpu->minor, &gpu->domain, &gpu->bus,
		      &gpu->slot, &function, &gpu->vendor_device, gpu->uuid, &gpu->mebibytes, &gpu->architecture,
		      &gpu->major_capability, &gpu->minor_capability, gpu->name) == 12 ? 0 : -1;
}

/* In a container there are the GPUs whose device node it was given, as with the real library. */
static int is_given(const char *root, const struct nvmlDevice_st *gpu)
{
	char path[PATH_MAX + 32];
	struct stat status;

	snprintf(path, sizeof path, "%s/dev/nvidia%u", root, gpu->minor);
	return stat(path, &status) == 0;
}

int describe(struct description *found)
{
	char path[2 * PATH_MAX], line[512];
	int wrong = 0;
	FILE *file;

	memset(found, 0, sizeof *found);
	if (locate(found))
		return -1;
	snprintf(path, sizeof path, "%s/lib/firmware/nvidia/%s/gsp_lab.bin", found->root, found->driver);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (!wrong && fgets(line, sizeof line, file)) {
		struct nvmlDevice_st *gpu = &found->gpus[found->count];

		if (!strncmp(line, "cuda ", 5)) {
			found->cuda = atoi(line + 5);
		} else if (!strncmp(line, "gpu ", 4)) {
			wrong = found->count == MOST_GPUS || read_gpu(line, gpu);
			gpu->index = found->count;
			found->count += !wrong && is_given(found->root, gpu);
		}
	}
	fclose(file);
	return wrong ? -1 : 0;
}

struct nvmlDevice_st *gpu_of(struct description *from, const char *name)
{
	unsigned int domain, bus, slot, function;
	int is_address = sscanf(name, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4;

	for (unsigned int i = 0; i < from->count; i++) {
		struct nvmlDevice_st *gpu = &from->gpus[i];
		int same = gpu->domain == domain && gpu->bus == bus && gpu->slot == slot;

		if (is_address ? same : !strcmp(gpu->uuid, name))
			return gpu;
	}
	return NULL;
}
