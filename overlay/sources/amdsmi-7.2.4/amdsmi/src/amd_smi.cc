#include <cstdint>

extern "C" int amdsmi_get_socket_count(uint32_t* count) {
  if (count == nullptr) return 1;
  *count = 1;
  return 0;
}
