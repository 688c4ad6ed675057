#include "formats/imatrix/importance.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "base/byte_reader.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "io/random_access_file.h"

namespace modelutils::quantize {

namespace {

constexpr std::string_view sums_suffix = ".in_sum2";
constexpr std::string_view counts_suffix = ".counts";
constexpr std::string_view plain_sums_suffix = ".in_sum";

tl::unexpected<Error> broken(const ByteReader& reader, const std::string& path, std::string message) {
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  return input_error("imatrix-format", std::move(message), {}, reader.offset(), path);
}

tl::unexpected<Error> bad_entry(const std::string& path, std::string_view name, std::string message) {
  return input_error("imatrix-entry", std::move(message), at_tensor(name), {}, path);
}

Result<std::vector<float>> read_floats(const ByteSource& source, u64 offset, u64 count) {
  std::vector<float> values(count);
  MU_TRY(source.read_exact(offset, std::as_writable_bytes(std::span(values))));
  return values;
}

}  // namespace

bool is_legacy_importance(std::string_view head) {
  constexpr std::size_t name_at = 8;
  constexpr u32 max_tensors = 1'000'000;
  constexpr u32 max_name = 256;
  if (head.size() < name_at) return false;
  const u32 tensors = load<u32>(head.data());
  const u32 length = load<u32>(head.data() + 4);
  if (tensors == 0 || tensors > max_tensors || length == 0 || length > max_name) return false;
  return head.substr(name_at, length).ends_with(".weight");
}

bool is_importance(const gguf::Document& document) {
  return gguf::Index(document).string_value("general.type") == "imatrix";
}

u64 ImportanceEntry::never_used() const {
  return static_cast<u64>(std::ranges::count_if(counts, [](i64 count) { return count <= 0; }));
}

Result<std::shared_ptr<const ImportanceMatrix>> ImportanceMatrix::open(const std::string& path) {
  MU_ASSIGN(auto source, RandomAccessFile::open(path));
  return read(std::move(source), path);
}

Result<std::shared_ptr<const ImportanceMatrix>> ImportanceMatrix::read(std::shared_ptr<ByteSource> source,
                                                                       std::string path) {
  char magic[4] = {};
  MU_ASSIGN(const std::size_t got, source->read_some(0, std::as_writable_bytes(std::span(magic))));
  if (got == 4 && std::memcmp(magic, "GGUF", 4) == 0) {
    MU_ASSIGN(const gguf::Document document, gguf::parse(*source));
    return read(std::move(source), std::move(path), document);
  }
  auto matrix = std::make_shared<ImportanceMatrix>();
  matrix->path_ = std::move(path);
  matrix->source_ = std::move(source);
  matrix->is_legacy_ = true;
  MU_TRY(matrix->read_legacy());
  MU_TRY(matrix->index_names());
  return matrix;
}

Result<std::shared_ptr<const ImportanceMatrix>> ImportanceMatrix::read(std::shared_ptr<ByteSource> source,
                                                                       std::string path,
                                                                       const gguf::Document& document) {
  auto matrix = std::make_shared<ImportanceMatrix>();
  matrix->path_ = std::move(path);
  matrix->source_ = std::move(source);
  MU_TRY(matrix->read_gguf(document));
  MU_TRY(matrix->index_names());
  return matrix;
}

Status ImportanceMatrix::index_names() {
  names_.reserve(entries_.size());
  for (const ImportanceEntry& entry : entries_) {
    if (!names_.insert(entry.name).is_new) return bad_entry(path_, entry.name, "appears twice");
  }
  return {};
}

const ImportanceEntry* ImportanceMatrix::find(std::string_view name) const {
  const auto number = names_.find(name);
  return number ? &entries_[*number] : nullptr;
}

Status ImportanceMatrix::read_gguf(const gguf::Document& document) {
  for (const Finding& finding : document.findings.findings()) {
    if (finding.severity == Severity::error) return tl::make_unexpected(with_path(finding, path_));
  }
  const gguf::Index index(document);
  const auto refuse_key = [&](std::string_view key) {
    return input_error("imatrix-keys", "the key is missing or of another type: this is not an importance matrix",
                       at_key(key), {}, path_);
  };
  const gguf::ArrayRef* datasets = index.array_value("imatrix.datasets");
  if (datasets == nullptr || datasets->element_type != gguf::ValueType::string) return refuse_key("imatrix.datasets");
  const auto chunks = index.unsigned_value("imatrix.chunk_count");
  const auto size = index.unsigned_value("imatrix.chunk_size");
  if (!chunks) return refuse_key("imatrix.chunk_count");
  if (!size) return refuse_key("imatrix.chunk_size");
  chunks_ = *chunks;
  chunk_size_ = *size;
  MU_ASSIGN(datasets_, gguf::read_strings(*source_, document, *datasets));

  return read_entries(document);
}

// Reads NAME.in_sum2 and NAME.counts, both float32, and NAME.in_sum, which files from the second half of 2026 have.
Status ImportanceMatrix::read_entries(const gguf::Document& document) {
  const u64 file_size = source_->size().value_or(0);
  const u64 room = file_size < document.data_offset ? 0 : file_size - document.data_offset;
  constexpr std::string_view suffixes[] = {sums_suffix, counts_suffix, plain_sums_suffix};
  using Parts = std::array<const gguf::TensorInfo*, std::size(suffixes)>;
  std::map<std::string_view, Parts> all;
  for (const gguf::TensorInfo& tensor : document.tensors) {
    const std::string_view name = tensor.name;
    for (std::size_t i = 0; i < std::size(suffixes); ++i) {
      if (name.ends_with(suffixes[i])) all[name.substr(0, name.size() - suffixes[i].size())][i] = &tensor;
    }
  }
  for (const auto& [name, parts] : all) {
    const auto& [sums, counts, plain_sums] = parts;
    if (sums == nullptr || counts == nullptr) return bad_entry(path_, name, "has sums or counts, but not both");
    for (const gguf::TensorInfo* tensor : parts) {
      if (tensor == nullptr) continue;
      const auto bytes = tensor->bytes();
      if (tensor->type() != TensorType::F32) return bad_entry(path_, tensor->name, "is not F32");
      if (!bytes || tensor->offset > room || *bytes > room - tensor->offset) {
        return bad_entry(path_, tensor->name, "lies beyond the end of the file");
      }
    }
    if (plain_sums != nullptr && plain_sums->elements() != sums->elements()) {
      return bad_entry(path_, name, "has sums of the values and of their squares, but not equally many");
    }
    ImportanceEntry entry{.name = std::string(name),
                          .values = *sums->elements(),
                          .sums_offset = document.data_offset + sums->offset,
                          .counts = {},
                          .record_offset = sums->info_offset};
    if (plain_sums != nullptr) entry.plain_sums_offset = document.data_offset + plain_sums->offset;
    MU_ASSIGN(const std::vector<float> numbers,
              read_floats(*source_, document.data_offset + counts->offset, *counts->elements()));
    for (const float number : numbers) {
      if (!(std::fabs(number) < 1e18f)) return bad_entry(path_, name, "has a count that is not a number");
      entry.counts.push_back(std::llround(number));
    }
    MU_TRY(add(std::move(entry)));
  }
  return {};
}

Status ImportanceMatrix::read_legacy() {
  ByteReader reader(*source_);
  const i32 count = reader.read<i32>();
  if (!reader.ok() || count < 1 || !reader.may_hold(static_cast<u64>(count), 16)) {
    return broken(reader, path_,
                  "is neither GGUF nor an importance matrix in the older .dat format: the file cannot hold the number "
                  "of entries it states");
  }
  for (i32 i = 0; i < count; ++i) {
    const u64 record_offset = reader.offset();
    const i32 length = reader.read<i32>();
    if (!reader.ok() || length < 1) return broken(reader, path_, fmt::format("entry {}: no name", i + 1));
    std::string name = reader.read_string(static_cast<u64>(length));
    const i32 ncall = reader.read<i32>();
    const i32 values = reader.read<i32>();
    if (!reader.ok() || values < 1) return broken(reader, path_, fmt::format("entry {}: no values", i + 1));
    ImportanceEntry entry{.name = std::move(name),
                          .values = static_cast<u64>(values),
                          .sums_offset = reader.offset(),
                          .counts = {i64{ncall}},
                          .record_offset = record_offset};
    reader.skip(4 * entry.values);
    if (!reader.ok()) return broken(reader, path_, fmt::format("entry {}: the file ends within its values", i + 1));
    MU_TRY(add(std::move(entry)));
  }
  // The remaining fields are optional.
  const i32 chunks = reader.read<i32>();
  const i32 length = reader.read<i32>();
  if (chunks > 0) chunks_ = static_cast<u64>(chunks);
  if (reader.ok() && length > 0) {
    std::string dataset = reader.read_string(static_cast<u64>(length));
    if (reader.ok()) datasets_.push_back(std::move(dataset));
  }
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  return {};
}

Status ImportanceMatrix::add(ImportanceEntry entry) {
  if (entry.counts.empty() || entry.values == 0 || entry.values % entry.counts.size() != 0) {
    return bad_entry(path_, entry.name,
                     fmt::format("{} sums cannot belong to {} counts", entry.values, entry.counts.size()));
  }
  entries_.push_back(std::move(entry));
  return {};
}

Result<std::vector<float>> ImportanceMatrix::sums(const ImportanceEntry& entry) const {
  MU_ASSIGN(std::vector<float> values, read_floats(*source_, entry.sums_offset, entry.values));
  if (std::ranges::any_of(values, [](float value) { return value < 0; })) {
    return input_error("imatrix-negative", "a sum of squares is negative", at_tensor(entry.name), {}, path_);
  }
  return values;
}

Result<std::vector<float>> ImportanceMatrix::plain_sums(const ImportanceEntry& entry) const {
  return read_floats(*source_, *entry.plain_sums_offset, entry.values);
}

Result<std::vector<float>> ImportanceMatrix::weights(const ImportanceEntry& entry) const {
  MU_ASSIGN(std::vector<float> values, sums(entry));
  const std::size_t columns = values.size() / entry.counts.size();
  for (std::size_t j = 0; j < entry.counts.size(); ++j) {
    const std::span<float> matrix = std::span(values).subspan(j * columns, columns);
    const float count = static_cast<float>(entry.counts[j]);
    if (entry.counts[j] > 0) {
      for (float& value : matrix) value /= count;
    } else if (!is_legacy_) {
      std::fill(matrix.begin(), matrix.end(), 1.0f);
    }
  }
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
    return input_error("imatrix-not-finite", "a weight is NaN or infinite", at_tensor(entry.name), {}, path_);
  }
  return values;
}

}  // namespace modelutils::quantize
