#include <cstdlib>
#include <string>

namespace rocr {

std::string tools_library() {
  const char* name = std::getenv("HSA_TOOLS_LIB");
  return name;
}

bool check_flat_scratch() {
  const char* flag = std::getenv("HSA_CHECK_FLAT_SCRATCH");
  return flag != nullptr && *flag == '1';
}

}  // namespace rocr
