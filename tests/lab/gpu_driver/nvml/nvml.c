/* Copyright: (c) 2026, the zerocopy.rdma authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 *
 * A stand-in for NVIDIA's libnvidia-ml.so.1 on nodes without GPUs: it tells of GPUs what a file says.
 *
 * It has the functions that NVIDIA's DRA driver 0.5.0 calls for whole GPUs, and nothing of MIG: where the library lacks
 * nvmlDeviceGetMigMode, the driver takes GPUs for such that cannot be partitioned.
 */
#include "description.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct description described;
static unsigned int users;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	nvmlReturn_t result = NVML_SUCCESS;

	(void)flags;
	pthread_mutex_lock(&lock);
	if (!users && describe(&described))
		result = NVML_ERROR_DRIVER_NOT_LOADED;
	else
		users++;
	pthread_mutex_unlock(&lock);
	return result;
}

nvmlReturn_t nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlShutdown(void)
{
	nvmlReturn_t result = NVML_SUCCESS;

	pthread_mutex_lock(&lock);
	if (users)
		users--;
	else
		result = NVML_ERROR_UNINITIALIZED;
	pthread_mutex_unlock(&lock);
	return result;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS: return "Success";
	case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NOT_FOUND: return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_TIMEOUT: return "Timeout";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	default: return "Unknown Error";
	}
}

static nvmlReturn_t text(const char *from, char *to, unsigned int length)
{
	if (!users)
		return NVML_ERROR_UNINITIALIZED;
	return (unsigned int)snprintf(to, length, "%s", from) < length ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return text(described.driver, version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	return text(described.driver, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	*version = described.cuda;
	return users ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = described.count;
	return users ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (index >= described.count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = &described.gpus[index];
	return NVML_SUCCESS;
}

static nvmlReturn_t by_name(const char *name, nvmlDevice_t *device)
{
	*device = gpu_of(&described, name);
	return *device ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	return by_name(uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *device)
{
	return by_name(address, device);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	return text(device->name, name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	return text(device->uuid, uuid, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	*index = device->index;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	*minor = device->minor;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, unsigned int *brand)
{
	(void)device;
	*brand = NVML_BRAND_NVIDIA;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int *architecture)
{
	*architecture = device->architecture;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	*major = device->major_capability;
	*minor = device->minor_capability;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	memory->total = memory->free = device->mebibytes << 20;
	memory->used = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	memset(pci, 0, sizeof *pci);
	pci->domain = device->domain;
	pci->bus = device->bus;
	pci->device = device->slot;
	pci->pciDeviceId = device->vendor_device;
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", device->domain & 0xffff,
		 device->bus & 0xff, device->slot & 0x1f);
	snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", device->domain, device->bus, device->slot);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is)
{
	(void)device;
	*is = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile, void *info)
{
	(void)device, (void)profile, (void)info;
	return NVML_ERROR_NOT_SUPPORTED;
}
