#ifndef HIPBIN_AMD_H
#define HIPBIN_AMD_H

#include "hipBin_base.h"
#include <filesystem>

class HipBinAmd : public HipBinBase {
 public:
  std::string hipClang(std::filesystem::path hipClangPath) const {
    hipClangPath /= "lib/llvm/bin";
    return hipClangPath.string();
  }

  std::string bitcode(std::filesystem::path amdgcnBitcode) const {
    amdgcnBitcode /= "amdgcn/bitcode";
    return amdgcnBitcode.string();
  }
};

#endif
