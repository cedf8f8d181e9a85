#include <vector>

namespace hip {

static std::vector<int> devices;

int device_count() { return static_cast<int>(devices.size()); }

}  // namespace hip
