#include "gguf/array_scan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "base/counted.h"

namespace modelutils::gguf {

u64 min_element_bytes(ValueType type) {
  if (type == ValueType::string) return 8;
  if (type == ValueType::array) return array_head_bytes;
  return value_size(type);
}

namespace {

class Scanner {
 public:
  explicit Scanner(ByteReader& reader) : reader_(reader) {}

  ArrayScan run(ValueType element_type, u64 count) {
    if (element_type == ValueType::array) {
      result_.nested = true;
      pass_nested(count);
    } else {
      pass_flat(element_type, count);
    }
    return std::move(result_);
  }

 private:
  bool stop(std::string code, u64 offset, std::string message) {
    if (!reader_.source_error()) {
      result_.problem = Error{.code = std::move(code), .message = std::move(message), .offset = offset};
    }
    return false;
  }

  bool too_many(ValueType type, u64 count, u64 offset) {
    const std::optional<u64> left = reader_.remaining();
    const std::string array =
        fmt::format("an array of {} {} {}", count, value_type_name(type), verb(count, "value", "values"));
    return stop("gguf-length", offset,
                left ? fmt::format("{} does not fit in the remaining {}", array, counted(*left, "byte"))
                     : fmt::format("the data ends inside {}", array));
  }

  bool pass_flat(ValueType type, u64 count) {
    const u64 begin = reader_.offset();
    if (!reader_.may_hold(count, min_element_bytes(type))) return too_many(type, count, begin);
    switch (type) {
      case ValueType::string: return pass_strings(count);
      case ValueType::boolean: return pass_bools(count, begin);
      default: break;
    }
    // The size of a pipe is unknown. No pipe can hold a product that overflows.
    const std::optional<u64> bytes = checked_mul(count, value_size(type));
    if (!bytes) return too_many(type, count, begin);
    reader_.skip(*bytes);
    return reader_.ok() || too_many(type, count, begin);
  }

  bool pass_strings(u64 count) {
    const u64 done = reader_.skip_strings(count);
    return reader_.ok() || stop("gguf-length", reader_.offset(),
                                fmt::format("string {} of {} runs past the end of the file", done, count));
  }

  bool pass_bools(u64 count, u64 begin) {
    for (u64 left = count; left > 0;) {
      const u64 offset = reader_.offset();
      const std::string_view bytes = reader_.read_available(left);
      if (bytes.empty()) return too_many(ValueType::boolean, count, begin);
      if (!result_.bad_bool) {
        const auto bad = std::find_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & ~1) != 0; });
        if (bad != bytes.end()) result_.bad_bool = offset + static_cast<u64>(bad - bytes.begin());
      }
      left -= bytes.size();
    }
    return true;
  }

  // Keeps the number of arrays still to be read at each depth on a stack, instead of recursing.
  bool pass_nested(u64 count) {
    std::array<u64, max_array_depth - 1> to_come{};  // the innermost arrays contain no arrays
    std::size_t depth = 1;
    if (!reader_.may_hold(count, array_head_bytes)) return too_many(ValueType::array, count, reader_.offset());
    to_come[0] = count;
    while (depth > 0) {
      if (to_come[depth - 1] == 0) {
        --depth;
        continue;
      }
      --to_come[depth - 1];
      const u64 offset = reader_.offset();
      const u32 type_id = reader_.read<u32>();
      const u64 inner_count = reader_.read<u64>();
      if (!reader_.ok()) return stop("gguf-truncated", offset, "the data ends inside an array of arrays");
      const std::optional<ValueType> type = value_type_from_id(type_id);
      if (!type) {
        return stop("gguf-value-type", offset,
                    fmt::format("a nested array has element type {}, only 0 to 12 are defined", type_id));
      }
      if (*type != ValueType::array) {
        if (!pass_flat(*type, inner_count)) return false;
        continue;
      }
      if (depth == to_come.size()) {
        return stop("gguf-nesting-depth", offset, fmt::format("arrays are nested more than {} deep", max_array_depth));
      }
      if (!reader_.may_hold(inner_count, array_head_bytes)) return too_many(*type, inner_count, offset);
      to_come[depth++] = inner_count;
    }
    return true;
  }

  ByteReader& reader_;
  ArrayScan result_;
};

}  // namespace

ArrayScan scan_array(ByteReader& reader, ValueType element_type, u64 count) {
  return Scanner(reader).run(element_type, count);
}

}  // namespace modelutils::gguf
