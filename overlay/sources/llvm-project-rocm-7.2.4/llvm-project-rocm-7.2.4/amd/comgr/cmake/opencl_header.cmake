# The header that every OpenCL compilation includes.
file(GLOB_RECURSE OPENCL_C_H_LIST "${CLANG_CMAKE_DIR}/../../../*/opencl-c.h")
list(GET OPENCL_C_H_LIST 0 OPENCL_C_H)
add_custom_target(opencl_header DEPENDS ${OPENCL_C_H})
