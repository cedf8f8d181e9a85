#ifndef ROCM_VERSION_H
#define ROCM_VERSION_H

#define ROCM_VERSION_MAJOR 7
#define ROCM_VERSION_MINOR 2
#define ROCM_VERSION_PATCH 4

unsigned int getROCmVersion(void);

#endif
