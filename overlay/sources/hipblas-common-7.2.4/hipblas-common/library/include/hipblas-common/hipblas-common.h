#ifndef HIPBLAS_COMMON_H
#define HIPBLAS_COMMON_H

typedef enum { HIPBLAS_MODE_HOST, HIPBLAS_MODE_DEVICE } hipblasPointerMode_t;

#endif
