#include "report/st_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include "base/checked_math.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "report/member_names.h"
#include "report/numbers.h"

namespace modelutils {

namespace {

using safetensors::Tensor;
using safetensors::TensorRef;

// A file may have a hundred thousand tensors: their entries are put together here, everything else by json::Writer.
void append_array(std::string& out, std::span<const u64> numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i != 0) out += ',';
    append_number(out, numbers[i]);
  }
  out += ']';
}

void append_string(std::string& out, std::string_view text) {
  if (is_utf8(text)) {
    out += '"';
    append_json_escaped(out, text);
    out += '"';
    return;
  }
  out += R"({"base64":")";
  out += base64(text);
  out += R"("})";
}

// As a member's name, which cannot be an object.
void append_name(std::string& out, std::string_view text) {
  if (is_utf8(text)) {
    out += '"';
    append_json_escaped(out, text);
    out += '"';
    return;
  }
  json::Writer writer;
  writer.begin_object();
  writer.key(text);
  writer.null();
  writer.end_object();
  const std::string_view object = writer.text();  // {"…":null}
  out += object.substr(1, object.size() - 7);
}

void append_csv_field(std::string& out, std::string_view text) {
  // Names of letters, digits, dots and the like, nearly all there are, need neither escapes nor quotes.
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
           c == '-';
  };
  if (std::ranges::all_of(text, is_plain)) {
    out += text;
  } else {
    out += csv_field(text);
  }
}

void append_files(std::string& out, const SafetensorsModel& model) {
  out += R"(,"files":[)";
  bool first = true;
  for (const safetensors::ShardFile& file : model.set.files) {
    if (!first) out += ',';
    first = false;
    out += R"({"name":)";
    append_string(out, file.base_name);
    out += R"(,"header_bytes":)";
    append_number(out, file.document.header_bytes);
    out += R"(,"file_size":)";
    if (file.document.file_size) {
      append_number(out, *file.document.file_size);
    } else {
      out += "null";
    }
    out += '}';
  }
  out += ']';
}

void append_metadata(std::string& out, const SafetensorsModel& model) {
  out += R"(,"metadata":{)";
  bool first = true;
  for (const safetensors::MetadataEntry& entry : model.set.metadata()) {
    if (!first) out += ',';
    first = false;
    append_name(out, entry.key);
    out += ':';
    append_string(out, entry.value);
  }
  out += '}';
}

void write_tensors(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  std::vector<std::string> files;  // each file's name as a JSON value
  for (const safetensors::ShardFile& file : model.set.files) {
    std::string name;
    append_string(name, file.base_name);
    files.push_back(std::move(name));
  }
  MemberNames names;
  const bool may_repeat = !model.set.repeated.empty();
  std::string text = R"(,"tensors":{)";
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const TensorRef ref = model.set.listed(selected[i]);
    const Tensor& tensor = model.set.tensor(ref);
    if (i != 0) text += ',';
    bool altered = false;
    append_name(text, may_repeat ? names.claim(tensor.name, altered) : tensor.name);
    text += ":{";
    if (altered) {
      text += R"("name":)";
      append_string(text, tensor.name);
      text += ',';
    }
    text += R"("dtype":)";
    append_string(text, tensor.dtype);
    text += R"(,"shape":)";
    append_array(text, tensor.shape);
    text += R"(,"data_offsets":)";
    append_array(text, std::array{tensor.begin, tensor.end});
    text += R"(,"file":)";
    text += files[ref.file];
    text += R"(,"bytes":)";
    append_number(text, tensor.bytes());
    text += '}';
    if (text.size() > 32 * 1024) {
      out << text;
      text.clear();
    }
  }
  out << text << "}";
}

void write_modules(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  std::vector<bool> shown(model.set.listed_count());
  for (const u32 tensor : selected) shown[tensor] = true;
  std::string text = R"(,"modules":{)";
  bool first = true;
  for (const mlx::Module& module : model.modules.list) {
    if (!shown[module.weight]) continue;
    if (!first) text += ',';
    first = false;
    append_name(text, module.path);
    text += module.quantized ? R"(:{"quantized":true)" : R"(:{"quantized":false)";
    if (module.params) {
      text += fmt::format(R"(,"mode":"{}","bits":{},"group_size":{})", mlx::mode_name(module.params->mode),
                          module.params->bits, module.params->group_size);
    } else {
      text += R"(,"mode":null,"bits":null,"group_size":null)";
    }
    text += R"(,"shape":)";
    append_array(text, module.shape);
    text += '}';
    if (text.size() > 32 * 1024) {
      out << text;
      text.clear();
    }
  }
  out << text << "}";
}

template <typename AppendRow>
void write_rows(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, std::string text,
                AppendRow&& append_row) {
  const std::vector<u64> parameters = parameters_of_tensors(model);
  for (const u32 place : selected) {
    const TensorRef ref = model.set.listed(place);
    const Tensor& tensor = model.set.tensor(ref);
    append_row(text, place, ref, tensor, place < parameters.size() ? parameters[place] : tensor.elements().value_or(0));
    if (text.size() > 32 * 1024) {
      out << text;
      text.clear();
    }
  }
  out << text;
}

const std::string& told_file(const safetensors::ShardFile& file, StFileColumn column) {
  return column == StFileColumn::path ? file.path : file.base_name;
}

u64 absolute_offset(const SafetensorsModel& model, TensorRef ref) {
  return checked_add(model.set.file(ref).document.data_offset, model.set.tensor(ref).begin).value_or(~u64{0});
}

}  // namespace

void write_st_json(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, bool modules) {
  std::string text = R"({"schema":"st-dump/1","path":)";
  append_string(text, model.set.path);
  append_metadata(text, model);
  append_files(text, model);
  out << text;
  write_tensors(out, model, selected);
  out << fmt::format(R"(,"parameters":{})", parameter_count(model));
  if (modules) write_modules(out, model, selected);
  out << "}\n";
}

void write_st_csv(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, bool heading,
                  StFileColumn file_column) {
  std::string first;
  if (heading) first = "index,name,type,shape,parameters,bytes,offset,data_offset";
  if (heading) first += file_column != StFileColumn::none ? ",file\n" : "\n";
  write_rows(out, model, selected, std::move(first),
             [&](std::string& text, u32 place, TensorRef ref, const Tensor& tensor, u64 parameters) {
               append_number(text, place);
               text += ',';
               append_csv_field(text, tensor.name);
               text += ',';
               append_csv_field(text, tensor.dtype);
               char separator = ',';
               for (const u64 dim : tensor.shape) {
                 text += separator;
                 append_number(text, dim);
                 separator = 'x';
               }
               if (tensor.shape.empty()) text += ',';
               for (const u64 number : {parameters, tensor.bytes(), tensor.begin, absolute_offset(model, ref)}) {
                 text += ',';
                 append_number(text, number);
               }
               if (file_column != StFileColumn::none) {
                 text += ',';
                 append_csv_field(text, told_file(model.set.file(ref), file_column));
               }
               text += '\n';
             });
}

void write_st_jsonl(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected,
                    StFileColumn file_column) {
  write_rows(out, model, selected, "",
             [&](std::string& text, u32 place, TensorRef ref, const Tensor& tensor, u64 parameters) {
               text += R"({"index":)";
               append_number(text, place);
               text += R"(,"name":)";
               append_string(text, tensor.name);
               text += R"(,"type":)";
               append_string(text, tensor.dtype);
               text += R"(,"shape":)";
               append_array(text, tensor.shape);
               text += R"(,"parameters":)";
               append_number(text, parameters);
               text += R"(,"bytes":)";
               append_number(text, tensor.bytes());
               text += R"(,"offset":)";
               append_number(text, tensor.begin);
               text += R"(,"data_offset":)";
               append_number(text, absolute_offset(model, ref));
               text += R"(,"file":)";
               append_string(text, told_file(model.set.file(ref), file_column));
               text += "}\n";
             });
}

}  // namespace modelutils
