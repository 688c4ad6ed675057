#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/foreign_types.h"
#include "model/catalog.h"
#include "rules/formats.h"
#include "rules/gguf/rule_parts.h"
#include "tensor/types.h"

namespace modelutils::gguf_rules {

// Checks dimensions, types and sizes of the tensor infos.

namespace {

class GgufTensorRules {
 public:
  GgufTensorRules(const gguf::TensorInfo& tensor, gguf::Limits limits, FindingLog& log)
      : tensor_(tensor), limits_(limits), place_(at_tensor(tensor.name)), log_(log) {}

  void check() {
    if (tensor_.n_dims == 0)
      log_.warning(Scope::container, "gguf-dims-none", "the tensor has no dimensions, and thus one element", place_,
                   tensor_.info_offset);
    const bool dims_are_sound = check_dims();
    const std::optional<TensorType> type = tensor_.type();
    if (gguf::is_foreign(tensor_.type_id)) return;  // its size fits the file; check_foreign_types() reports the type
    if (!type) return unknown_type();
    if (!dims_are_sound) return;
    const TypeInfo& info = type_info(*type);
    const u64 ne0 = tensor_.ne.empty() ? 1 : tensor_.ne[0];
    if (ne0 % info.block_elements != 0) {
      return log_.error(Scope::container, "gguf-row-size",
                        fmt::format("ne0 is {}, but {} needs a multiple of {}", ne0, info.name, info.block_elements),
                        place_, tensor_.info_offset);
    }
    if (!element_count(tensor_.ne)) {
      return log_.error(Scope::container, "gguf-tensor-size",
                        fmt::format("the number of elements of {} does not fit in 64 bits", shape_text(tensor_.ne)),
                        place_, tensor_.info_offset);
    }
    if (!tensor_.bytes()) {
      log_.error(
          Scope::container, "gguf-tensor-size",
          fmt::format("the size of {} elements of {} does not fit in 63 bits", shape_text(tensor_.ne), info.name),
          place_, tensor_.info_offset);
    }
  }

 private:
  // Returns false if the dimensions cannot be used in computations.
  bool check_dims() {
    if (tensor_.n_dims > gguf::max_dims) return false;  // the parser reports this
    if (tensor_.n_dims > limits_.dims) {
      log_.error(Scope::container, "gguf-n-dims",
                 fmt::format("n_dims is {}, at most {} are allowed ({} in image and video models)", tensor_.n_dims,
                             limits_.dims, gguf::image_limits.dims),
                 place_, tensor_.info_offset);
    }
    for (std::size_t i = 0; i < tensor_.ne.size(); ++i) {
      const u64 dim = tensor_.ne[i];
      if (static_cast<i64>(dim) < 0) {
        log_.error(Scope::container, "gguf-dim-negative",
                   fmt::format("ne{} is {} (0x{:x}), negative as a signed number", i, static_cast<i64>(dim), dim),
                   place_, tensor_.info_offset);
        return false;
      }
    }
    if (std::find(tensor_.ne.begin(), tensor_.ne.end(), u64{0}) != tensor_.ne.end()) {
      log_.warning(Scope::container, "gguf-dim-zero",
                   fmt::format("the shape is {}: the tensor is empty{}", shape_text(tensor_.ne),
                               limits_.dims > gguf::ggml_limits.dims ? ", and llama-quantize aborts" : ""),
                   place_, tensor_.info_offset);
    }
    return true;
  }

  void unknown_type() {
    const u32 id = tensor_.type_id;
    const bool removed = id == 4 || id == 5 || (id >= 31 && id <= 33) || (id >= 36 && id <= 38);
    const std::string known_as = gguf::candidates_text(id);
    if (removed) {
      const std::string hint =
          known_as.empty() ? "" : fmt::format("; the offsets do not fit the sizes of {}", known_as);
      return log_.error(Scope::container, "gguf-tensor-type", fmt::format("type {} was removed from ggml{}", id, hint),
                        place_, tensor_.info_offset);
    }
    if (!known_as.empty()) {
      return log_.error(Scope::container, "gguf-tensor-type",
                        fmt::format("type {} is unknown to ggml, and the sizes of {} do not fit the offsets and "
                                    "the end of this file",
                                    id, known_as),
                        place_, tensor_.info_offset);
    }
    log_.error(Scope::container, "gguf-tensor-type",
               fmt::format("type {} is unknown{}: the tensor's size cannot be determined", id,
                           id >= 97 && id < 1024 ? " (ids from 97 on belong to a fork of ggml)" : ""),
               place_, tensor_.info_offset);
  }

  const gguf::TensorInfo& tensor_;
  const gguf::Limits limits_;
  const Place place_;
  FindingLog& log_;
};

}  // namespace

namespace {

// Names the types of forks, one finding for each.
void check_foreign_types(const gguf::Document& document, FindingLog& log) {
  for (const auto& [type, count, first] : gguf::foreign_types_of(document)) {
    log.warning(Scope::container, "gguf-fork-type",
                fmt::format("type {} is {}, {:.4g} bits per weight, in {}; sizes and offsets agree with it. llama.cpp "
                            "cannot read the file: {}",
                            type.id, type.text, type.bits_per_weight(), counted(count, "tensor"), type.advice()),
                at_tensor(first->name), first->info_offset);
  }
}

}  // namespace

void check_tensor_infos(const gguf::Document& document, gguf::Limits limits, FindingLog& log) {
  for (const gguf::TensorInfo& tensor : document.tensors) GgufTensorRules(tensor, limits, log).check();
  check_foreign_types(document, log);
}

// Checks tensor offsets: llama.cpp only loads tensors that are contiguous, padded and in the order of their infos.

namespace {

using gguf::TensorInfo;

class GgufLayout {
 public:
  GgufLayout(const gguf::Document& document, FindingLog& log)
      : document_(document), tensors_(document.tensors), log_(log) {
    const u64 file_size = document.file_size.value_or(std::numeric_limits<u64>::max());
    data_size_ = file_size > document.data_offset ? file_size - document.data_offset : 0;
  }

  void check() {
    if (tensors_.empty()) return;
    if (!check_end()) check_data_start();
    if (is_contiguous()) return;
    const u64 errors_before = log_.errors();
    check_each_offset();
    check_gaps_and_overlaps();
    if (log_.errors() == errors_before && wrong_offset_ != nullptr) {
      log_.error(Scope::container, "gguf-tensor-offset",
                 fmt::format("the offset is {}, but the preceding tensors end at {}", wrong_offset_->offset, expected_),
                 at_tensor(wrong_offset_->name), wrong_offset_->info_offset);
    }
  }

 private:
  // Checks the common case without sorting. Otherwise notes the first tensor that does not start where the previous
  // ones end.
  bool is_contiguous() {
    expected_ = 0;
    for (const TensorInfo& tensor : tensors_) {
      const std::optional<u64> bytes = tensor.bytes();
      if (!bytes) return false;
      if (tensor.offset != expected_) {
        wrong_offset_ = &tensor;
        return false;
      }
      const std::optional<u64> end = checked_add(expected_, *bytes);
      const std::optional<u64> padded = end ? checked_round_up(*end, document_.alignment) : std::nullopt;
      if (!padded) return false;  // beyond the end of any file; check_end() reports it
      expected_ = *padded;
    }
    return true;
  }

  // Applies if no tensor has bytes; otherwise check_end() has reported the truncation.
  void check_data_start() {
    if (!document_.file_size || *document_.file_size >= document_.data_offset) return;
    log_.add({.code = "gguf-data-start",
              .message = incomplete_text(*document_.file_size, document_.data_offset),
              .where = "data",
              .offset = *document_.file_size,
              .leads = true});
  }

  // Reports a truncated file with one finding, however many tensors are affected. Returns true if it is truncated.
  bool check_end() {
    const TensorInfo* first = nullptr;
    u64 cut = 0;
    std::optional<u64> needed = 0;
    for (const TensorInfo& tensor : tensors_) {
      const u64 bytes = tensor.bytes().value_or(0);
      if (fits(tensor.offset, bytes, data_size_)) continue;
      ++cut;
      if (first == nullptr) first = &tensor;
      const std::optional<u64> end = checked_add(tensor.offset, bytes);
      const std::optional<u64> absolute = end ? checked_add(*end, document_.data_offset) : std::nullopt;
      needed = needed && absolute ? std::optional<u64>(std::max(*needed, *absolute)) : std::nullopt;
    }
    if (first == nullptr) return false;
    const u64 have = document_.file_size.value_or(0);
    std::string message =
        needed ? fmt::format("{}; {}", incomplete_text(have, *needed), cut_tensors_text(cut, tensors_.size()))
               : fmt::format("damaged: the file has {}, but the tensor's data at offset {} would end beyond 2^64",
                             counted(have, "byte"), first->offset);
    log_.add({.code = "gguf-data-truncated",
              .message = std::move(message),
              .where = at_tensor(first->name),
              .offset = first->info_offset,
              .leads = true});
    return true;
  }

  bool begins_inside(const TensorInfo& tensor) const { return tensor.offset < data_size_; }

  void check_each_offset() {
    const TensorInfo* before = nullptr;
    for (const TensorInfo& tensor : tensors_) {
      if (tensor.offset % document_.alignment != 0) {
        log_.error(Scope::container, "gguf-tensor-unaligned",
                   fmt::format("the offset is {}, which is not a multiple of the alignment {}", tensor.offset,
                               document_.alignment),
                   at_tensor(tensor.name), tensor.info_offset);
      }
      if (tensor.bytes() == u64{0}) continue;
      if (before != nullptr && tensor.offset < before->offset) {
        log_.error(
            Scope::container, "gguf-tensor-order",
            fmt::format("the offset is {}, less than that of {} before it ({}): llama.cpp requires the order of the "
                        "tensor infos",
                        tensor.offset, at_tensor(before->name).text(), before->offset),
            at_tensor(tensor.name), tensor.info_offset);
      }
      before = &tensor;
    }
  }

  void check_gaps_and_overlaps() {
    std::vector<ByteSpan> exact;
    std::vector<ByteSpan> padded;
    u64 end_of_all = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorInfo& tensor = tensors_[i];
      if (!begins_inside(tensor)) continue;
      // The size is unknown; assume at least the byte at its offset.
      const u64 bytes = tensor.bytes().value_or(1);
      const u64 end = checked_add(tensor.offset, bytes).value_or(data_size_);
      exact.push_back({tensor.offset, end, i});
      padded.push_back({tensor.offset, checked_round_up(end, document_.alignment).value_or(end), i});
      if (bytes != 0) end_of_all = std::max(end_of_all, end);
    }
    for (const ByteOverlap& overlap : map_bytes(std::move(exact), 0, end_of_all).overlaps) {
      log_.error(Scope::container, "gguf-tensor-overlap",
                 fmt::format("shares {} with {}", counted(overlap.end - overlap.begin, "byte"),
                             at_tensor(tensors_[overlap.first].name).text()),
                 at_tensor(tensors_[overlap.second].name), tensors_[overlap.second].info_offset);
    }
    for (const ByteGap& gap : map_bytes(std::move(padded), 0, end_of_all).gaps) {
      if (gap.before != ByteGap::no_span && !tensors_[gap.before].bytes()) continue;
      if (gap.after == ByteGap::no_span) continue;
      log_.error(Scope::container, "gguf-tensor-gap",
                 fmt::format("{} before the tensor, from byte {} on, {} not used by any tensor",
                             counted(gap.end - gap.begin, "byte"), gap.begin + document_.data_offset,
                             verb(gap.end - gap.begin, "is", "are")),
                 at_tensor(tensors_[gap.after].name), tensors_[gap.after].info_offset);
    }
  }

  const gguf::Document& document_;
  const std::vector<TensorInfo>& tensors_;
  FindingLog& log_;
  u64 data_size_ = 0;  // bytes after the start of the data
  u64 expected_ = 0;   // end of the tensors read so far
  const TensorInfo* wrong_offset_ = nullptr;
};

}  // namespace

void check_layout(const gguf::Document& document, FindingLog& log) {
  GgufLayout(document, log).check();
}

// Checks bytes that belong to no tensor: the padding, and data after the last tensor.

namespace {

constexpr std::size_t window = 64 * 1024;

// Returns the offset of the first non-zero byte in [begin, end), or nullopt. The range must lie within the file.
Result<std::optional<u64>> first_non_zero(const ByteSource& source, u64 begin, u64 end,
                                          std::vector<std::byte>& buffer) {
  while (begin < end) {
    const std::size_t size = static_cast<std::size_t>(std::min<u64>(window, end - begin));
    if (buffer.size() < size) buffer.resize(size);
    MU_TRY(source.read_exact(begin, MutableBytes(buffer.data(), size)));
    const auto found = std::find_if(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size),
                                    [](std::byte byte) { return byte != std::byte{0}; });
    const u64 at = static_cast<u64>(found - buffer.begin());
    if (at < size) return std::optional<u64>(begin + at);
    begin += size;
  }
  return std::optional<u64>();
}

// Returns the absolute end of the last tensor's data, or the start of the data if no tensor has any. Returns nullopt if
// a tensor has an unknown size or exceeds the file, because the end is unknown then.
std::optional<u64> end_of_data(const gguf::Document& document) {
  u64 end = document.data_offset;
  const u64 file_size = document.file_size.value_or(0);
  for (const gguf::TensorInfo& tensor : document.tensors) {
    const std::optional<u64> bytes = tensor.bytes();
    const std::optional<u64> begin = checked_add(document.data_offset, tensor.offset);
    if (!bytes || !begin || !fits(*begin, *bytes, file_size)) return std::nullopt;
    if (*bytes != 0) end = std::max(end, *begin + *bytes);
  }
  return end;
}

}  // namespace

void check_padding(const ByteSource& source, const gguf::Document& document, FindingLog& log) {
  std::vector<std::byte> buffer;
  const u64 file_size = document.file_size.value_or(0);
  const auto check = [&](u64 begin, u64 end, const std::string& where) {
    const auto found = first_non_zero(source, begin, end, buffer);
    if (!found) {
      log.add(without_path(found.error()));
    } else if (*found) {
      log.warning(Scope::data, "gguf-padding",
                  fmt::format("the padding after it, {} from byte {} on, is not all zeros",
                              counted(end - begin, "byte"), begin),
                  where, **found);
    }
  };
  check(document.header_end, std::min(document.data_offset, file_size), "header");

  // After a tensor, the bytes up to the next multiple of the alignment are padding. Anything beyond is a gap, which the
  // layout rules report.
  std::vector<ByteSpan> spans;
  spans.reserve(document.tensors.size());
  for (std::size_t i = 0; i < document.tensors.size(); ++i) {
    const gguf::TensorInfo& tensor = document.tensors[i];
    const std::optional<u64> begin = checked_add(document.data_offset, tensor.offset);
    // The size is unknown; assume at least the byte at its offset.
    const u64 bytes = tensor.bytes().value_or(1);
    if (begin && fits(*begin, bytes, file_size)) spans.push_back({*begin, *begin + bytes, i});
  }
  for (const ByteGap& gap : map_bytes(std::move(spans), std::min(document.data_offset, file_size), file_size).gaps) {
    if (gap.before == ByteGap::no_span) continue;
    const gguf::TensorInfo& tensor = document.tensors[gap.before];
    if (!tensor.bytes()) continue;
    const u64 offset = gap.begin - document.data_offset;
    const u64 padded = checked_round_up(offset, document.alignment).value_or(offset);
    check(gap.begin, std::min(gap.end, gap.begin + (padded - offset)), at_tensor(tensor.name));
  }
}

void check_tail(const ByteSource& source, const gguf::Document& document, FindingLog& log) {
  const std::optional<u64> end = end_of_data(document);
  if (!document.file_size || !end) return;
  const u64 file_size = *document.file_size;
  const u64 data_bytes = *end - document.data_offset;
  const u64 padded = document.data_offset + checked_round_up(data_bytes, document.alignment).value_or(data_bytes);
  if (file_size < padded && file_size >= document.data_offset && !document.tensors.empty()) {
    return log.warning(Scope::container, "gguf-last-padding",
                       fmt::format("the last tensor is not padded: the file is {} short of a multiple of {}",
                                   counted(padded - file_size, "byte"), document.alignment),
                       "data", file_size);
  }
  if (file_size <= padded) return;
  std::string what;
  for (const u64 at : {padded, *end}) {
    char head[4] = {};
    const auto got = source.read_some(at, std::as_writable_bytes(std::span(head)));
    if (got && *got == sizeof head && std::string_view(head, sizeof head) == "GGUF") {
      what = fmt::format(": a second GGUF file starts at byte {}", at);
      break;
    }
  }
  log.warning(Scope::container, "gguf-trailing-bytes",
              fmt::format("{} after the last tensor{}", counted(file_size - padded, "byte"), what), "end of the file",
              padded);
}

}  // namespace modelutils::gguf_rules
