#include "report/repository_list.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/counted.h"
#include "base/escape.h"
#include "base/numbers.h"
#include "json/writer.h"

namespace modelutils {

namespace {

std::string lines(const std::vector<RepositoryEntry>& entries) {
  std::string text;
  for (const RepositoryEntry& entry : entries) {
    text += fmt::format("  {:>8}  {}", byte_text(entry.bytes), escape(entry.name));
    if (entry.files > 1) text += fmt::format("  ({} files)", entry.files);
    if (entry.fits) text += *entry.fits ? "  fits" : "  does not fit";
    text += "\n";
  }
  return text;
}

void write_entries(json::Writer& out, std::string_view name, const std::vector<RepositoryEntry>& entries) {
  const auto in_array = out.array(name);
  for (const RepositoryEntry& entry : entries) {
    const auto in_object = out.object();
    out.member("name", entry.name);
    out.member("files", entry.files);
    out.member("bytes", entry.bytes);
    out.member("fits", entry.fits);
  }
}

}  // namespace

std::string repository_text(const Repository& repository) {
  std::string text = escape(repository.path);
  if (!repository.commit.empty()) text += fmt::format(" at {}", repository.commit);
  text += fmt::format("\n\nGGUF models {}\n{}", repository.models.size(), lines(repository.models));
  if (!repository.others.empty()) {
    text += fmt::format("\nOther files {}\n{}", repository.others.size(), lines(repository.others));
  }
  if (std::ranges::any_of(repository.models, [](const RepositoryEntry& entry) { return entry.fits.has_value(); })) {
    text +=
        "\nWhether a model fits is estimated from its size and the smallest model's header. gguf-dump --fit MODEL "
        "reads its own.\n";
  }
  if (!repository.models.empty()) {
    text +=
        fmt::format("\nTo see what is in one: gguf-dump {}\n", escape(repository.path_of(repository.models.front())));
  }
  return text;
}

std::string repository_json(const Repository& repository) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "repository/1");
    out.member("path", repository.path);
    out.text_or_null("commit", repository.commit);
    write_entries(out, "models", repository.models);
    write_entries(out, "others", repository.others);
  }
  return out.text() + "\n";
}

}  // namespace modelutils
