// Any bytes -> reader of signature bundles and of the statements in them.
#include <cstdlib>

#include "verify/signature/bundle.h"
#include "verify/signature/check.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bundle = signature::parse_bundle(text, "bundle");
  const auto statement = signature::parse_statement(bundle ? std::string_view(bundle->payload) : text, "statement");
  if (!statement) return 0;
  // No name may lead out of the model.
  for (const signature::Resource& resource : statement->resources) {
    if (resource.name.empty() || resource.name[0] == '/' ||
        ("/" + resource.name + "/").find("/../") != std::string::npos) {
      std::abort();
    }
  }
  return 0;
}
