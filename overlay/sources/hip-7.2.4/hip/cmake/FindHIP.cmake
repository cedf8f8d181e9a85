include(FindPackageHandleStandardArgs)

# Search for HIP installation
if(NOT HIP_ROOT_DIR)
  find_path(HIP_ROOT_DIR NAMES bin/hipconfig PATHS ENV ROCM_PATH)
endif()

#Set HIP_CLANG_PATH
if(NOT HIP_CLANG_PATH)
  set(HIP_CLANG_PATH "${HIP_ROOT_DIR}/lib/llvm/bin")
endif()

find_package_handle_standard_args(HIP REQUIRED_VARS HIP_ROOT_DIR HIP_CLANG_PATH)
