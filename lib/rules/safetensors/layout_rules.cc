// Checks tensor offsets: every byte after the header must belong to exactly one tensor.
#include <fmt/core.h>

#include <algorithm>

#include "base/checked_math.h"
#include "model/byte_map.h"
#include "rules/safetensors/rule_parts.h"
#include "rules/wording.h"

namespace modelutils::safetensors_rules {

namespace {

using safetensors::Document;
using safetensors::Tensor;

constexpr u64 data_alignment = 8;

class SafetensorsLayout {
 public:
  SafetensorsLayout(const Document& document, FindingLog& log)
      : document_(document), tensors_(document.tensors), log_(log), data_size_(document.data_bytes()) {}

  void check() {
    if (!document_.complete) return;  // the header is truncated, so tensors may be unknown
    if (document_.data_offset % data_alignment != 0) {
      log_.note(
          Scope::container, "st-unaligned",
          [&] {
            return fmt::format("the data starts at byte {}, which is not a multiple of {}", document_.data_offset,
                               data_alignment);
          },
          "data", document_.data_offset);
    }
    check_end();
    if (is_contiguous()) return check_tail();
    check_empty_tensors();
    ByteMap map = map_bytes(spans(), 0, reached());
    for (const ByteOverlap& overlap : map.overlaps) report_overlap(overlap);
    if (has_unknown_place()) return;
    for (const ByteGap& gap : map.gaps) report_gap(gap);
    check_tail();
  }

 private:
  /// The usual case, checked without sorting: the header is in data order.
  bool is_contiguous() const {
    u64 end = 0;
    for (const Tensor& tensor : tensors_) {
      if (tensor.begin != end || tensor.end < end) return false;
      end = tensor.end;
    }
    return true;
  }

  /// True if some entries have no known position, in which case holes are expected.
  bool has_unknown_place() const {
    return first_container_error(document_.findings) != nullptr ||
           std::any_of(tensors_.begin(), tensors_.end(),
                       [](const Tensor& tensor) { return tensor.begin > tensor.end; });
  }

  /// Reports a truncated file with one finding, however many tensors are affected.
  void check_end() {
    if (!data_size_) return;
    const Tensor* first = nullptr;
    u64 cut = 0;
    u64 needed = 0;
    for (const Tensor& tensor : tensors_) {
      if (tensor.begin > tensor.end || tensor.end <= *data_size_) continue;
      if (first == nullptr) first = &tensor;
      needed = std::max(needed, tensor.end);
      ++cut;
    }
    if (first == nullptr) return;
    const u64 begin = document_.data_offset;
    log_.add({.code = "st-data-truncated",
              .message = fmt::format("{}; {}",
                                     incomplete_text(begin + *data_size_, checked_add(begin, needed).value_or(needed)),
                                     cut_tensors_text(cut, tensors_.size())),
              .where = at_tensor(first->name),
              .offset = first->entry_offset,
              .leads = true});
  }

  /// Returns the end of the last byte that is in the file and belongs to a tensor.
  u64 reached() const {
    u64 end = 0;
    for (const Tensor& tensor : tensors_) {
      if (tensor.begin < tensor.end) end = std::max(end, tensor.end);
    }
    return data_size_ ? std::min(end, *data_size_) : end;
  }

  std::vector<ByteSpan> spans() const {
    std::vector<ByteSpan> all;
    all.reserve(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].begin < tensors_[i].end) all.push_back({tensors_[i].begin, tensors_[i].end, i});
    }
    return all;
  }

  /// The safetensors library refuses an empty tensor inside another tensor.
  void check_empty_tensors() {
    std::vector<ByteSpan> sorted;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (tensor.begin != tensor.end) continue;
      if (sorted.empty()) {
        sorted = spans();
        if (sorted.empty()) return;
        std::sort(sorted.begin(), sorted.end(), [](const ByteSpan& a, const ByteSpan& b) { return a.begin < b.begin; });
      }
      const auto behind = std::partition_point(sorted.begin(), sorted.end(),
                                               [&](const ByteSpan& span) { return span.begin < tensor.begin; });
      if (behind == sorted.begin() || std::prev(behind)->end <= tensor.begin) continue;
      log_.error(
          Scope::container, "st-overlap",
          [&] {
            return fmt::format("is empty, but lies inside {}", at_tensor(tensors_[std::prev(behind)->id].name).text());
          },
          at_tensor(tensor.name), tensor.entry_offset);
    }
  }

  void report_overlap(const ByteOverlap& overlap) {
    const Tensor& tensor = tensors_[overlap.second];
    log_.error(
        Scope::container, "st-overlap",
        [&] {
          return fmt::format("shares {} with {}", counted(overlap.end - overlap.begin, "byte"),
                             at_tensor(tensors_[overlap.first].name).text());
        },
        at_tensor(tensor.name), tensor.entry_offset);
  }

  void report_gap(const ByteGap& gap) {
    log_.error(
        Scope::container, "st-hole",
        [&] {
          return fmt::format("{} before it {} not used by any tensor", counted(gap.end - gap.begin, "byte"),
                             verb(gap.end - gap.begin, "is", "are"));
        },
        gap.after == ByteGap::no_span ? std::string("data") : at_tensor(tensors_[gap.after].name).text(),
        document_.data_offset + gap.begin);
  }

  void check_tail() {
    const u64 end = reached();
    if (!data_size_ || *data_size_ <= end || has_unknown_place()) return;
    log_.error(
        Scope::container, "st-trailing-data",
        [&] {
          return fmt::format("{} after the last tensor {} not used by any tensor", counted(*data_size_ - end, "byte"),
                             verb(*data_size_ - end, "is", "are"));
        },
        "data", document_.data_offset + end);
  }

  const Document& document_;
  const std::vector<Tensor>& tensors_;
  FindingLog& log_;
  const std::optional<u64> data_size_;
};

}  // namespace

void check_layout(const Document& document, FindingLog& log) {
  SafetensorsLayout(document, log).check();
}

}  // namespace modelutils::safetensors_rules
