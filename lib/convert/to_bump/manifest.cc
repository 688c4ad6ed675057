#include "convert/to_bump/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/escape.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/atomic_output.h"
#include "io/output_place.h"
#include "json/writer.h"
#include "model/format.h"

namespace modelutils {

namespace {

// An entry of either version, for listing.
struct Listed {
  std::string_view dtype;
  u64 size;
  bool has_source;
};

std::vector<Listed> listed(const GgufToBumpReport& report) {
  std::vector<Listed> entries;
  for (const BumpEntry& entry : report.mapping.entries) {
    entries.push_back({bump::dtype_name(entry.entry.dtype), entry.entry.size, !entry.sources.empty()});
  }
  if (!report.bump5) return entries;
  for (const Bump5Entry& entry : report.bump5->entries) {
    const bool is_vocabulary = bump5::role_info(entry.entry.slot.role).content == bump5::Content::vocabulary;
    entries.push_back({entry.entry.word(), entry.entry.size, is_vocabulary || !entry.sources.empty()});
  }
  return entries;
}

struct Total {
  u64 entries = 0;
  u64 bytes = 0;
};

std::map<std::string_view, Total> totals_by_dtype(const std::vector<Listed>& entries) {
  std::map<std::string_view, Total> totals;
  for (const Listed& entry : entries) {
    Total& total = totals[entry.dtype];
    ++total.entries;
    total.bytes += entry.size;
  }
  return totals;
}

// Writes the header's numbers under their own names and, for BUMPWGT3, the two sizes that the header lacks.
void write_dimensions(json::Writer& out, const GgufToBumpReport& report) {
  if (report.bump5) {
    for (const auto& field : bump5::header_fields()) out.member(field.name, report.bump5->header.*field.value);
    return;
  }
  const bump::Dimensions& d = report.mapping.hyper.dimensions;
  const bump::Header header = bump::header_of(d);
  for (const bump::HeaderField& field : bump::header_fields()) out.member(field.name, header.*field.value);
  out.member("num_kv_heads", d.kv_heads);
  out.member("intermediate_size", d.intermediate);
}

// Writes the counts of tensors stored as another type (BUMPWGT5).
void write_substitutes(json::Writer& out, const Bump5Mapping& mapping) {
  const auto in_substitutes = out.array("substitutes");
  for (const auto& [types, count] : mapping.substitutes) {
    const auto in_object = out.object();
    out.member("from", type_name(types.first));
    out.member("to", type_name(types.second));
    out.member("tensors", count);
  }
}

void write_sources(json::Writer& out, const BumpEntry& entry) {
  out.member_or_null("source",
                     entry.sources.empty() ? std::nullopt : std::optional<std::string>(entry.sources.front()));
  if (entry.sources.size() < 2) return;
  out.values("sources", entry.sources);
}

void write_entry(json::Writer& out, const BumpEntry& entry, const std::string* sha256) {
  const auto in_object = out.object();
  out.member("name", entry.entry.name());
  out.member("dtype", bump::dtype_name(entry.entry.dtype));
  out.member("file_offset", entry.entry.offset);
  out.member("size", entry.entry.size);
  write_sources(out, entry);
  if (sha256 != nullptr) out.member("sha256", *sha256);
}

void append_remarks(std::string& text, const GgufToBumpReport& report) {
  for (const UnplacedTensor& item : report.plan().unplaced) {
    if (!item.dropped) continue;
    text += fmt::format("dropped: {} ({}, {}: {})\n", escape(item.tensor.name), type_name(item.tensor.type),
                        byte_text(item.tensor.bytes), item.reason);
  }
  for (const std::string& note : report.notes) text += "note: " + escape(note) + "\n";
}

}  // namespace

std::string bump_manifest_text(const GgufToBumpReport& report, const std::vector<std::string>& entry_sha256) {
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    out.member("schema", "bump-manifest/1");
    out.member("dtype_codes", bump::numbering_name(report.numbering));
    out.member("file_size", report.mapping.file_size);
    out.member("payload_sha256", hex(report.sha256));
    {
      const auto in_dimensions = out.object("dimensions");
      write_dimensions(out, report);
    }
    const auto in_entries = out.array("entries");
    for (std::size_t i = 0; i < report.mapping.entries.size(); ++i) {
      write_entry(out, report.mapping.entries[i], &entry_sha256[i]);
    }
  }
  return out.text() + "\n";
}

std::string gguf_to_bump_json(const GgufToBumpReport& report) {
  const BumpPlan& plan = report.plan();
  const std::vector<Listed> entries = listed(report);
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "gguf2bump/1");
    out.values("inputs", report.inputs);
    if (report.bump5) out.member("bump_version", u64{5});
    out.member_or_null("output", report.paths.output);
    out.member_or_null("config", report.paths.config);
    out.member_or_null("manifest", report.paths.manifest);
    if (report.bump5) out.member_or_null("map", report.paths.map);
    out.member("dry_run", report.dry_run);
    out.member("architecture", plan.hyper.stated.architecture);
    out.member("dtype_codes", bump::numbering_name(report.numbering));
    if (!entries.empty()) {
      {
        const auto in_dimensions = out.object("dimensions");
        write_dimensions(out, report);
      }
      {
        const auto in_dtypes = out.object("dtypes");
        for (const auto& [name, total] : totals_by_dtype(entries)) {
          const auto in_item = out.object(name);
          out.member("entries", total.entries);
          out.member("bytes", total.bytes);
        }
      }
      out.member("entries", static_cast<u64>(entries.size()));
      out.member("file_size", report.file_size);
      if (report.bump5) write_substitutes(out, *report.bump5);
    }
    if (!report.dry_run && report.refusals.empty()) {
      out.member("payload_sha256", hex(report.sha256));
      out.member_or_null("disk_bytes", report.disk_bytes);
    }
    {
      const auto in_dropped = out.array("dropped");
      for (const UnplacedTensor& item : plan.unplaced) {
        if (!item.dropped) continue;
        const auto in_item = out.object();
        out.member("tensor", item.tensor.name);
        out.member("type", type_name(item.tensor.type));
        out.member("bytes", item.tensor.bytes);
        out.member("reason", item.reason);
      }
    }
    {
      const auto in_refused = out.array("refused");
      for (const Error& error : report.refusals) {
        const auto in_item = out.object();
        out.member("code", error.code);
        out.member("where", error.where);
        out.member("message", error.message);
      }
    }
    out.values("notes", report.notes);
    out.member("seconds", report.seconds);
  }
  return out.text() + "\n";
}

std::string gguf_to_bump_plan_text(const GgufToBumpReport& report) {
  const BumpPlan& plan = report.plan();
  const std::vector<Listed> entries = listed(report);
  const bump::Dimensions& d = plan.hyper.dimensions;
  if (plan.hyper.stated.architecture.empty()) return {};  // the hyper-parameters could not be read
  std::string text = fmt::format(
      "architecture  {}\n"
      "layers        {}\n"
      "embedding     {} × {}\n"
      "heads         {} × {} ({} for keys and values)\n"
      "intermediate  {}\n"
      "context       {}\n",
      escape(plan.hyper.stated.architecture), d.layers, d.vocab, d.embed, d.heads, d.head_dim, d.kv_heads,
      d.intermediate, d.context);
  if (d.aligned_head != d.head_dim) text += fmt::format("heads padded  to {}\n", d.aligned_head);
  if (report.bump5) {
    text += "format        BUMPWGT5\n";
  } else {
    text += fmt::format("dtype codes   {}\n", bump::numbering_name(report.numbering));
  }
  if (!entries.empty()) {
    u64 zeros = 0;
    for (const Listed& entry : entries) zeros += entry.has_source ? 0 : entry.size;
    for (const auto& [name, total] : totals_by_dtype(entries)) {
      text += fmt::format("{:<12}  {}, {}\n", name, counted(total.entries, "entry", "entries"), byte_text(total.bytes));
    }
    text += fmt::format("file          {} bytes ({}), {} of them zeros with no source\n", report.file_size,
                        byte_text(report.file_size), byte_text(zeros));
  }
  const BumpOutputPaths& paths = report.paths;
  if (paths.output) text += fmt::format("output        {}\n", escape(*paths.output));
  if (paths.config) text += fmt::format("config        {}\n", escape(*paths.config));
  if (paths.manifest) text += fmt::format("manifest      {}\n", escape(*paths.manifest));
  if (paths.map) text += fmt::format("map           {}\n", escape(*paths.map));
  append_remarks(text, report);
  return text;
}

std::string gguf_to_bump_summary(const GgufToBumpReport& report) {
  std::string text;
  append_remarks(text, report);
  const u64 size = report.file_size;
  const std::optional<std::string>& output = report.paths.output;
  text += fmt::format("{}: {}, {}", output == "-" ? "standard output" : escape(output.value_or("")),
                      counted(listed(report).size(), "entry", "entries"), byte_text(size));
  if (report.disk_bytes && *report.disk_bytes < size)
    text += fmt::format(" ({} on disk)", byte_text(*report.disk_bytes));
  text += fmt::format(" in {:.1f} s", report.seconds);
  if (report.seconds >= 0.1)
    text += fmt::format(", {}/s", byte_text(static_cast<u64>(static_cast<double>(size) / report.seconds)));
  text += fmt::format("\npayload sha256 {}\n", hex(report.sha256));
  return text;
}

namespace {

constexpr u64 largest_u32 = ~u32{0};

// True if `path` is or will be a regular file. Devices and FIFOs are written in place and have no files next to them.
bool is_regular_output(const std::string& path) {
  const auto there = os::status(path);
  return path != "-" && (!there || there->is_file());
}

// Refuses an option that this version does not support.
Status check_version(const GgufToBumpOptions& options) {
  const BumpRequest& request = options.request;
  if (request.version == 3) return {};
  if (request.version != 5) return usage_error("--bump-version must be 3 or 5");
  if (request.split_halves) return usage_error("--repack needs --bump-version 3");
  if (request.align_head != 1) return usage_error("--align-head needs --bump-version 3: BUMPWGT5 does not pad heads");
  if (request.numbering == bump::Numbering::original) {
    return usage_error("--dtype-codes original needs --bump-version 3: BUMPWGT5 uses the renumbered codes");
  }
  if (options.no_config) {
    return usage_error("--no-config needs --bump-version 3: C-Kernel-Engine needs all four files");
  }
  return {};
}

Status check_numbers(const BumpRequest& request) {
  if (request.context && (*request.context == 0 || *request.context > largest_u32)) {
    return usage_error(fmt::format("--context must be 1 to {}", largest_u32));
  }
  if (request.align_head == 0 || request.align_head > largest_u32) {
    return usage_error(fmt::format("--align-head must be 1 to {}", largest_u32));
  }
  return {};
}

std::string next_to(const std::string& path, std::string_view name) {
  return path_in(parent_of(path), name);
}

// weights_manifest.json -> weights_manifest.map
std::string map_path_of(const std::string& manifest) {
  constexpr std::string_view json = ".json";
  const bool is_json = extension_of_path(manifest) == json;
  return manifest.substr(0, manifest.size() - (is_json ? json.size() : 0)) + ".map";
}

// Replaces a folder by its weights.bump.
void name_weights(BumpOutputPaths& paths) {
  const std::string& output = *paths.output;
  const bool is_folder = os::is_folder(output);
  if (!is_folder && !output.ends_with('/')) return;
  if (!is_folder) paths.new_folder = output;
  paths.output = path_in(output, bump5_weights_name);
}

Status complete_v5(BumpOutputPaths& paths) {
  if (paths.output) name_weights(paths);
  if (paths.output && is_regular_output(*paths.output)) {
    if (!paths.config) paths.config = next_to(*paths.output, "config.json");
    if (!paths.manifest) paths.manifest = next_to(*paths.output, bump5_manifest_name);
  } else if (paths.output && (!paths.config || !paths.manifest)) {
    return usage_error("if the weights do not go to a file, --config FILE and --manifest FILE are needed");
  }
  if (!paths.manifest) return {};
  if (!is_regular_output(*paths.manifest)) {
    return usage_error("--manifest must be a file: C-Kernel-Engine's map is written next to it");
  }
  paths.map = map_path_of(*paths.manifest);
  return {};
}

Status check_names(const BumpOutputPaths& paths) {
  std::vector<std::string> names;
  for (const auto& output : {paths.output, paths.config, paths.manifest, paths.map}) {
    if (!output) continue;
    std::string name = is_standard_output(*output) ? "-" : output_place(*output);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      if (name == "-") return usage_error("only one output can go to standard output");
      if (is_regular_output(*output)) return usage_error(fmt::format("two outputs have the same name: {}", *output));
    }
    names.push_back(std::move(name));
  }
  return {};
}

}  // namespace

Result<BumpOutputPaths> choose_bump_outputs(const GgufToBumpOptions& options) {
  if (!options.output && !options.dry_run) return usage_error("-o WEIGHTS.bump is missing");
  MU_TRY(check_numbers(options.request));
  if (options.no_config && options.config) return usage_error("--config and --no-config cannot be combined");
  MU_TRY(check_version(options));
  BumpOutputPaths paths{options.output, options.config, options.manifest, {}, {}};
  if (options.request.version == 5) {
    MU_TRY(complete_v5(paths));
  } else if (!options.config && !options.no_config && options.output && is_regular_output(*options.output)) {
    paths.config = next_to(*options.output, "config.json");
  }
  MU_TRY(check_names(paths));
  return paths;
}

}  // namespace modelutils
