// Any bytes -> the reader of manifests, and a comparison of a small model with what it reads.
#include <cstdlib>

#include "io/random_access_file.h"
#include "verify/manifest/manifest.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  auto manifest = parse_manifest({reinterpret_cast<const char*>(data), size}, "manifest");
  if (!manifest) {
    if (!manifest.error().code.starts_with("manifest-") || manifest.error().message.empty()) std::abort();
    return 0;
  }
  if (manifest->entries.empty()) std::abort();
  Catalog catalog;
  catalog.files.push_back({"m.gguf", "m.gguf", std::make_shared<MemoryFile>(std::vector<std::byte>(16))});
  catalog.tensors.push_back({"a", TensorType::I8, {8}, 0, 0, 8});
  catalog.tensors.push_back({"b:c", TensorType::I8, {8}, 0, 8, 8});
  ManifestCheck check(std::move(*manifest), true);
  FindingLog log;
  check.check_model(catalog, 1, log);
  check.finish(log);
  return 0;
}
