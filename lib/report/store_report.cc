#include "report/store_report.h"

#include <fmt/core.h>

#include "base/escape.h"
#include "base/text.h"
#include "json/writer.h"

namespace modelutils {

namespace {

constexpr i64 nanoseconds_per_second = 1'000'000'000;

std::string text_or_mark(const std::string& text) {
  return text.empty() ? "?" : escape(text, 32);
}

void write_notes(json::Writer& out, const std::vector<StoreNote>& notes) {
  const auto in_array = out.array("skipped");
  for (const StoreNote& note : notes) {
    const auto in_object = out.object();
    out.member("path", note.path);
    out.member("reason", note.text);
  }
}

void write_model(json::Writer& out, const StoredModel& model) {
  const DescribedModel& described = model.described;
  const auto in_object = out.object();
  out.member("name", model.name);
  out.text_or_null("store", model.store);
  out.member("path", described.line.path);
  out.member("kind", described.companion.empty() ? std::string_view("model") : std::string_view(described.companion));
  out.text_or_null("architecture", described.line.architecture);
  out.member_or_null("parameters", described.line.parameters);
  out.text_or_null("type", described.line.type);
  out.member("bytes", described.line.bytes);
  out.member("complete", model.problem.empty());
  out.text_or_null("problem", model.problem);
  const i64 used = model.used() / nanoseconds_per_second;
  out.member_or_null("used", used > 0 ? std::optional(used) : std::nullopt);
  const auto in_files = out.array("files");
  for (const StoredFile& file : described.files) out.string(file.path);
}

}  // namespace

void write_store_list(TextOutput& out, const StoreList& list, std::size_t width, const Style& style) {
  constexpr std::size_t least_name = 24, least_path = 16;
  const RowSource row = [&](std::size_t number, std::vector<Cell>& cells) {
    const StoredModel& model = list.models[number];
    const FolderModel& line = model.described.line;
    const bool is_named_by_path = model.name == line.path;
    cells = {{escape(model.name), Paint::title},
             {text_or_mark(line.architecture), Paint::plain},
             {line.parameters ? count_text(*line.parameters) : "?", Paint::number},
             {text_or_mark(line.type), Paint::plain},
             {byte_text(line.bytes), Paint::number},
             {model.problem.empty() ? "complete" : "incomplete", model.problem.empty() ? Paint::plain : Paint::title},
             {is_named_by_path ? std::string() : escape(line.path), Paint::plain}};
  };
  const std::vector<Column> columns = {{"model", Align::left, least_name, 0, 0},
                                       {"architecture", Align::left, 0, 3},
                                       {"params", Align::right, 0, 2},
                                       {"type", Align::left, 0, 1},
                                       {"size", Align::right},
                                       {"state", Align::left, 0, 4},
                                       {"where", Align::left, least_path, 5, 1}};
  if (!list.models.empty()) write_table(out, columns, list.models.size(), row, {width, 0, true, style});
}

std::string store_list_json(const StoreList& list) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "ls/1");
    {
      const auto in_array = out.array("models");
      for (const StoredModel& model : list.models) write_model(out, model);
    }
    write_notes(out, list.notes);
  }
  out.end_line();
  return out.text();
}

void write_duplicates(TextOutput& out, const Duplicates& duplicates) {
  for (const DuplicateGroup& group : duplicates.groups) {
    out << fmt::format("{} of {} each, {} more than needed ({})\n", counted(group.files.size(), "file"),
                       byte_text(group.bytes), byte_text(group.saves()),
                       group.likeness == Likeness::header   ? "same size and header; --hash xxh3 reads all bytes"
                       : group.likeness == Likeness::sha256 ? "same SHA-256"
                                                            : "same bytes");
    for (const DuplicateFile& file : group.files) {
      out << "  " << escape(joined(file.models)) << "  " << escape(file.paths.front());
      const std::size_t more = file.paths.size() - 1;
      out << (more > 0 ? fmt::format("  (and {} to the same file)\n", counted(more, "other name")) : "\n");
    }
  }
  out << (duplicates.groups.empty() ? std::string("No two files are equal.\n")
                                    : fmt::format("Sharing them would save {}.\n", byte_text(duplicates.saves())));
}

std::string duplicates_json(const Duplicates& duplicates) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "duplicates/1");
    {
      const auto in_groups = out.array("groups");
      for (const DuplicateGroup& group : duplicates.groups) {
        const auto in_group = out.object();
        out.member("likeness", likeness_name(group.likeness));
        out.text_or_null("digest", group.digest);
        out.member("bytes", group.bytes);
        out.member("saves", group.saves());
        const auto in_files = out.array("files");
        for (const DuplicateFile& file : group.files) {
          const auto in_file = out.object();
          out.values("models", file.models);
          out.values("paths", file.paths);
        }
      }
    }
    out.member("saves", duplicates.saves());
    write_notes(out, duplicates.notes);
  }
  out.end_line();
  return out.text();
}

}  // namespace modelutils
