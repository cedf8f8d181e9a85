#include <cstdio>

int main() {
  std::printf("ROCk module is there\n");
  return 0;
}
