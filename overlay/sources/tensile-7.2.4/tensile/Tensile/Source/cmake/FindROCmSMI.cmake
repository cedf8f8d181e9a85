find_library(ROCM_SMI_LIBRARY rocm_smi64
    PATHS "${ROCM_SMI_ROOT}/lib")
find_path(ROCM_SMI_HEADERS rocm_smi/rocm_smi.h)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ROCmSMI DEFAULT_MSG ROCM_SMI_LIBRARY)
