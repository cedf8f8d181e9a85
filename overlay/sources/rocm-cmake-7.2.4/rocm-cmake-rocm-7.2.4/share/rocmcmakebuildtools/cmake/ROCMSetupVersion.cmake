macro(rocm_setup_version)
  set(PROJECT_VERSION ${ARGV1})
endmacro()
