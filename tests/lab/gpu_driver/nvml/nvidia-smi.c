/* Copyright: (c) 2026, the zerocopy.rdma authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 *
 * A stand-in for nvidia-smi: --version, which NVIDIA's DRA driver waits for, and -L, the GPUs that it can see.
 */
#include "nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(library, #name)

static int failed(const char *why)
{
	printf("NVIDIA-SMI (stand-in of the lab) has failed: %s\n", why);
	return NVML_ERROR_DRIVER_NOT_LOADED;
}

int main(int argc, char **argv)
{
	const char *wish = argc > 1 ? argv[1] : "-L";
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	char version[NVML_UUID_SIZE], name[NVML_NAME_SIZE], uuid[NVML_UUID_SIZE];
	unsigned int count;
	int cuda;

	if (!library)
		return failed(dlerror());
	FUNCTION(nvmlInitWithFlags);
	FUNCTION(nvmlErrorString);
	FUNCTION(nvmlSystemGetDriverVersion);
	FUNCTION(nvmlSystemGetCudaDriverVersion);
	FUNCTION(nvmlDeviceGetCount_v2);
	FUNCTION(nvmlDeviceGetHandleByIndex_v2);
	FUNCTION(nvmlDeviceGetName);
	FUNCTION(nvmlDeviceGetUUID);
	nvmlReturn_t result = nvmlInitWithFlags_(0);
	if (result)
		return failed(nvmlErrorString_(result));
	if (!strcmp(wish, "--version")) {
		nvmlSystemGetDriverVersion_(version, sizeof version);
		nvmlSystemGetCudaDriverVersion_(&cuda);
		printf("NVIDIA-SMI version  : %s (stand-in of the lab)\n", version);
		printf("NVML version        : %s (stand-in of the lab)\n", version);
		printf("DRIVER version      : %s\n", version);
		printf("CUDA Version        : %d.%d\n", cuda / 1000, cuda % 1000 / 10);
		return 0;
	}
	if (strcmp(wish, "-L")) {
		printf("nvidia-smi (stand-in of the lab): %s is unknown; there are --version and -L\n", wish);
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	nvmlDeviceGetCount_v2_(&count);
	for (unsigned int i = 0; i < count; i++) {
		nvmlDevice_t device;

		nvmlDeviceGetHandleByIndex_v2_(i, &device);
		nvmlDeviceGetName_(device, name, sizeof name);
		nvmlDeviceGetUUID_(device, uuid, sizeof uuid);
		printf("GPU %u: %s (UUID: %s)\n", i, name, uuid);
	}
	return 0;
}
