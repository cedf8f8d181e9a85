# Package options that every component wants.
set(CPACK_PACKAGE_NAME "amd-smi-lib")
set(CPACK_STRIP_FILES ON)
