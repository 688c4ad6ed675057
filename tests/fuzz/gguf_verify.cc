// Any bytes -> every rule for GGUF files, the data check and the hashes. Counts and findings must agree, and what can
// be read must lie inside the file.
#include <cstdlib>

#include "formats/gguf/parse.h"
#include "io/random_access_file.h"
#include "model/catalog.h"
#include "report/verify_text.h"
#include "rules/gguf/rules.h"
#include "verify/manifest/manifest.h"
#include "verify/model_checks.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()), "m.gguf");
  auto document = gguf::parse(*source);
  if (!document) return 0;
  gguf::SplitSet set;
  set.files.push_back({"m.gguf", source, std::move(*document)});
  FindingLog log = gguf_structure_rules(set);
  const Catalog catalog = catalog_of(set);
  for (const Tensor& tensor : catalog.tensors) {
    if (!tensor.is_readable()) continue;
    if (tensor.offset > size || tensor.bytes > size - tensor.offset) std::abort();
  }
  check_data(catalog, {}, 1, log);
  FindingLog hashing;
  write_manifest(
      catalog, HashAlgorithm::xxh3, true, 1, [](std::string_view line) { return !line.empty(); }, hashing);
  if (hashing.errors() != 0) std::abort();

  VerifyReport report;
  report.path = "m.gguf";
  report.findings = log.findings();
  report.errors = log.errors();
  report.warnings = log.warnings();
  u64 listed = 0;
  for (const Finding& finding : report.findings) listed += finding.severity != Severity::note;
  if (listed > report.errors + report.warnings) std::abort();
  if (VerifyText({}).add(report).empty() || verify_json(report, true).empty()) std::abort();
  return 0;
}
