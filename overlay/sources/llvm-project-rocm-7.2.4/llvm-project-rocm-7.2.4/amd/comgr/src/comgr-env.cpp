#include <cstdlib>

namespace COMGR {
bool shouldSaveTemps() { return std::getenv("AMD_COMGR_SAVE_TEMPS") != nullptr; }
}
