#include <algorithm>
#include <numeric>

#include "json/writer.h"
#include "rules/wording.h"
#include "verify/manifest/hash_run.h"
#include "verify/manifest/manifest.h"
#include "verify/manifest/sums.h"

namespace modelutils {

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

}  // namespace modelutils
