#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "formats/gguf/document.h"
#include "io/random_access_file.h"
#include "json/reader.h"
#include "model/download_record.h"
#include "model/listing/chat_source.h"
#include "store/link_plan.h"

namespace modelutils {

namespace {

constexpr u64 max_text_bytes = u64{4} << 20;

// A key of a GGUF and the parameter that it is in a Modelfile.
struct SamplingKey {
  std::string_view key, parameter;
};
constexpr SamplingKey sampling_keys[] = {
    {"general.sampling.temp", "temperature"},
    {"general.sampling.top_k", "top_k"},
    {"general.sampling.top_p", "top_p"},
    {"general.sampling.min_p", "min_p"},
    {"general.sampling.penalty_repeat", "repeat_penalty"},
    {"general.sampling.penalty_last_n", "repeat_last_n"},
};

// Returns the text in quotes, or nullopt if a Modelfile cannot express it.
std::optional<std::string> quoted(std::string_view text, bool is_long) {
  constexpr std::string_view three = "\"\"\"";
  const bool needs_three = is_long || text.find_first_of("\"\n\r") != text.npos;
  if (!needs_three) return fmt::format("\"{}\"", text);
  if (text.find(three) != text.npos || text.ends_with('"')) return std::nullopt;
  return fmt::format("{}{}{}", three, text, three);
}

void add_line(std::string& out, std::string_view command, std::string_view text, bool is_long) {
  if (text.find('\0') != text.npos) return;
  const auto value = quoted(text, is_long);
  out += value ? fmt::format("{} {}\n", command, *value)
               : fmt::format("# {} is left out: its text contains three quotation marks\n", command);
}

Result<std::string> text_of(const std::string& path) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  if (file->file_size() > max_text_bytes) {
    return input_error("cache-manifest", "is a text of more than " + byte_text(max_text_bytes), {}, {}, path);
  }
  std::string text(static_cast<std::size_t>(file->file_size()), '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  return text;
}

// True if a parameter's name can be written to a Modelfile. Others are left out, because they could break its syntax.
bool is_parameter_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

void add_parameter(std::string& out, std::string_view name, json::Element value) {
  std::string_view text;
  if (value.get(text)) return add_line(out, fmt::format("PARAMETER {}", name), text, false);
  json::Array array;
  if (value.get(array)) {
    for (const json::Element each : array) {
      if (each.get(text)) add_line(out, fmt::format("PARAMETER {}", name), text, false);
    }
  } else if (!value.is_object() && !value.is_null()) {
    out += fmt::format("PARAMETER {} {}\n", name, value.text());
  }
}

Status add_manifest_lines(std::string& out, const std::string& path) {
  MU_ASSIGN(const OllamaManifest manifest, read_ollama_manifest(path));
  for (const OllamaLayer& layer : manifest.layers) {
    const std::string blob = manifest.blob(layer);
    if (layer.kind == "params") {
      MU_ASSIGN(const auto parameters, json::load(blob, max_text_bytes));
      json::Object object;
      if (!parameters->root.get(object)) continue;
      for (const json::Member& member : object) {
        if (is_parameter_name(member.key)) add_parameter(out, member.key, member.value);
      }
    } else if (layer.kind == "template" || layer.kind == "system") {
      MU_ASSIGN(const std::string text, text_of(blob));
      add_line(out, layer.kind == "template" ? "TEMPLATE" : "SYSTEM", text, true);
    }
  }
  return {};
}

void add_gguf_lines(std::string& out, const gguf::SplitSet& set) {
  for (const NamedToken& token : stop_tokens(set)) {
    if (!token.text.empty()) add_line(out, "PARAMETER stop", token.text, false);
  }
  const gguf::Index index(set.files.front().document);
  for (const SamplingKey& row : sampling_keys) {
    if (const auto number = index.float_value(row.key)) {
      out += fmt::format("PARAMETER {} {}\n", row.parameter, static_cast<float>(*number));
    } else if (const auto count = index.unsigned_value(row.key)) {
      out += fmt::format("PARAMETER {} {}\n", row.parameter, *count);
    }
  }
}

}  // namespace

Result<std::string> modelfile_of(const LinkSource& source, const std::vector<LinkFile>& blobs) {
  std::string out;
  for (const LinkFile& file : blobs) {
    if (file.role == LinkRole::draft) continue;
    out += fmt::format("{} {}\n", file.role == LinkRole::adapter ? "ADAPTER" : "FROM", file.name);
  }
  if (source.is_manifest) {
    MU_TRY(add_manifest_lines(out, source.path));
  } else {
    MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(source.files.front().from));
    add_gguf_lines(out, set);
  }
  return out;
}

}  // namespace modelutils
