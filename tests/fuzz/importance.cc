// Any bytes -> importance matrix of either format, its sums and weights.
#include <cstdlib>

#include "formats/imatrix/importance.h"
#include "io/random_access_file.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()), "m.dat");
  const auto matrix = quantize::ImportanceMatrix::read(file, "m.dat");
  if (!matrix) {
    if (matrix.error().code.empty() || matrix.error().message.empty()) std::abort();
    return 0;
  }
  for (const quantize::ImportanceEntry& entry : (*matrix)->entries()) {
    if ((*matrix)->find(entry.name) != &entry) std::abort();
    if (entry.counts.empty() || entry.values % entry.counts.size() != 0) std::abort();
    if (entry.never_used() > entry.counts.size()) std::abort();
    const auto sums = (*matrix)->sums(entry);
    if (sums ? sums->size() != entry.values : sums.error().code != "imatrix-negative") std::abort();
    const auto weights = (*matrix)->weights(entry);
    const bool is_refused = !weights && (!sums || weights.error().code == "imatrix-not-finite");
    if (weights ? !sums || weights->size() != entry.values : !is_refused) std::abort();
    if (entry.plain_sums_offset && !(*matrix)->plain_sums(entry)) std::abort();
  }
  return 0;
}
