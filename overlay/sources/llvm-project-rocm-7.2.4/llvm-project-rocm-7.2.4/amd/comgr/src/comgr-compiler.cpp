#include "comgr-compiler.h"
#include "clang/Driver/Driver.h"
#include "clang/Driver/Options.h"
#include <sstream>

using namespace llvm;
using namespace clang;
using namespace clang::driver;
using namespace clang::driver::options;

namespace COMGR {

std::string resourceDir(StringRef ClangBinary) {
  return Driver::GetResourcesPath(ClangBinary);
}

bool knowsOption(unsigned Id) { return Id != OPT_INVALID; }

} // namespace COMGR
