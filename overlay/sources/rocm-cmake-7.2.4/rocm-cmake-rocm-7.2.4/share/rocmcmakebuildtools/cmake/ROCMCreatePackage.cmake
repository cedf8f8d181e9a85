set(CMAKE_INSTALL_LIBDIR "lib" CACHE STRING "Library install directory")
include(GNUInstallDirs)

macro(rocm_create_package)
  include(CPack)
endmacro()
