// Any bytes -> policy reader.
#include <cstdlib>

#include "verify/policy/policy.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto policy = parse_policy({reinterpret_cast<const char*>(data), size}, "p.yaml");
  if (!policy && (!policy.error().code.starts_with("policy-") || policy.error().where.empty())) std::abort();
  if (policy && severity_under(*policy, Severity::error, "gguf-length") != Severity::error) std::abort();
  return 0;
}
