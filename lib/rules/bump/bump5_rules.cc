#include "rules/bump/bump5_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/escape.h"
#include "base/path.h"
#include "base/text.h"
#include "io/hash.h"
#include "model/catalog.h"
#include "rules/bump/rules.h"

namespace modelutils {

namespace {

using bump5::Entry;
using bump5::Header;
using bump5::HeaderField;
using bump5::Reading;

const HeaderField& field_named(std::string_view name) {
  return *std::ranges::find(bump5::header_fields(), name, &HeaderField::name);
}

class Bump5Rules {
 public:
  explicit Bump5Rules(const Model& model)
      : model_(*model.bump5),
        document_(model.bump5->document),
        folder_(folder_of(model.path()), model.probe.links),
        format_(model.format) {}

  Result<CheckedModel> check() {
    out_.format_text = fmt::format("BUMPWGT{}", document_.version);
    out_.findings.add_all(document_.findings);
    if (document_.file_size < bump5::codes_offset) return std::move(out_);
    check_header();
    MU_ASSIGN(const Bump5Companions companions, read_bump5_companions(model_, folder_, out_.findings));
    MU_TRY(find_entries(companions));
    MU_TRY(check_payload());
    return std::move(out_);
  }

 private:
  FindingLog& log() { return out_.findings; }

  void field_error(std::string code, std::string_view field, std::string message) {
    log().error(Scope::container, code, std::move(message), fmt::format("field {}", field), field_named(field).offset);
  }

  void check_header() {
    const Header& h = document_.header;
    if (h.version != document_.version) {
      field_error("bump-version", "version", fmt::format("is {}, but the magic says {}", h.version, document_.version));
    }
    if (h.model_type != 1) {
      field_error("bump-model-type", "model_type", fmt::format("is {}, it must be 1", h.model_type));
    }
    const auto equal = [&](std::string_view field, u64 value, u64 expected, std::string_view what) {
      if (value != expected) {
        field_error("bump-dimension", field, fmt::format("is {}, but {} is {}", value, what, expected));
      }
    };
    equal("aligned_embed", h.aligned_embed, h.embed_dim, "embed_dim");
    equal("aligned_head", h.aligned_head, h.head_dim, "head_dim");
    equal("aligned_intermediate", h.aligned_intermediate, h.intermediate, "intermediate");
    equal("aligned_context", h.aligned_context, bump::aligned_context(h.context_len),
          "context_len rounded up to a multiple of 16");
    for (std::size_t i = 0; i < h.reserved.size(); ++i) {
      if (h.reserved[i] == std::byte{0}) continue;
      log().error(Scope::container, "bump-reserved",
                  fmt::format("contain the byte 0x{:02x}, they must all be zero", static_cast<unsigned>(h.reserved[i])),
                  "reserved bytes", bump5::reserved_offset + i);
      break;
    }
  }

  // Finds the entries of the dense layout, or takes the manifest's if no dense layout fits.
  Status find_entries(const Bump5Companions& companions) {
    if (document_.codes.empty()) return {};
    const std::vector<Reading> readings = bump5::readings_of(document_);
    if (readings.empty()) {
      take_entries_of_manifest(companions);
      return {};
    }
    const Reading& reading = readings.front();
    check_dense(reading);
    check_bump5_entries(companions, reading.entries, reading.features.untied, document_.version, log());
    check_bump5_map(folder_, reading.entries, document_, log());
    check_bump5_config(folder_, document_, companions, reading.features.untied, log());
    out_.catalog = catalog_of(model_.file, reading.entries, document_.header, format_);
    return check_bump5_vocabulary(*model_.file, reading.entries, log());
  }

  void check_dense(const Reading& reading) {
    const Header& h = document_.header;
    for (const std::string_view name : {"num_layers", "vocab_size", "embed_dim", "intermediate", "context_len",
                                        "num_heads", "num_kv_heads", "head_dim"}) {
      if (h.*field_named(name).value == 0) field_error("bump-dimension", name, "is 0");
    }
    if (h.num_kv_heads != 0 && h.num_heads % h.num_kv_heads != 0) {
      field_error("bump-dimension", "num_kv_heads",
                  fmt::format("is {}, which does not divide num_heads, {}", h.num_kv_heads, h.num_heads));
    }
    if (!reading.features.vocabulary && h.num_merges != 0) {
      field_error("bump-dimension", "num_merges", fmt::format("is {}, but there is no vocabulary", h.num_merges));
    }
    if (reading.has_fp16_head) {
      log().warning(Scope::container, "bump-dtype",
                    "is 0 (FP32), but the entry is FP16: some versions of the engine's converter write this",
                    "dtype code of output.weight", bump5::codes_offset + 1);
    }
  }

  // Only the manifest knows the layouts of other model kinds. Its entries must fill the payload.
  void take_entries_of_manifest(const Bump5Companions& companions) {
    std::vector<Bump5ManifestEntry> entries = companions.entries;
    std::ranges::stable_sort(entries, {}, &Bump5ManifestEntry::offset);
    u64 reached = document_.payload_begin();
    bool is_contiguous = !entries.empty() && is_not_dense(entries);
    for (const Bump5ManifestEntry& entry : entries) {
      is_contiguous = is_contiguous && entry.offset == reached && entry.size <= document_.payload_end - reached;
      if (!is_contiguous) break;
      reached += entry.size;
    }
    if (!is_contiguous || reached != document_.payload_end) {
      log().error(Scope::container, "bump-size",
                  fmt::format("the payload has {}, which does not match the header and the dtype codes{}",
                              counted(document_.payload_end - document_.payload_begin(), "byte"),
                              entries.empty() ? "" : ", nor the manifest's entries"));
      return;
    }
    log().note(Scope::model, "bump-layout",
               "is not that of a dense text model: only the manifest states where the entries are, and their shapes "
               "are not checked",
               "payload", document_.payload_begin());
    check_bump5_map(folder_, {}, document_, log());
    out_.catalog.format = format_;
    out_.catalog.files = {{model_.file->name(), base_name_of(model_.file->name()), model_.file}};
    for (const Bump5ManifestEntry& entry : entries) {
      Tensor& tensor = out_.catalog.add(std::string(entry.name), {});
      tensor.offset = entry.offset;
      tensor.bytes = entry.size;
    }
  }

  // True if an entry's name shows that this is another kind of model. It is then no error that the dense layout does
  // not fit.
  static bool is_not_dense(const std::vector<Bump5ManifestEntry>& entries) {
    return std::ranges::any_of(entries, [](const Bump5ManifestEntry& entry) {
      const std::size_t dot = entry.name.starts_with("layer.") ? entry.name.find('.', 6) : std::string_view::npos;
      return !bump5::role_from_name(dot == std::string_view::npos ? entry.name : entry.name.substr(dot + 1));
    });
  }

  Status check_payload() {
    if (document_.version == 5 && !document_.metadata) return {};  // the payload's end is unknown
    Hasher hasher(HashAlgorithm::sha256);
    std::vector<std::byte> buffer(512 * 1024);
    for (u64 offset = bump5::table_offset; offset < document_.payload_end;) {
      const auto want = static_cast<std::size_t>(std::min<u64>(buffer.size(), document_.payload_end - offset));
      const MutableBytes bytes = MutableBytes(buffer).first(want);
      MU_TRY(model_.file->read_exact(offset, bytes));
      hasher.update(bytes);
      offset += want;
    }
    const std::string digest = hasher.hex_digest();
    const std::string stated = hex(document_.header.sha256);
    if (digest != stated) {
      log().error(Scope::data, "bump-checksum",
                  fmt::format("is {}, but the payload's is {}; --check MANIFEST or --against MODEL.gguf tells which "
                              "entry is damaged",
                              stated, digest),
                  "field sha256", bump5::checksum_offset);
    }
    return {};
  }

  const Bump5Model& model_;
  const bump5::Document& document_;
  ModelFolder folder_;
  Format format_;
  CheckedModel out_;
};

}  // namespace

Result<CheckedModel> check_bump5(const Model& model, unsigned /*threads*/) {
  return Bump5Rules(model).check();
}

namespace {

using bump5::Entry;
using bump5::Role;

// Larger vocabularies are not checked; no tokenizer has that much text.
constexpr u64 most_token_text = u64{256} << 20;
constexpr u64 most_tokens = u64{64} << 20;

const Entry* find_entry(std::span<const Entry> entries, Role role) {
  const auto found = std::ranges::find(entries, role, [](const Entry& entry) { return entry.slot.role; });
  return found == entries.end() ? nullptr : &*found;
}

class VocabularyRules {
 public:
  VocabularyRules(const ByteSource& source, std::span<const Entry> entries, FindingLog& log)
      : source_(source),
        offsets_at_(find_entry(entries, Role::vocab_offsets)),
        strings_at_(find_entry(entries, Role::vocab_strings)),
        merges_at_(find_entry(entries, Role::vocab_merges)),
        log_(log) {}

  Status check() {
    if (offsets_at_ == nullptr || strings_at_ == nullptr || merges_at_ == nullptr) return {};
    if (strings_at_->size > most_token_text || offsets_at_->size / 4 > most_tokens) return {};
    MU_ASSIGN(const std::string offsets, bytes_of(*offsets_at_));
    MU_ASSIGN(strings_, bytes_of(*strings_at_));
    for (std::size_t i = 0; i + 4 <= offsets.size(); i += 4) {
      offsets_.push_back(load<i32>(reinterpret_cast<const std::byte*>(offsets.data()) + i));
    }
    if (!check_offsets()) return {};
    MU_ASSIGN(merges_, bytes_of(*merges_at_));
    check_merges();
    return {};
  }

 private:
  Result<std::string> bytes_of(const Entry& entry) {
    std::string bytes(static_cast<std::size_t>(entry.size), '\0');
    MU_TRY(source_.read_exact(entry.offset, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  }

  void error(const Entry& entry, u64 offset, std::string message) {
    log_.error(Scope::model, "bump-vocabulary", std::move(message), fmt::format("entry {}", entry.name()),
               entry.offset + offset);
  }

  bool check_offsets() {
    if (strings_.empty() || strings_.back() != '\0') {
      error(*strings_at_, strings_.size(), "does not end with a NUL");
      return false;
    }
    i64 last = -1;
    for (std::size_t id = 0; id < offsets_.size(); ++id) {
      const i64 offset = offsets_[id];
      const bool begins_text = id == 0 ? offset == 0
                                       : offset > last && offset < static_cast<i64>(strings_.size()) &&
                                             strings_[static_cast<std::size_t>(offset) - 1] == '\0';
      if (!begins_text) {
        error(*offsets_at_, 4 * id,
              fmt::format("says that token {} begins at {}, but no text begins there", id, offset));
        return false;
      }
      last = offset;
    }
    const auto texts = static_cast<u64>(std::count(strings_.begin(), strings_.end(), '\0'));
    if (texts != offsets_.size()) {
      log_.note(Scope::model, "bump-vocabulary",
                fmt::format("has {} for {}: the engine reads tokens only up to the first NUL", counted(texts, "NUL"),
                            counted(offsets_.size(), "token")),
                fmt::format("entry {}", strings_at_->name()), strings_at_->offset);
    }
    return true;
  }

  std::string_view text_of(u64 id) const {
    const auto begin = static_cast<std::size_t>(offsets_[id]);
    const auto end = id + 1 < offsets_.size() ? static_cast<std::size_t>(offsets_[id + 1]) : strings_.size();
    return std::string_view(strings_).substr(begin, end - begin - 1);
  }

  void check_merges() {
    std::string joined;
    for (std::size_t at = 0; at + 12 <= merges_.size(); at += 12) {
      u64 ids[3];
      bool are_ids = true;
      for (std::size_t k = 0; k < 3; ++k) {
        const i32 id = load<i32>(reinterpret_cast<const std::byte*>(merges_.data()) + at + 4 * k);
        are_ids = are_ids && id >= 0 && static_cast<u64>(id) < offsets_.size();
        ids[k] = static_cast<u64>(id);
      }
      if (!are_ids) {
        error(*merges_at_, at, fmt::format("merge {} has an id that is not below {}", at / 12, offsets_.size()));
        continue;
      }
      joined.assign(text_of(ids[0])).append(text_of(ids[1]));
      if (joined != text_of(ids[2])) {
        error(*merges_at_, at,
              fmt::format("merge {} says that tokens {} and {} make {}, whose text is different", at / 12, ids[0],
                          ids[1], ids[2]));
      }
    }
  }

  const ByteSource& source_;
  const Entry* offsets_at_;
  const Entry* strings_at_;
  const Entry* merges_at_;
  FindingLog& log_;
  std::string strings_, merges_;
  std::vector<i32> offsets_;
};

}  // namespace

Status check_bump5_vocabulary(const ByteSource& source, std::span<const Entry> entries, FindingLog& log) {
  return VocabularyRules(source, entries, log).check();
}

}  // namespace modelutils
