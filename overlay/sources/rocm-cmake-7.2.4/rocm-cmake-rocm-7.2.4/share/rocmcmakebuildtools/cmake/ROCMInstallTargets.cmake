set(CMAKE_INSTALL_LIBDIR "lib" CACHE STRING "Library install directory")
include(GNUInstallDirs)

function(rocm_install_targets)
  install(${ARGN})
endfunction()
