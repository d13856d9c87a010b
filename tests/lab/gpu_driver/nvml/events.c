/* Copyright: (c) 2026, the zerocopy.rdma authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 *
 * Events of GPUs: the lines that somebody appends to <root>/run/lab-gpu/events.
 *
 * "<UUID or PCI address> <XID>" is an XID of that GPU, "lost" a GPU that is lost. What was there before the event set
 * does not count.
 */
#include "description.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

struct nvmlEventSet_st {
	char directory[PATH_MAX + 16], file[PATH_MAX + 32];
	long seen;
	unsigned long long registered[MOST_GPUS];
};

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	(void)device;
	*types = NVML_EVENT_XID;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	set->registered[device->index] |= types;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	FILE *file;

	*set = calloc(1, sizeof **set);
	if (!*set)
		return NVML_ERROR_UNKNOWN;
	snprintf((*set)->directory, sizeof (*set)->directory, "%s/run/lab-gpu", described.root);
	snprintf((*set)->file, sizeof (*set)->file, "%s/events", (*set)->directory);
	file = fopen((*set)->file, "r");
	if (file) {
		fseek(file, 0, SEEK_END);
		(*set)->seen = ftell(file);
		fclose(file);
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	free(set);
	return NVML_SUCCESS;
}

/* What a line means; NVML_ERROR_TIMEOUT if nothing. */
static nvmlReturn_t event_of(const char *line, nvmlEventSet_t set, nvmlEventData_t *data)
{
	struct nvmlDevice_st *gpu;
	unsigned long long xid;
	char name[NVML_UUID_SIZE];

	if (!strcmp(line, "lost\n"))
		return NVML_ERROR_GPU_IS_LOST;
	if (sscanf(line, "%79s %llu", name, &xid) != 2)
		return NVML_ERROR_TIMEOUT;
	gpu = gpu_of(&described, name);
	if (!gpu || !(set->registered[gpu->index] & NVML_EVENT_XID))
		return NVML_ERROR_TIMEOUT;
	memset(data, 0, sizeof *data);
	data->device = gpu;
	data->eventType = NVML_EVENT_XID;
	data->eventData = xid;
	data->gpuInstanceId = data->computeInstanceId = NVML_NO_INSTANCE;
	return NVML_SUCCESS;
}

/* The next event of the lines that are complete. */
static nvmlReturn_t next(nvmlEventSet_t set, nvmlEventData_t *data)
{
	nvmlReturn_t result = NVML_ERROR_TIMEOUT;
	FILE *file = fopen(set->file, "r");
	char line[256];

	if (!file)
		return result;
	fseek(file, set->seen, SEEK_SET);
	while (result == NVML_ERROR_TIMEOUT && fgets(line, sizeof line, file) && strchr(line, '\n')) {
		set->seen = ftell(file);
		result = event_of(line, set, data);
	}
	fclose(file);
	return result;
}

static long milliseconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int milliseconds)
{
	long end = milliseconds_now() + milliseconds, left;
	struct pollfd changes = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN};
	nvmlReturn_t result;
	char ignored[4096];

	/* Without the directory there is nothing to wake it up before the time is over. */
	inotify_add_watch(changes.fd, set->directory, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
	while ((result = next(set, data)) == NVML_ERROR_TIMEOUT && (left = end - milliseconds_now()) > 0)
		if (poll(&changes, 1, (int)left) > 0 && read(changes.fd, ignored, sizeof ignored) < 0)
			break;
	close(changes.fd);
	return result;
}
