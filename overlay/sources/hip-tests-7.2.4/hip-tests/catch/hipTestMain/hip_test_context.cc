#include <cstdio>
#include <string>

static std::string run(const char* cmd) {
  std::string out;
  char buf[128];
  FILE* pipe = popen(cmd, "r");
  while (pipe && fgets(buf, sizeof(buf), pipe)) out += buf;
  if (pipe) pclose(pipe);
  return out;
}

std::string gpu_targets() {
  const char* cmd = "/opt/rocm/bin/rocm_agent_enumerator | sort -u | xargs | sed -e 's/ /;/g'";
  return run(cmd);
}
