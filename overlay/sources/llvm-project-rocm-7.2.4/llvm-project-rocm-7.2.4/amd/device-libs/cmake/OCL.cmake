set (CLANG_OCL_FLAGS -fcolor-diagnostics -x cl -Xclang -cl-std=CL2.0)

set (INSTALL_ROOT_SUFFIX "amdgcn/bitcode")
set (BITCODE_DIR "${CMAKE_BINARY_DIR}/bc")
