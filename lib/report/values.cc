#include "report/values.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/escape.h"
#include "json/writer.h"
#include "model/statistics.h"
#include "report/numbers.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

constexpr u64 piece_elements = 16 * 1024;

// How the elements of a type are printed.
enum class Form : u8 { decoded, unsigned_word, signed_word, f64 };

Form form_of(const ValueSource& tensor, bool raw) {
  if (raw) return Form::unsigned_word;
  if (tensor.packed || !tensor.stored_type) return Form::decoded;
  switch (*tensor.stored_type) {
    case TensorType::U8:
    case TensorType::U16:
    case TensorType::U32:
    case TensorType::U64:
    case TensorType::BOOL: return Form::unsigned_word;
    case TensorType::I8:
    case TensorType::I16:
    case TensorType::I32:
    case TensorType::I64: return Form::signed_word;
    case TensorType::F64: return Form::f64;
    default: return Form::decoded;
  }
}

// Bytes of a stored word: of the element, or 1 for blocks of several elements and unknown types.
u64 word_bytes(const ValueSource& tensor) {
  if (!tensor.stored_type) return 1;
  const TypeInfo& type = type_info(*tensor.stored_type);
  return type.block_elements == 1 && type.block_bytes <= 8 ? type.block_bytes : 1;
}

u64 unsigned_at(const std::byte* at, u64 width) {
  switch (width) {
    case 1: return load<u8>(at);
    case 2: return load<u16>(at);
    case 4: return load<u32>(at);
    default: return load<u64>(at);
  }
}

i64 signed_at(const std::byte* at, u64 width) {
  switch (width) {
    case 1: return load<i8>(at);
    case 2: return load<i16>(at);
    case 4: return load<i32>(at);
    default: return load<i64>(at);
  }
}

// Gives every value as JSON or text to `emit`, piece by piece.
class ValueReader {
 public:
  ValueReader(const ValueSource& tensor, bool raw)
      : tensor_(tensor), form_(form_of(tensor, raw)), width_(word_bytes(tensor)) {
    available_ = form_ == Form::decoded ? tensor.elements : tensor.bytes / width_;
  }

  u64 available() const { return available_; }

  template <typename Emit>
  Status read(u64 count, Emit&& emit) {
    for (u64 first = 0; first < count;) {
      const u64 now = std::min(piece_elements, count - first);
      if (form_ == Form::decoded) {
        values_.resize(now);
        MU_TRY(tensor_.read_values(first, values_));
        for (const float value : values_) {
          if (!emit(value)) return {};
        }
      } else {
        bytes_.resize(now * width_);
        MU_TRY(tensor_.read_bytes(first * width_, bytes_));
        for (u64 i = 0; i < now; ++i) {
          const std::byte* at = bytes_.data() + i * width_;
          const bool more = form_ == Form::signed_word ? emit(signed_at(at, width_))
                            : form_ == Form::f64       ? emit(load<double>(at))
                                                       : emit(unsigned_at(at, width_));
          if (!more) return {};
        }
      }
      first += now;
    }
    return {};
  }

 private:
  const ValueSource& tensor_;
  Form form_;
  u64 width_;
  u64 available_ = 0;
  std::vector<float> values_;
  std::vector<std::byte> bytes_;
};

void write_shape(json::Writer& writer, const std::vector<u64>& shape) {
  writer.key("shape");
  writer.begin_array();
  for (const u64 dim : shape) writer.number(dim);
  writer.end_array();
}

std::string text_of(float value) {
  return float_text(value);
}
std::string text_of(double value) {
  return float_text(value);
}
std::string text_of(u64 value) {
  return fmt::to_string(value);
}
std::string text_of(i64 value) {
  return fmt::to_string(value);
}

struct Row {
  const ValueSource* tensor = nullptr;
  Statistics statistics;
  std::string problem;  // instead of statistics
};

void write_json_row(json::Writer& writer, const Row& row, const std::string& path) {
  const auto number_or_null = [&](std::string_view name, std::optional<double> value) {
    writer.key(name);
    value ? writer.number(*value) : writer.null();
  };
  writer.begin_object();
  writer.member("schema", "stats/1");
  if (!path.empty()) writer.member("path", path);
  writer.member("name", row.tensor->name);
  writer.member("type", row.tensor->type);
  write_shape(writer, row.tensor->shape);
  writer.key("count");
  const std::optional<u64> count = checked_product(row.tensor->shape);
  count ? writer.number(*count) : writer.null();
  if (row.problem.empty()) {
    const Statistics& s = row.statistics;
    const auto if_any = [&](double value) { return s.finite() > 0 ? std::optional<double>(value) : std::nullopt; };
    number_or_null("min", if_any(s.min));
    number_or_null("max", if_any(s.max));
    number_or_null("mean", if_any(s.mean));
    number_or_null("std", if_any(s.deviation));
    writer.member("zeros", s.zeros);
    writer.member("nan", s.nans);
    writer.member("inf", s.infs);
  } else {
    writer.member("error", row.problem);
  }
  writer.end_object();
  writer.end_line();
}

void write_text_row(TextOutput& out, const Row& row) {
  const std::optional<u64> count = checked_product(row.tensor->shape);
  out << fmt::format("{:>12} ", count ? fmt::to_string(*count) : "?");
  const Statistics& s = row.statistics;
  if (!row.problem.empty()) {
    out << fmt::format("{:>68}", row.problem);
  } else if (s.finite() == 0) {
    out << fmt::format("{:>11} {:>11} {:>11} {:>11} {:>9} {:>5} {:>4}", "-", "-", "-", "-", s.zeros, s.nans, s.infs);
  } else {
    out << fmt::format("{:>11.5g} {:>11.5g} {:>11.5g} {:>11.5g} {:>9} {:>5} {:>4}", s.min, s.max, s.mean, s.deviation,
                       s.zeros, s.nans, s.infs);
  }
  out << "  " << escape(row.tensor->name) << "\n";
}

}  // namespace

Status write_values(TextOutput& out, const ValueSource& tensor, const ValuesOptions& options) {
  ValueReader reader(tensor, options.raw);
  const u64 count = std::min(reader.available(), options.count.value_or(reader.available()));
  if (!options.json) {
    return reader.read(count, [&](auto value) {
      out << text_of(value) << "\n";
      return !out.closed();
    });
  }
  json::Writer writer(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  writer.begin_object();
  writer.member("schema", "values/1");
  if (!options.path.empty()) writer.member("path", options.path);
  writer.member("name", tensor.name);
  const std::string_view stored_type = tensor.stored_type ? type_name(*tensor.stored_type) : "unknown";
  writer.member("type", options.raw ? stored_type : std::string_view(tensor.type));
  write_shape(writer, options.raw ? tensor.stored_shape : tensor.shape);
  writer.key("values");
  writer.begin_array();
  MU_TRY(reader.read(count, [&](auto value) {
    writer.number(value);
    return !out.closed();
  }));
  writer.end_array();
  writer.end_object();
  writer.end_line();
  writer.flush();
  return {};
}

Status write_statistics(TextOutput& out, std::span<const ValueSource> tensors, const StatisticsOptions& options) {
  std::vector<Row> rows(tensors.size());
  MU_TRY(parallel_for(tensors.size(), options.threads, [&](u64 item, unsigned) -> Status {
    rows[item].tensor = &tensors[item];
    rows[item].problem = tensors[item].problem;
    if (!rows[item].problem.empty()) return {};
    auto statistics = statistics_of(tensors[item].elements, tensors[item].read_values);
    if (statistics) {
      rows[item].statistics = *statistics;
    } else if (statistics.error().code == "tensor-no-decoder") {
      rows[item].problem = std::move(statistics.error().message);
    } else {
      return tl::make_unexpected(std::move(statistics.error()));
    }
    return {};
  }));
  if (!options.json) {
    if (!options.path.empty()) out << escape(options.path) << "\n";
    out << fmt::format("{:>12} {:>11} {:>11} {:>11} {:>11} {:>9} {:>5} {:>4}  {}\n", "count", "min", "max", "mean",
                       "std", "zeros", "NaN", "Inf", "name");
    for (const Row& row : rows) write_text_row(out, row);
    return {};
  }
  json::Writer writer(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  for (const Row& row : rows) write_json_row(writer, row, options.path);
  writer.flush();
  return {};
}

ValueSource value_source(const Catalog& catalog, const CatalogTensor& tensor) {
  ValueSource source;
  source.name = tensor.name;
  source.type = tensor.type ? type_name(*tensor.type) : "unknown";
  source.stored_type = tensor.type;
  source.shape = source.stored_shape = tensor.ne;
  source.elements = checked_product(tensor.ne).value_or(0);
  source.bytes = tensor.bytes;
  source.read_values = [&](u64 first, std::span<float> out) { return read_value_range(catalog, tensor, first, out); };
  source.read_bytes = [&](u64 offset, MutableBytes out) -> Status {
    if (catalog.big_endian) {
      return input_error("tensor-no-decoder", "values of a big-endian file cannot be decoded",
                         fmt::format("tensor '{}'", tensor.name));
    }
    return catalog.files[tensor.file].source->read_exact(tensor.offset + offset, out);
  };
  return source;
}

}  // namespace modelutils
