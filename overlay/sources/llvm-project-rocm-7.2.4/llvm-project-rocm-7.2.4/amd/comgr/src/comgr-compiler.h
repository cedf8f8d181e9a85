#ifndef COMGR_COMPILER_H
#define COMGR_COMPILER_H

#include <string>

namespace COMGR {
bool knowsOption(unsigned Id);
}

#endif
