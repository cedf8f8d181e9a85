function(apply_omp_settings target)
  target_compile_options(${target} INTERFACE -fopenmp)
endfunction()
