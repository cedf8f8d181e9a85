struct rocblas_handle_ {
  int device = 0;
};

int rocblas_device(const rocblas_handle_& handle) { return handle.device; }
