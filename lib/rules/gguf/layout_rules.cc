// Checks tensor offsets: llama.cpp only loads tensors that are contiguous, padded and in the order of their infos.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "model/byte_map.h"
#include "rules/gguf/rule_parts.h"
#include "rules/wording.h"

namespace modelutils::gguf_rules {

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
      // A tensor of unknown size has at least the byte at its offset.
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

}  // namespace modelutils::gguf_rules
