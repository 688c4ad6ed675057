#include "edit/guards.h"

#include <algorithm>
#include <array>
#include <set>

#include "arch/prediction_block.h"
#include "gguf/keys.h"
#include "gguf/out_tensors.h"
#include "gguf/parse.h"
#include "io/same_bytes.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"

namespace modelutils::edit {

namespace {

constexpr std::array guarded_warnings = {std::string_view("gguf-architecture-missing"),
                                         std::string_view("gguf-key-missing"),
                                         std::string_view("gguf-key-text"),
                                         std::string_view("gguf-key-type"),
                                         std::string_view("gguf-merges-missing"),
                                         std::string_view("gguf-tensor-name-text"),
                                         std::string_view("gguf-token-array-length"),
                                         std::string_view("gguf-token-count"),
                                         std::string_view("gguf-token-id"),
                                         std::string_view("gguf-tokenizer-pre"),
                                         std::string_view("gguf-value-utf8"),
                                         std::string_view("template-limit"),
                                         std::string_view("template-syntax")};

// True if the texts of tokens and merges are equal. The rules report texts that cannot be read.
bool has_same_texts(const gguf::SetFile& before, const gguf::SetFile& after) {
  const gguf::Index old_index(before.document), new_index(after.document);
  for (const std::string_view key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
    const gguf::ArrayRef* old_array = old_index.array_value(key);
    const gguf::ArrayRef* new_array = new_index.array_value(key);
    if ((old_array == nullptr) != (new_array == nullptr)) return false;
    if (old_array == nullptr) continue;
    if (old_array->element_type != new_array->element_type || old_array->count != new_array->count ||
        old_array->bytes != new_array->bytes ||
        !same_bytes(*before.source, old_array->offset, *after.source, new_array->offset, old_array->bytes)
             .value_or(false)) {
      return false;
    }
  }
  return true;
}

FindingLog findings_of(const gguf::SplitSet& set, bool is_whole, TokenTexts texts) {
  FindingLog log = gguf_structure_rules(set, texts);
  // A file with only prediction blocks lacks the trunk by design, which other rules and --fit report.
  if (!is_whole || arch::is_prediction_alone(set)) return log;
  const bool has_vocabulary =
      gguf::Index(set.files.front().document).string_value("tokenizer.ggml.model") != "no_vocab";
  log.add_all(loader_findings(set, has_vocabulary));
  return log;
}

bool is_guarded(const Finding& finding) {
  if (finding.severity == Severity::error) return finding.scope != Scope::data;
  return finding.severity == Severity::warning &&
         std::find(guarded_warnings.begin(), guarded_warnings.end(), finding.code) != guarded_warnings.end();
}

tl::unexpected<Error> self_check(const gguf::SetFile& file, std::string message) {
  return tl::make_unexpected(
      Error{.kind = ErrorKind::internal, .code = "edit-self-check", .message = std::move(message), .file = file.path});
}

}  // namespace

void forget_tensors(gguf::SplitSet& set) {
  for (gguf::SetFile& file : set.files) std::vector<gguf::TensorInfo>().swap(file.document.tensors);
}

Status remember_tensors(gguf::SplitSet& set) {
  for (gguf::SetFile& file : set.files) {
    if (!file.document.tensors.empty()) continue;
    MU_ASSIGN(gguf::Document again, gguf::parse(*file.source));
    file.document.tensors = std::move(again.tensors);
  }
  return {};
}

Result<Findings> broken_by_edit(gguf::SplitSet& before, bool was_whole, const gguf::SplitSet& after) {
  Findings broken;
  const gguf::Index old_index(before.files.front().document);
  const gguf::Index new_index(after.files.front().document);
  if (old_index.architecture() != new_index.architecture()) {
    Finding finding;
    finding.scope = Scope::model;
    finding.code = "edit-architecture";
    finding.where = at_key("general.architecture");
    finding.message = "would change from '" + std::string(old_index.architecture()) + "' to '" +
                      std::string(new_index.architecture()) + "': the other keys and the tensors belong to the old one";
    broken.push_back(std::move(finding));
  }
  Findings found;
  const TokenTexts texts =
      has_same_texts(before.files.front(), after.files.front()) ? TokenTexts::known : TokenTexts::read;
  const FindingLog new_findings = findings_of(after, was_whole, texts);
  for (const Finding& finding : new_findings) {
    if (is_guarded(finding)) found.push_back(finding);
  }
  if (found.empty()) return broken;
  std::set<std::pair<std::string, std::string>> known;
  MU_TRY(remember_tensors(before));
  const FindingLog old_findings = findings_of(before, was_whole, texts);
  for (const Finding& finding : old_findings) known.emplace(finding.code, finding.where);
  for (Finding& finding : found) {
    if (known.contains({finding.code, finding.where})) continue;
    finding.offset.reset();
    broken.push_back(std::move(finding));
  }
  return broken;
}

Status check_read_back(const gguf::SetFile& file, std::string_view header) {
  const gguf::Document& document = file.document;
  if (!document.complete || document.data_offset != header.size()) {
    return self_check(file, "the new header cannot be read back");
  }
  std::vector<gguf::OutKey> keys;
  for (const gguf::KeyValue& key : document.keys) {
    MU_ASSIGN(gguf::OutKey copied, gguf::copy_key(*file.source, document, key));
    keys.push_back(std::move(copied));
  }
  for (const gguf::TensorInfo& tensor : document.tensors) {
    if (!tensor.type()) return self_check(file, "the new header has a tensor of an unknown type");
  }
  const gguf::OutTensors tensors(document.tensors.size(), [&](std::size_t i) {
    const gguf::TensorInfo& tensor = document.tensors[i];
    return gguf::OutTensorView{tensor.name, *tensor.type(), tensor.ne};
  });
  MU_ASSIGN(const gguf::OutLayout again, gguf::layout(keys, tensors, document.alignment, document.version));
  if (again.header != header) return self_check(file, "the new header does not read back as it was written");
  return {};
}

}  // namespace modelutils::edit
