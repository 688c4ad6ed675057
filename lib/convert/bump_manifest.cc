#include "convert/bump_manifest.h"

#include <fmt/format.h>

#include <map>

#include "base/counted.h"
#include "base/escape.h"
#include "base/numbers.h"
#include "json/writer.h"

namespace modelutils {

namespace {

struct Total {
  u64 entries = 0;
  u64 bytes = 0;
};

std::map<std::string_view, Total> totals_by_dtype(const BumpMapping& mapping) {
  std::map<std::string_view, Total> totals;
  for (const BumpEntry& entry : mapping.entries) {
    Total& total = totals[bump::dtype_name(entry.entry.dtype)];
    ++total.entries;
    total.bytes += entry.entry.size;
  }
  return totals;
}

// The numbers of the header by its own names, and the two that it lacks.
void write_dimensions(json::Writer& out, const BumpMapping& mapping) {
  const bump::Dimensions& d = mapping.hyper.dimensions;
  const bump::Header header = bump::header_of(d);
  for (const bump::HeaderField& field : bump::header_fields()) out.member(field.name, header.*field.value);
  out.member("num_kv_heads", d.kv_heads);
  out.member("intermediate_size", d.intermediate);
}

void write_optional(json::Writer& out, std::string_view name, const std::optional<std::string>& text) {
  out.key(name);
  if (text) {
    out.string(*text);
  } else {
    out.null();
  }
}

void write_sources(json::Writer& out, const BumpEntry& entry) {
  write_optional(out, "source",
                 entry.sources.empty() ? std::nullopt : std::optional<std::string>(entry.sources.front()));
  if (entry.sources.size() < 2) return;
  out.key("sources");
  out.begin_array();
  for (const std::string& source : entry.sources) out.string(source);
  out.end_array();
}

void write_entry(json::Writer& out, const BumpEntry& entry, const std::string* sha256) {
  out.begin_object();
  out.member("name", entry.entry.name());
  out.member("dtype", bump::dtype_name(entry.entry.dtype));
  out.member("file_offset", entry.entry.offset);
  out.member("size", entry.entry.size);
  write_sources(out, entry);
  if (sha256 != nullptr) out.member("sha256", *sha256);
  out.end_object();
}

void append_remarks(std::string& text, const GgufToBumpReport& report) {
  for (const UnplacedTensor& item : report.mapping.unplaced) {
    if (!item.dropped) continue;
    text += fmt::format("dropped: {} ({}, {}: {})\n", escape(item.tensor.name), type_name(item.tensor.type),
                        byte_text(item.tensor.bytes), item.reason);
  }
  for (const std::string& note : report.notes) text += "note: " + escape(note) + "\n";
}

}  // namespace

std::string bump_manifest_text(const GgufToBumpReport& report, const std::vector<std::string>& entry_sha256) {
  json::Writer out(json::Writer::Style::pretty);
  out.begin_object();
  out.member("schema", "bump-manifest/1");
  out.member("dtype_codes", bump::numbering_name(report.numbering));
  out.member("file_size", report.mapping.file_size);
  out.member("payload_sha256", hex(report.sha256));
  out.key("dimensions");
  out.begin_object();
  write_dimensions(out, report.mapping);
  out.end_object();
  out.key("entries");
  out.begin_array();
  for (std::size_t i = 0; i < report.mapping.entries.size(); ++i) {
    write_entry(out, report.mapping.entries[i], &entry_sha256[i]);
  }
  out.end_array();
  out.end_object();
  return out.text() + "\n";
}

std::string gguf_to_bump_json(const GgufToBumpReport& report) {
  const BumpMapping& mapping = report.mapping;
  json::Writer out;
  out.begin_object();
  out.member("schema", "gguf2bump/1");
  out.key("inputs");
  out.begin_array();
  for (const std::string& input : report.inputs) out.string(input);
  out.end_array();
  write_optional(out, "output", report.output);
  write_optional(out, "config", report.config);
  write_optional(out, "manifest", report.manifest);
  out.member("dry_run", report.dry_run);
  out.member("architecture", mapping.hyper.architecture);
  out.member("dtype_codes", bump::numbering_name(report.numbering));
  if (!mapping.entries.empty()) {
    out.key("dimensions");
    out.begin_object();
    write_dimensions(out, mapping);
    out.end_object();
    out.key("dtypes");
    out.begin_object();
    for (const auto& [name, total] : totals_by_dtype(mapping)) {
      out.key(name);
      out.begin_object();
      out.member("entries", total.entries);
      out.member("bytes", total.bytes);
      out.end_object();
    }
    out.end_object();
    out.member("entries", static_cast<u64>(mapping.entries.size()));
    out.member("file_size", mapping.file_size);
  }
  if (!report.dry_run && report.refusals.empty()) {
    out.member("payload_sha256", hex(report.sha256));
    out.key("disk_bytes");
    if (report.disk_bytes) {
      out.number(*report.disk_bytes);
    } else {
      out.null();
    }
  }
  out.key("dropped");
  out.begin_array();
  for (const UnplacedTensor& item : mapping.unplaced) {
    if (!item.dropped) continue;
    out.begin_object();
    out.member("tensor", item.tensor.name);
    out.member("type", type_name(item.tensor.type));
    out.member("bytes", item.tensor.bytes);
    out.member("reason", item.reason);
    out.end_object();
  }
  out.end_array();
  out.key("refused");
  out.begin_array();
  for (const Error& error : report.refusals) {
    out.begin_object();
    out.member("code", error.code);
    out.member("where", error.where);
    out.member("message", error.message);
    out.end_object();
  }
  out.end_array();
  out.key("notes");
  out.begin_array();
  for (const std::string& note : report.notes) out.string(note);
  out.end_array();
  out.member("seconds", report.seconds);
  out.end_object();
  return out.text() + "\n";
}

std::string gguf_to_bump_plan_text(const GgufToBumpReport& report) {
  const BumpMapping& mapping = report.mapping;
  const bump::Dimensions& d = mapping.hyper.dimensions;
  if (mapping.hyper.architecture.empty()) return {};  // not even the hyper-parameters could be read
  std::string text = fmt::format(
      "architecture  {}\n"
      "layers        {}\n"
      "embedding     {} × {}\n"
      "heads         {} × {} ({} for keys and values)\n"
      "intermediate  {}\n"
      "context       {}\n",
      escape(mapping.hyper.architecture), d.layers, d.vocab, d.embed, d.heads, d.head_dim, d.kv_heads, d.intermediate,
      d.context);
  if (d.aligned_head != d.head_dim) text += fmt::format("heads padded  to {}\n", d.aligned_head);
  text += fmt::format("dtype codes   {}\n", bump::numbering_name(report.numbering));
  if (!mapping.entries.empty()) {
    u64 zeros = 0;
    for (const BumpEntry& entry : mapping.entries) zeros += entry.sources.empty() ? entry.entry.size : 0;
    for (const auto& [name, total] : totals_by_dtype(mapping)) {
      text += fmt::format("{:<12}  {}, {}\n", name, counted(total.entries, "entry", "entries"), byte_text(total.bytes));
    }
    text += fmt::format("file          {} bytes ({}), {} of them zeros with no source\n", mapping.file_size,
                        byte_text(mapping.file_size), byte_text(zeros));
  }
  if (report.output) text += fmt::format("output        {}\n", escape(*report.output));
  if (report.config) text += fmt::format("config        {}\n", escape(*report.config));
  if (report.manifest) text += fmt::format("manifest      {}\n", escape(*report.manifest));
  append_remarks(text, report);
  return text;
}

std::string gguf_to_bump_summary(const GgufToBumpReport& report) {
  std::string text;
  append_remarks(text, report);
  const u64 size = report.mapping.file_size;
  text += fmt::format("{}: {}, {}", report.output == "-" ? "standard output" : escape(report.output.value_or("")),
                      counted(report.mapping.entries.size(), "entry", "entries"), byte_text(size));
  if (report.disk_bytes && *report.disk_bytes < size)
    text += fmt::format(" ({} on disk)", byte_text(*report.disk_bytes));
  text += fmt::format(" in {:.1f} s", report.seconds);
  if (report.seconds >= 0.1)
    text += fmt::format(", {}/s", byte_text(static_cast<u64>(static_cast<double>(size) / report.seconds)));
  text += fmt::format("\npayload sha256 {}\n", hex(report.sha256));
  return text;
}

}  // namespace modelutils
