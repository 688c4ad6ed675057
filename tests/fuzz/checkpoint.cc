// Any bytes -> PyTorch checkpoint, its tensors gathered.
#include <cstdlib>

#include "formats/pytorch/contiguous_source.h"
#include "formats/pytorch/parse.h"
#include "io/random_access_file.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()), "m.pt");
  const auto document = pytorch::parse(*file);
  if (!document) std::abort();  // memory can be read
  if (!document->complete && document->findings.errors() == 0) std::abort();
  const pytorch::ContiguousSource source(file, *document);
  for (std::size_t i = 0; i < document->tensors.size(); ++i) {
    const pytorch::Tensor& tensor = document->tensors[i];
    if (tensor.bytes != tensor.elements * tensor.element_bytes()) std::abort();
    if (tensor.bytes == 0) continue;
    // Reads the first and the last bytes, which must succeed if the file is valid.
    std::vector<std::byte> piece(std::min<u64>(tensor.bytes, 1000));
    const bool can_fail = document->storages[tensor.storage].deflated.has_value();
    for (const u64 at : {u64{0}, tensor.bytes - piece.size()}) {
      const Status read = source.read_exact(source.offset_of(i) + at, piece);
      if (!read && !can_fail) std::abort();
    }
  }
  return 0;
}
