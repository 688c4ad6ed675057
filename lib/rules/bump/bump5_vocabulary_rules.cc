#include "rules/bump/bump5_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/counted.h"

namespace modelutils {

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
