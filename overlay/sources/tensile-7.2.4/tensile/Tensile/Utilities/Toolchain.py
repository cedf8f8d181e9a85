import os


def osSelect(linux, windows):
    return windows if os.name == "nt" else linux


CXX_COMPILER = osSelect(linux="amdclang++", windows="clang++.exe")
C_COMPILER = osSelect(linux="amdclang", windows="clang.exe")
