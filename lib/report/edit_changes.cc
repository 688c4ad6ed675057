#include "report/edit_changes.h"

#include <fmt/format.h>

#include "base/escape.h"
#include "base/name_index.h"
#include "gguf/write.h"
#include "listing/gguf_listing.h"
#include "report/key_text.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

constexpr std::size_t edit_value_columns = 60;

Result<std::string> value_text(const ListedKey& key) {
  MU_ASSIGN(const std::string value, preview(key.value, edit_value_columns));
  return fmt::format("{} {}", key_type_text(key), value);
}

// split.* says how a file is cut, which the section of the files shows.
bool is_part_key(std::string_view key) {
  return key.starts_with("split.");
}

class Changes {
 public:
  Changes(const gguf::SplitSet& before, const gguf::SplitSet& after)
      : before_(before),
        after_(after),
        old_source_(gguf_listing(before, before.files.front().path)),
        new_source_(gguf_listing(after, after.files.front().path)),
        old_(old_source_->list({})),
        new_(new_source_->list({})) {}

  Result<std::string> text() {
    add_file_section();
    MU_TRY(add_keys());
    add_tensors();
    return text_.empty() ? std::string("nothing changes\n") : std::move(text_);
  }

 private:
  void section(std::string_view name, const std::string& lines) {
    if (!lines.empty()) text_ += fmt::format("{}\n{}", name, lines);
  }

  void add_file_section() {
    std::string lines;
    const auto change = [&](std::string_view what, u64 from, u64 to) {
      if (from != to) lines += fmt::format("  ~ {}: {} → {}\n", what, from, to);
    };
    change("version", before_.files.front().document.version, after_.files.front().document.version);
    change("alignment", before_.files.front().document.alignment, after_.files.front().document.alignment);
    change("files", before_.files.size(), after_.files.size());
    section("file", lines);
  }

  Result<bool> is_equal(std::string_view key) const {
    const gguf::SetFile& from = before_.files.front();
    const gguf::SetFile& to = after_.files.front();
    MU_ASSIGN(const gguf::OutKey a, gguf::copy_key(*from.source, from.document, *from.document.find(key)));
    MU_ASSIGN(const gguf::OutKey b, gguf::copy_key(*to.source, to.document, *to.document.find(key)));
    return a.type == b.type && a.encoded == b.encoded;
  }

  Status add_keys() {
    std::string lines;
    NameIndex old_names;
    NameIndex new_names;
    for (const ListedKey& key : old_.keys) old_names.insert(key.name);
    for (const ListedKey& key : new_.keys) new_names.insert(key.name);
    for (const ListedKey& key : old_.keys) {
      if (is_part_key(key.name)) continue;
      MU_ASSIGN(const std::string was, value_text(key));
      const std::optional<u32> there = new_names.find(key.name);
      if (!there) {
        lines += fmt::format("  - {}: {}\n", escape(key.name), was);
        continue;
      }
      MU_ASSIGN(const bool same, is_equal(key.name));
      if (same) continue;
      MU_ASSIGN(const std::string is, value_text(new_.keys[*there]));
      lines += fmt::format("  ~ {}: {} → {}\n", escape(key.name), was, is);
    }
    for (const ListedKey& key : new_.keys) {
      if (is_part_key(key.name) || old_names.find(key.name)) continue;
      MU_ASSIGN(const std::string is, value_text(key));
      lines += fmt::format("  + {}: {}\n", escape(key.name), is);
    }
    section("keys", lines);
    return {};
  }

  void add_tensors() {
    std::string lines;
    NameIndex old_names;
    NameIndex new_names;
    for (const ListedTensor& tensor : old_.tensors) old_names.insert(tensor.name);
    for (const ListedTensor& tensor : new_.tensors) new_names.insert(tensor.name);
    const auto add = [&](char sign, const ListedTensor& tensor) {
      lines += fmt::format("  {} {}: {} {}\n", sign, escape(tensor.name), tensor.type_name, shape_text(tensor.shape));
    };
    for (const ListedTensor& tensor : old_.tensors) {
      if (!new_names.find(tensor.name)) add('-', tensor);
    }
    for (const ListedTensor& tensor : new_.tensors) {
      if (!old_names.find(tensor.name)) add('+', tensor);
    }
    section("tensors", lines);
  }

  const gguf::SplitSet& before_;
  const gguf::SplitSet& after_;
  std::unique_ptr<ListingSource> old_source_;
  std::unique_ptr<ListingSource> new_source_;
  Listing old_;
  Listing new_;
  std::string text_;
};

}  // namespace

Result<std::string> edit_changes_text(const gguf::SplitSet& before, const gguf::SplitSet& after) {
  return Changes(before, after).text();
}

}  // namespace modelutils
