#include "verify/against/bump_entries.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/parallel.h"
#include "to_bump/entry_bytes.h"

namespace modelutils {

namespace {

constexpr std::size_t chunk = 256 * 1024;

struct Compared {
  struct Difference {
    u64 at;  // offset in the entry
    std::byte expected, found;
  };
  std::optional<Difference> first;
  std::optional<Error> unreadable;  // an error reading the file
  bool has_other_size = false;
};

Result<Compared> compare_entry(const gguf::SplitSet& set, const ByteSource& file, const EntryPair& pair) {
  Compared compared;
  const u64 wanted = bytes_of(pair.parts);
  compared.has_other_size = wanted != pair.size;
  const u64 size = std::min(wanted, pair.size);
  std::vector<std::byte> expected(static_cast<std::size_t>(std::min<u64>(chunk, size))), found(expected.size());
  BumpEntryReader reader(set);
  for (u64 done = 0; done < size;) {
    const auto here = static_cast<std::size_t>(std::min<u64>(chunk, size - done));
    const MutableBytes right = MutableBytes(expected).first(here), ours = MutableBytes(found).first(here);
    MU_TRY(reader.read(pair.parts, done, right));
    if (Status read = file.read_exact(pair.offset + done, ours); !read) {
      compared.unreadable = std::move(read.error());
      return compared;
    }
    const auto [a, b] = std::ranges::mismatch(right, ours);
    if (a != right.end()) {
      compared.first = {done + static_cast<u64>(a - right.begin()), *a, *b};
      return compared;
    }
    done += here;
  }
  return compared;
}

}  // namespace

Status compare_entries(const gguf::SplitSet& set, const ByteSource& file, std::span<const EntryPair> pairs,
                       FindingLog& log) {
  std::vector<Compared> results(pairs.size());
  const auto work = [&](u64 i, unsigned) -> Status {
    MU_ASSIGN(results[i], compare_entry(set, file, pairs[i]));
    return {};
  };
  MU_TRY(parallel_for(pairs.size(), default_threads(), work));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const EntryPair& pair = pairs[i];
    const std::string where = "entry " + pair.name;
    if (results[i].unreadable) {
      log.add(without_path(*results[i].unreadable, Scope::data));
      return {};
    }
    if (const auto& first = results[i].first) {
      log.error(Scope::data, "parity-differs",
                fmt::format("differs from {} from byte {} of the entry on (0x{:02x} instead of 0x{:02x})", pair.source,
                            first->at, static_cast<unsigned>(first->found), static_cast<unsigned>(first->expected)),
                where, pair.offset + first->at);
    } else if (results[i].has_other_size) {
      log.error(Scope::model, "parity-size",
                fmt::format("has {} bytes, but the source gives {}", pair.size, bytes_of(pair.parts)), where,
                pair.offset);
    }
  }
  return {};
}

Result<bool> has_bytes_of_source(const gguf::SplitSet& set, const ByteSource& file, const EntryPair& pair) {
  MU_ASSIGN(const Compared compared, compare_entry(set, file, pair));
  return !compared.first && !compared.unreadable && !compared.has_other_size;
}

}  // namespace modelutils
