#include "formats/gguf/split_set.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/name_index.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/edit_journal.h"
#include "formats/gguf/parse.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "io/remote_address.h"
#include "io/remote_source.h"

namespace modelutils::gguf {

namespace {

// split.count is a u16.
constexpr u32 max_parts = 65535;

std::optional<u32> five_digits(std::string_view text) {
  u32 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<u32>(c - '0');
  }
  return value;
}

// Returns the integer under `key`, of any type; check_keys() checks the type.
std::optional<i64> integer(const Document& document, std::string_view key) {
  const KeyValue* entry = document.find(key);
  if (entry == nullptr) return std::nullopt;
  return std::visit(
      [](const auto& value) -> std::optional<i64> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_integral_v<T>) {
          return static_cast<i64>(value);
        } else {
          return std::nullopt;
        }
      },
      entry->value);
}

class SetOpener {
 public:
  explicit SetOpener(OutsideLinks links) : links_(links) {}

  Result<SplitSet> run(const std::string& path, std::shared_ptr<ByteSource> source) {
    MU_TRY(open(path, std::move(source)));
    report_interrupted_edits();
    return std::move(set_);
  }

 private:
  Status open(const std::string& path, std::shared_ptr<ByteSource> source) {
    if (source == nullptr) {
      MU_ASSIGN(source, open_source(path));
    }
    MU_ASSIGN(auto document, parse(*source));
    source->note_header_end();
    const bool is_regular = path != "-" && source->as_file() != nullptr;
    const i64 count = integer(document, "split.count").value_or(0);
    const bool has_keys = count > 1;
    const std::optional<SplitName> name = is_regular ? parse_split_name(path) : std::nullopt;
    const bool has_name = name && name->count > 1;
    set_.files.push_back({path, std::move(source), std::move(document)});

    if (!has_keys && !has_name) return {};
    if (!has_name && is_regular) {
      set_.findings.error(
          Scope::container, "gguf-split-name",
          fmt::format("this is one of {} parts, but the file name does not end in -00001-of-{:05}.gguf: the other "
                      "parts cannot be found, and llama.cpp refuses to load it; rename it",
                      count, count),
          "split.count", {}, base_name_of(path));
      return {};
    }
    if (!has_name) {
      const std::optional<PartOfSet> part = lone_part(set_);
      const std::string which =
          part ? fmt::format("part {} of {}", part->number, part->count) : fmt::format("one of {} parts", count);
      set_.findings.add(
          {.severity = Severity::warning,
           .scope = Scope::model,
           .code = "gguf-split-name",
           .message =
               fmt::format("this is {} of a model; the other parts cannot be found because the input is a pipe", which),
           .where = "split.count",
           .file = base_name_of(path),
           .leads = true});
      return {};
    }
    if (name->count > max_parts) {
      set_.findings.error(Scope::container, "gguf-split-name",
                          fmt::format("the file name says {} parts, at most {} are allowed", name->count, max_parts),
                          {}, {}, base_name_of(path));
      return {};
    }
    open_siblings(*name);
    if (!has_keys && !set_.is_split()) {
      // A complete model with a part's file name: llama.cpp decides by the keys and loads it.
      set_.findings = {};
      set_.findings.warning(
          Scope::model, "gguf-split-name",
          fmt::format("the file name says part {} of {}, but the file has no split.count and there are no other parts",
                      name->number, name->count),
          {}, {}, base_name_of(path));
      return {};
    }
    check_keys(name->count);
    if (set_.files.size() == name->count) check_total();
    check_names();
    return {};
  }

  // Reports in-place edits that were interrupted: the header may match neither the old model nor the new one.
  void report_interrupted_edits() {
    for (const SetFile& file : set_.files) {
      const RandomAccessFile* opened = file.source->as_file();
      if (opened == nullptr || file.path == "-") continue;
      std::optional<Finding> finding = interrupted_edit(*opened, file.path);
      if (!finding) continue;
      if (set_.is_split()) finding->file = base_name_of(file.path);
      set_.findings.add(std::move(*finding));
    }
  }

  void open_siblings(const SplitName& name) {
    SetFile own = std::move(set_.files.front());
    set_.files.clear();
    u32 missing = 0;
    std::optional<Error> first_missing;
    if (is_address(name.prefix)) {
      std::vector<std::string> paths;
      for (u32 number = 1; number <= name.count; ++number) paths.push_back(split_path(name.prefix, number, name.count));
      open_ahead(paths);
    }
    for (u32 number = 1; number <= name.count; ++number) {
      if (number == name.number) {
        numbers_.push_back(number);
        set_.files.push_back(std::move(own));
        continue;
      }
      const std::string path = split_path(name.prefix, number, name.count);
      auto opened = open_in_folder(folder_of(path), base_name_of(path));
      if (!opened) {
        if (missing++ == 0) first_missing = std::move(opened.error());
        continue;
      }
      if (opened->is_outside && links_ != OutsideLinks::follow) {
        set_.findings.warning(Scope::container, "gguf-split-symlink",
                              "is a symbolic link that leads out of the model's directory; check where it points", {},
                              {}, base_name_of(path));
      }
      auto document = parse(*opened->file);
      if (!document) {
        set_.findings.add(without_path(std::move(document.error()), Scope::container, base_name_of(path)));
        continue;
      }
      opened->file->note_header_end();
      numbers_.push_back(number);
      set_.files.push_back({path, std::move(opened->file), std::move(*document)});
    }
    if (missing > 0) {
      set_.findings.error(Scope::container, "gguf-split-missing",
                          fmt::format("{} ({} of the model's {} files {} missing or unreadable)",
                                      first_missing->message, missing, name.count, verb(missing, "is", "are")),
                          {}, {}, base_name_of(first_missing->file));
    }
  }

  // Checks a split key for the type that llama.cpp requires and for the value that the file's place in the set
  // requires.
  void check_key(const SetFile& file, std::string_view key, ValueType type, std::optional<i64> expected) {
    const KeyValue* entry = file.document.find(key);
    if (entry == nullptr) {
      set_.findings.error(Scope::model, "gguf-split-keys", "the key is missing in a part of a split model", at_key(key),
                          {}, base_name_of(file.path));
      return;
    }
    if (entry->type() != type) {
      set_.findings.error(Scope::model, "gguf-split-keys",
                          fmt::format("the type is {}, but llama.cpp requires {}", short_type_name(entry->type()),
                                      short_type_name(type)),
                          at_key(key), entry->offset, base_name_of(file.path));
    }
    const std::optional<i64> value = integer(file.document, key);
    if (value && expected && *value != *expected) {
      // llama.cpp refuses such a set; we can still list its tensors.
      set_.findings.error(Scope::model, "gguf-split-keys",
                          fmt::format("the value is {}, but the file name requires {}", *value, *expected), at_key(key),
                          entry->offset, base_name_of(file.path));
    }
  }

  void check_keys(u32 count) {
    for (std::size_t i = 0; i < set_.files.size(); ++i) {
      const SetFile& file = set_.files[i];
      if (!file.document.complete) continue;  // the file's own findings give the reason
      check_key(file, "split.no", ValueType::u16, i64{numbers_[i]} - 1);
      check_key(file, "split.count", ValueType::u16, count);
      check_key(file, "split.tensors.count", ValueType::i32, std::nullopt);
    }
  }

  void check_total() {
    u64 total = 0;
    for (const SetFile& file : set_.files) {
      if (!file.document.complete) return;
      total += file.document.tensors.size();
    }
    for (const SetFile& file : set_.files) {
      const std::optional<i64> said = integer(file.document, "split.tensors.count");
      if (said && (*said < 0 || static_cast<u64>(*said) != total)) {
        set_.findings.error(
            Scope::container, "gguf-split-tensor-count",
            fmt::format("the value is {}, but the files together have {}", *said, counted(total, "tensor")),
            at_key("split.tensors.count"), file.document.find("split.tensors.count")->offset, base_name_of(file.path));
      }
    }
  }

  // Reports names present in two files. Duplicates within one file are reported by another rule.
  void check_names() {
    NameIndex names;
    std::vector<std::size_t> first_file;
    for (std::size_t i = 0; i < set_.files.size(); ++i) {
      for (const TensorInfo& tensor : set_.files[i].document.tensors) {
        const NameIndex::Inserted inserted = names.insert(tensor.name);
        if (inserted.is_new) {
          first_file.push_back(i);
        } else if (first_file[inserted.number] != i) {
          set_.findings.error(
              Scope::container, "gguf-split-duplicate",
              fmt::format("the tensor is also in {}", base_name_of(set_.files[first_file[inserted.number]].path)),
              at_tensor(tensor.name), tensor.info_offset, base_name_of(set_.files[i].path));
        }
      }
    }
  }

  OutsideLinks links_;
  SplitSet set_;
  std::vector<u32> numbers_;  // 1-based, parallel to the set's files
};

}  // namespace

std::optional<SplitName> parse_split_name(std::string_view path) {
  constexpr std::string_view pattern = "-00001-of-00003.gguf";
  if (path.size() < pattern.size()) return std::nullopt;
  const std::string_view end = path.substr(path.size() - pattern.size());
  if (end[0] != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf") return std::nullopt;
  const std::optional<u32> number = five_digits(end.substr(1, 5));
  const std::optional<u32> count = five_digits(end.substr(10, 5));
  if (!number || !count || *number == 0 || *number > *count) return std::nullopt;
  return SplitName{std::string(path.substr(0, path.size() - pattern.size())), *number, *count};
}

bool is_split_key(std::string_view key) {
  return key == "split.no" || key == "split.count" || key == "split.tensors.count";
}

bool is_in_parts(const SplitSet& set) {
  return set.is_split() || integer(set.files.front().document, "split.count") == 1;
}

std::optional<PartOfSet> lone_part(const SplitSet& set) {
  if (set.is_split()) return std::nullopt;
  const Document& document = set.files.front().document;
  const std::optional<i64> count = integer(document, "split.count");
  const std::optional<i64> number = integer(document, "split.no");
  if (count.value_or(0) < 2 || !number || *number < 0) return std::nullopt;
  return PartOfSet{static_cast<u64>(*number) + 1, static_cast<u64>(*count)};
}

std::string split_path(std::string_view prefix, u32 number, u32 count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number, count);
}

Result<SplitSet> open_set(const std::string& path, OutsideLinks links, std::shared_ptr<ByteSource> opened) {
  return SetOpener(links).run(path, std::move(opened));
}

}  // namespace modelutils::gguf
