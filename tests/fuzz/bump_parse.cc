// Any bytes -> BUMPWGT3 reader and the search for its readings. Every entry must lie inside the file, without gaps.
#include <cstdlib>

#include "formats/bump/document.h"
#include "io/random_access_file.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemoryFile file({bytes.begin(), bytes.end()});
  if (const auto strict = bump::parse(file); !strict && strict.error().code != "bump-magic") std::abort();
  const auto document = bump::parse_ignoring_magic(file);
  if (!document) std::abort();
  if (document->complete() == !document->findings.empty()) std::abort();
  const auto check = [&](const bump::Reading& reading) {
    const auto entries = bump::entries_of(*document, reading);
    if (entries.size() != document->codes.size()) std::abort();
    u64 offset = bump::codes_offset + entries.size();
    for (const bump::Entry& entry : entries) {
      if (entry.offset != offset || entry.name().empty()) std::abort();
      offset += entry.size;
    }
    if (offset != size) std::abort();
  };
  for (const bump::Reading& reading : bump::readings_of(*document)) check(reading);
  if (size != 0) {
    for (const bump::Reading& reading : bump::readings_of(*document, {data[0], data[size - 1]})) {
      check(reading);
    }
  }
  // Writing the header again must preserve it.
  if (size >= bump::header_bytes) {
    const auto again = bump::decode(bump::encode(document->header));
    for (const bump::HeaderField& field : bump::header_fields()) {
      if (again.*field.value != document->header.*field.value) std::abort();
    }
  }
  return 0;
}
