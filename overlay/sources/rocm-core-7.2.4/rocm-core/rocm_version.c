#include "rocm_version.h"

unsigned int getROCmVersion(void)
{
	return ROCM_VERSION_MAJOR * 10000 + ROCM_VERSION_MINOR * 100 + ROCM_VERSION_PATCH;
}
