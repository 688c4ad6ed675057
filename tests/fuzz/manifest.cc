// Any bytes -> manifest reader, and the comparison of a small model with the manifest.
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
  for (const std::string_view name : {"a", "b:c"}) {
    const u64 offset = 8 * catalog.tensors.size();
    Tensor& tensor = catalog.add(std::string(name), {8});
    tensor.type = TensorType::I8;
    tensor.offset = offset;
    tensor.bytes = 8;
  }
  ManifestCheck check(std::move(*manifest), true);
  FindingLog log;
  check.check_model(catalog, 1, log);
  check.finish(log);
  return 0;
}
