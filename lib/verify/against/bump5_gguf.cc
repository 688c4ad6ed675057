#include "verify/against/bump5_gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_bump/bump5_config.h"
#include "convert/to_bump/stream.h"
#include "formats/bump/bump5_layout.h"
#include "json/reader.h"
#include "json/value.h"
#include "model/format.h"
#include "verify/against/bump_gguf.h"

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

namespace {

using bump5::Entry;
using json::Element;

class Bump5Parity {
 public:
  Bump5Parity(const Model& converted, gguf::SplitSet set)
      : model_(*converted.bump5), folder_(folder_of(converted.path()), converted.probe.links), set_(std::move(set)) {}

  Result<FindingLog> compare() {
    const std::vector<bump5::Reading> readings = bump5::readings_of(model_.document);
    BumpRequest request;
    request.version = 5;
    request.drop = {"*"};  // tensors not carried are reported below
    if (model_.document.header.context_len != 0) request.context = model_.document.header.context_len;
    MU_ASSIGN(const Bump5Mapping mapping, map_gguf_to_bump5(set_, request));
    if (mapping.entries.empty()) {
      Error refusal = mapping.refusals.errors().front();
      refusal.message =
          "has no BUMPWGT5 equivalent: " + (refusal.where.empty() ? "" : refusal.where + " ") + refusal.message;
      refusal.where.clear();
      return tl::make_unexpected(in_file(std::move(refusal), set_.files.front().path));
    }
    compare_header(mapping);
    if (readings.empty()) return std::move(log_);  // the file's own rules report an unusable layout
    MU_TRY(compare_entries(mapping, readings.front().entries));
    MU_TRY(compare_config(mapping));
    for (const UnplacedTensor& item : mapping.unplaced) {
      log_.warning(Scope::model, "parity-not-carried", "is in the source, but not in the file: " + item.reason,
                   at_tensor(item.tensor.name));
    }
    return std::move(log_);
  }

 private:
  void compare_header(const Bump5Mapping& mapping) {
    bump5::Header expected = mapping.header;
    expected.version = model_.document.version;
    for (const bump5::HeaderField& field : bump5::header_fields()) {
      const u64 value = model_.document.header.*field.value;
      const u64 right = expected.*field.value;
      if (value == right) continue;
      log_.error(Scope::model, "parity-field", fmt::format("is {}, but the source gives {}", value, right),
                 fmt::format("field {}", field.name), field.offset);
    }
    const std::optional<u64> own = mapping.hyper.stated.context.number();
    if (own && *own != expected.context_len) {
      log_.note(
          Scope::model, "parity-context",
          fmt::format("is {}, but the source's context is {}: converted with --context", expected.context_len, *own),
          "field context_len", 32);
    }
  }

  Status compare_entries(const Bump5Mapping& mapping, const std::vector<Entry>& entries) {
    std::vector<std::string> found;
    for (const Entry& entry : entries) found.push_back(entry.name());
    std::vector<bool> is_expected(entries.size());
    std::vector<EntryPair> pairs;
    for (const Bump5Entry& wanted : mapping.entries) {
      const std::string name = wanted.entry.name();
      const auto place = std::ranges::find(found, name);
      if (place == found.end()) {
        log_.error(Scope::model, "parity-size", "is missing", fmt::format("entry {}", name));
        continue;
      }
      const auto i = static_cast<std::size_t>(place - found.begin());
      is_expected[i] = true;
      if (auto parts = recipe_for(wanted, entries[i])) {
        pairs.push_back({name, entries[i].offset, entries[i].size, std::move(*parts), source_text(wanted)});
      } else {
        log_.error(Scope::model, "parity-field",
                   fmt::format("is {}, but the source gives {}", entries[i].word(), wanted.entry.word()),
                   fmt::format("entry {}", name), entries[i].offset);
      }
    }
    MU_TRY(modelutils::compare_entries(set_, *model_.file, pairs, log_));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (is_expected[i]) continue;
      log_.error(Scope::model, "parity-size", "does not come from the source", fmt::format("entry {}", found[i]),
                 entries[i].offset);
    }
    return {};
  }

  // Returns the recipe for the entry's type in the file: either our default type or the source's own.
  static std::optional<std::vector<BumpPart>> recipe_for(const Bump5Entry& wanted, const Entry& entry) {
    std::vector<BumpPart> parts = wanted.parts;
    if (wanted.entry.word() == entry.word()) return parts;
    for (BumpPart& part : parts) {
      if (part.kind != BumpPart::Kind::convert && part.kind != BumpPart::Kind::copy) return std::nullopt;
      if (part.type != entry.type()) return std::nullopt;
      part.kind = BumpPart::Kind::copy;
    }
    return parts;
  }

  static std::string source_text(const Bump5Entry& wanted) {
    if (!wanted.sources.empty()) return at_tensor(wanted.sources.front()).text();
    const bool is_vocabulary = bump5::role_info(wanted.entry.slot.role).content == bump5::Content::vocabulary;
    return is_vocabulary ? "the source's tokenizer" : "the zeros it must consist of";
  }

  // Compares the engine's configuration numbers in the manifest beside the file.
  Status compare_config(const Bump5Mapping& mapping) {
    const auto loaded = json::load_if_present(folder_, bump5_manifest_name, u64{256} << 20, json::Numbers::python);
    if (!loaded || *loaded == nullptr || !json::object_member((*loaded)->root, "config")) return {};
    const gguf::Index index(set_.files.front().document);
    MU_ASSIGN(const auto ours, json::parse(bump5_manifest_text(index, mapping), "manifest"));
    const Element found = *json::member((*loaded)->root, "config");
    const json::Object members = *json::object_member(ours->root, "config");
    for (const json::Member wanted : members) {
      const auto value = json::member(found, wanted.key);
      if (!value || is_same(*value, wanted.value)) continue;
      log_.error(Scope::model, "parity-field",
                 fmt::format("is {}, but the source gives {}", json::canonical_text(*value),
                             json::canonical_text(wanted.value)),
                 fmt::format("manifest config {}", wanted.key), {}, bump5_manifest_name);
    }
    return {};
  }

  // Compares numbers as float32, because the engine computes in float32.
  static bool is_same(Element a, Element b) {
    double x = 0, y = 0;
    if (a.get(x) && b.get(y)) return static_cast<float>(x) == static_cast<float>(y);
    return json::canonical_text(a) == json::canonical_text(b);
  }

  const Bump5Model& model_;
  ModelFolder folder_;
  gguf::SplitSet set_;
  FindingLog log_;
};

}  // namespace

Result<FindingLog> compare_bump5_with_gguf(const CheckedModel&, const Model& converted, Model source) {
  MU_TRY(check_gguf_source(source));
  return Bump5Parity(converted, std::move(*source.gguf)).compare();
}

}  // namespace modelutils
