get_filename_component(Tensile_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

function(TensileCreateLibraryFiles Logic Output)
  set(Script "${Tensile_ROOT}/bin/TensileCreateLibrary")
  execute_process(COMMAND ${Script} ${Logic} ${Output})
endfunction()
