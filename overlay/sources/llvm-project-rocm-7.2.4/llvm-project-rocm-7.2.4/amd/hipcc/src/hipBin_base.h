#ifndef HIPBIN_BASE_H
#define HIPBIN_BASE_H

#include <iostream>
#include <string>

class HipBinBase {
 public:
  std::string hipPath;

  void printUsage() const {
    std::cout << "  --rocmpath, -R  print ROCM_PATH (use env var if set,"
                 " else determine from hip path or /opt/rocm)\n";
  }
};

#endif
