#include "hipBin_amd.h"

int main(int argc, char* argv[]) {
  HipBinAmd bin;
  if (argc < 2) bin.printUsage();
  return 0;
}
