#include <hipblas-common/hipblas-common.h>

int hipblas_pointer_mode(hipblasPointerMode_t mode) { return mode; }
