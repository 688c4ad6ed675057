#include "verify/manifest/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "io/file_kind.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "io/remote_address.h"
#include "json/writer.h"
#include "model/download_record.h"
#include "rules/formats.h"
#include "verify/manifest/check.h"
#include "verify/manifest/sums.h"

namespace modelutils {

// Reads manifests from files and pipes.

namespace {

constexpr u64 max_manifest_bytes = u64{256} << 20;
constexpr std::size_t piece = 64 * 1024;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

class Loader {
 public:
  Loader(const ByteSource& source, const std::string& path) : source_(source), path_(path) {}

  Result<Manifest> load() {
    while (!is_at_end_ && text_.size() < piece) MU_TRY(read_more());
    if (text_.starts_with(byte_order_mark)) text_.erase(0, byte_order_mark.size());
    MU_TRY(refuse_other_kinds(std::string_view(text_).substr(0, file_kind_bytes), path_));
    if (source_.size().value_or(0) > max_manifest_bytes) return too_large();
    // The first line shows whether the text consists of lines.
    if (text_.find('\n') == std::string::npos) MU_TRY(read_to_line_feed());
    if (is_of_lines(text_)) return load_lines();
    while (!is_at_end_) MU_TRY(read_more());
    return parse_manifest(text_, path_);
  }

 private:
  Result<Manifest> load_lines() {
    Manifest manifest;
    manifest.path = path_;
    ManifestLines lines(manifest);
    while (true) {
      std::size_t begin = 0;
      for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
        MU_TRY(take(lines, std::string_view(text_).substr(begin, end - begin)));
      }
      text_.erase(0, begin);
      if (is_at_end_) break;
      MU_TRY(read_to_line_feed());
    }
    if (!text_.empty()) MU_TRY(take(lines, text_));
    return complete(std::move(manifest));
  }

  Status take(ManifestLines& lines, std::string_view line) const {
    Status taken = lines.take(line);
    if (!taken) return tl::make_unexpected(in_file(std::move(taken.error()), path_));
    return {};
  }

  // Reads up to the next line feed or the end. The text read so far contains no line feed.
  Status read_to_line_feed() {
    std::size_t searched = 0;
    do {
      searched = text_.size();
      MU_TRY(read_more());
    } while (!is_at_end_ && text_.find('\n', searched) == std::string::npos);
    return {};
  }

  Status read_more() {
    const std::size_t size = text_.size();
    text_.resize(size + piece);
    MU_ASSIGN(const std::size_t got, source_.read_some(at_, std::as_writable_bytes(std::span(text_).subspan(size))));
    text_.resize(size + got);
    at_ += got;
    is_at_end_ = got == 0;
    return at_ > max_manifest_bytes ? too_large() : Status{};
  }

  tl::unexpected<Error> too_large() const {
    return input_error("manifest-too-large",
                       fmt::format("is larger than {} bytes, the limit for a manifest", max_manifest_bytes), {}, {},
                       path_);
  }

  const ByteSource& source_;
  const std::string& path_;
  std::string text_;  // read but not yet parsed
  u64 at_ = 0;
  bool is_at_end_ = false;
};

}  // namespace

Result<Manifest> load_manifest(const std::string& path) {
  MU_ASSIGN(const auto source, open_source(path));
  return Loader(*source, path).load();
}

namespace {

// A manifest line to write: for a tensor or a whole file.
struct Line {
  std::size_t file;
  const Tensor* tensor;  // nullptr for the file
  u64 bytes;
};

// Plans the lines file by file: the tensors in order, then the file itself.
std::vector<Line> plan_lines(const Catalog& catalog, bool whole_file) {
  std::vector<Line> lines;
  lines.reserve(catalog.tensors.size() + catalog.files.size());
  for (const Tensor& tensor : catalog.tensors) {
    if (tensor.is_readable()) lines.push_back({tensor.file, &tensor, tensor.bytes});
  }
  if (whole_file) {
    for (std::size_t i = 0; i < catalog.files.size(); ++i) {
      lines.push_back({i, nullptr, catalog.files[i].source->size().value_or(0)});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    if (a.file != b.file) return a.file < b.file;
    if ((a.tensor == nullptr) != (b.tensor == nullptr)) return b.tensor == nullptr;
    return a.tensor != nullptr && a.tensor->offset < b.tensor->offset;
  });
  return lines;
}

}  // namespace

void write_manifest(const Catalog& catalog, HashAlgorithm algorithm, bool whole_file, unsigned threads,
                    const std::function<bool(std::string_view line)>& line, FindingLog& log, Progress* progress,
                    ManifestForm form) {
  std::vector<Line> lines = plan_lines(catalog, whole_file);
  if (form == ManifestForm::sums) std::erase_if(lines, [](const Line& each) { return each.tensor != nullptr; });
  std::vector<HashJob> jobs;
  jobs.reserve(lines.size());
  for (const Line& item : lines) {
    jobs.push_back({algorithm, {{item.file, item.tensor != nullptr ? item.tensor->offset : 0, item.bytes}}});
  }
  const auto digests = run_hashes(catalog, jobs, threads, progress);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const CatalogFile& file = catalog.files[lines[i].file];
    if (!digests[i]) {
      const Tensor* tensor = lines[i].tensor;
      log.add(read_failure(catalog, lines[i].file, tensor != nullptr ? at_tensor(tensor->name) : std::string(),
                           digests[i].error()));
      continue;
    }
    if (form == ManifestForm::sums) {
      if (!line(sums_line(*digests[i], file.base_name) + '\n')) return;
      continue;
    }
    json::Writer out;
    {
      const auto in_object = out.object();
      out.member("file", file.base_name);
      out.key("tensor");
      if (lines[i].tensor != nullptr) {
        out.string(lines[i].tensor->name);
      } else {
        out.null();
      }
      out.member("bytes", lines[i].bytes);
      out.member(hash_name(algorithm), *digests[i]);
    }
    out.end_line();
    if (!line(out.text())) return;
  }
}

namespace {

std::optional<u64> number_of(const Manifest& manifest, std::string_view name) {
  for (const ManifestNumber& number : manifest.numbers) {
    if (number.name == name) return number.value;
  }
  return std::nullopt;
}

void compare_header(const bump::Header& header, const Manifest& manifest, FindingLog& log) {
  for (const bump::HeaderField& field : bump::header_fields()) {
    const u64 value = header.*field.value;
    const std::optional<u64> expected = number_of(manifest, field.name);
    if (!expected || *expected == value) continue;
    log.error(Scope::container, "manifest-differs", fmt::format("is {}, but {} in the manifest", value, *expected),
              fmt::format("field {}", field.name), field.offset);
  }
}

// Reports each wrong code under the numbering for which most codes match the manifest.
void compare_codes(const bump::Document& document, const Manifest& manifest, FindingLog& log) {
  if (document.codes.size() != manifest.entries.size()) return;
  const auto differs = [&](std::size_t i, bump::Numbering numbering) {
    const auto dtype = bump::dtype_from_code(document.codes[i], numbering);
    const std::string_view stated = manifest.entries[i].dtype;
    return !stated.empty() && (!dtype || bump::dtype_name(*dtype) != stated);
  };
  const auto count = [&](bump::Numbering numbering) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < document.codes.size(); ++i) wrong += differs(i, numbering) ? 1 : 0;
    return wrong;
  };
  const bump::Numbering numbering = count(bump::Numbering::original) <= count(bump::Numbering::renumbered)
                                        ? bump::Numbering::original
                                        : bump::Numbering::renumbered;
  for (std::size_t i = 0; i < document.codes.size(); ++i) {
    if (!differs(i, numbering)) continue;
    log.error(Scope::container, "manifest-differs",
              fmt::format("is {} in the {} numbering, but the manifest says {}", document.codes[i],
                          numbering_name(numbering), manifest.entries[i].dtype),
              fmt::format("dtype code of {}", manifest.entries[i].tensor), bump::codes_offset + i);
  }
}

}  // namespace

void check_bump_manifest(const Model& model, const Manifest& manifest, CheckedModel& checked) {
  if (manifest.numbers.empty()) return;  // written by verify --hash: only checksums
  const bump::Document& document = model.bump->document;
  if (document.file_size < bump::codes_offset) return;
  compare_header(document.header, manifest, checked.findings);
  compare_codes(document, manifest, checked.findings);
  if (!checked.catalog.tensors.empty()) return;
  checked.catalog.format = Format::bump;
  checked.catalog.files = {{model.path(), base_name_of(model.path()), model.bump->file}};
  for (std::size_t i = 0; i < manifest.entries.size(); ++i) {
    const ManifestEntry entry = manifest.entries[i];
    if (!entry.offset || !entry.bytes || !fits(*entry.offset, *entry.bytes, document.file_size)) continue;
    Tensor& tensor = checked.catalog.add(std::string(entry.tensor), {});
    tensor.offset = *entry.offset;
    tensor.bytes = *entry.bytes;
  }
}

namespace {

// Files whose name begins with a dot are the repository's own and not part of a model.
bool is_hidden(std::string_view name) {
  return name.starts_with('.') || name.find("/.") != std::string_view::npos;
}

void take_snapshot(std::string& path, const std::string& commit, FindingLog& remarks) {
  const std::string snapshots = ModelFolder(path).file("snapshots");
  const bool is_cache = is_present(snapshots);
  std::string revision;
  if (is_cache && is_present(snapshots + "/" + commit)) {
    path = snapshots + "/" + commit;
    return;
  }
  if (!is_cache) {
    const auto place = hub_place(normal_path(path));
    if (!place || place->is_blob || place->revision == commit) return;
    revision = place->revision;
  }
  remarks.error(Scope::data, "manifest-revision",
                is_cache ? fmt::format("the cache does not have the Hub's current revision {}", commit)
                         : fmt::format("has revision {}; the Hub's current one is {}", revision, commit),
                at_file(path));
}

}  // namespace

Result<Manifest> load_published(const std::string& address, std::vector<std::string>& paths) {
  MU_ASSIGN(const auto listing, remote_listing(address));
  MU_ASSIGN(const std::optional<HubAddress> hub, hub_address(address));
  MU_ASSIGN(Manifest manifest, parse_manifest(listing->text, address));
  const std::string& wanted = hub->path;
  ManifestEntries kept;
  for (std::size_t i = 0; i < manifest.entries.size(); ++i) {
    const ManifestEntry entry = manifest.entries[i];
    const bool is_wanted = wanted.empty() || entry.file == wanted || entry.file.starts_with(wanted + "/");
    if (is_wanted && !is_hidden(entry.file)) kept.push_back(entry);
  }
  manifest.entries = std::move(kept);
  if (manifest.entries.empty()) {
    return input_error("remote-missing", "the repository has no such file", {}, {}, address);
  }
  if (!listing->commit.empty()) {
    for (std::string& path : paths) take_snapshot(path, listing->commit, manifest.remarks);
  }
  return manifest;
}

}  // namespace modelutils
