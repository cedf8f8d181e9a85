set(dev_lib_targets ocml ockl)

# Installed and built trees differ in where the bitcode lies.
set(install_path_suffix "amdgcn/bitcode")
