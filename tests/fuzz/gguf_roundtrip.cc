// Any bytes that parse and that the writer accepts -> written -> parsed: the two documents are equal, and a header that
// is written a second time is the same byte for byte.
#include <cstdlib>

#include "io/random_access_file.h"
#include "support/gguf_again.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemoryFile file({bytes.begin(), bytes.end()});
  const auto document = gguf::parse(file);
  if (!document || !document->complete) return 0;
  const auto written = test::lay_out_again(file, *document);
  if (!written) {
    if (written.error().kind == ErrorKind::internal) std::abort();
    return 0;
  }
  const auto header = std::as_bytes(std::span(written->header));
  const MemoryFile again({header.begin(), header.end()});
  const auto second = gguf::parse(again);
  if (!second || !second->complete || !test::difference(file, *document, again, *second).empty()) std::abort();
  if (second->data_offset != written->header.size()) std::abort();
  for (std::size_t i = 0; i < second->tensors.size(); ++i) {
    if (second->data_offset + second->tensors[i].offset != written->offsets[i]) std::abort();
    if (second->tensors[i].bytes() != written->bytes[i]) std::abort();
  }
  const auto third = test::lay_out_again(again, *second);
  if (!third || third->header != written->header || third->file_size != written->file_size) std::abort();
  return 0;
}
