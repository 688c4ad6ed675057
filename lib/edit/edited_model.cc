#include "edit/edited_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "arch/prediction_rows.h"
#include "base/name_index.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/document.h"
#include "formats/gguf/edit_journal.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/split_set.h"
#include "formats/gguf/write.h"
#include "io/copy_range.h"
#include "model/catalog.h"
#include "rules/gguf/component_rules.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"

namespace modelutils::edit {

namespace {

class ModelReader {
 public:
  ModelReader(const gguf::SplitSet& set, ReadOptions options) : set_(set), options_(options) {}

  Result<EditedModel> read() {
    const gguf::SetFile& first = set_.files.front();
    model_.files = set_.files.size();
    model_.version = first.document.version;
    model_.limits = gguf_limits(set_);
    MU_TRY(check_container());
    MU_TRY(read_keys(first));
    std::size_t count = 0;
    for (const gguf::SetFile& file : set_.files) count += file.document.tensors.size();
    model_.tensors.reserve(count);
    for (std::size_t i = 0; i < set_.files.size(); ++i) MU_TRY(read_tensors(i));
    if (!model_.tensors.empty()) {
      const EditedTensor& last = model_.tensors.back();
      const gguf::Document& document = set_.files[last.file].document;
      const u64 end = last.offset + last.bytes;
      // If the data ends at a multiple of the alignment, the file does not show whether its writer pads; assume that it
      // does.
      model_.is_end_padded = document.file_size != end || end % document.alignment == 0;
    }
    return std::move(model_);
  }

 private:
  // Refuses incomplete headers, because everything after the break is lost. All other damage can be left out with
  // --force.
  Status check_container() {
    const Findings findings = gguf_container_findings(set_);
    model_.remarks = leading_warnings(findings);
    for (Finding finding : prediction_findings(set_)) {
      if (finding.severity == Severity::error) finding.severity = Severity::warning;
      if (finding.severity == Severity::warning) model_.remarks.push_back(std::move(finding));
    }
    MU_TRY(refuse_foreign_types(set_));
    const Finding* broken = first_container_error(findings);
    if (broken == nullptr) return {};
    const std::string& path = set_.files.front().path;
    const bool is_whole = std::all_of(set_.files.begin(), set_.files.end(),
                                      [](const gguf::SetFile& file) { return file.document.complete; });
    if (!options_.force || !is_whole || broken->code == gguf::interrupted_code) {
      return tl::make_unexpected(with_path(*broken, path));
    }
    Finding remark = *broken;
    remark.severity = Severity::warning;
    model_.remarks.push_back(std::move(remark));
    return {};
  }

  Status read_keys(const gguf::SetFile& file) {
    NameIndex names;
    const bool is_in_parts = gguf::is_in_parts(set_);
    for (const gguf::KeyValue& key : file.document.keys) {
      if (is_in_parts && !options_.split_keys && gguf::is_split_key(key.key)) continue;
      if (!names.insert(key.key).is_new) {
        leave_out(file, at_key(key.key), "the key appears twice; the second is left out", key.offset);
        continue;
      }
      MU_ASSIGN(gguf::OutKey copied, gguf::copy_key(*file.source, file.document, key));
      model_.keys.push_back(std::move(copied));
    }
    return {};
  }

  Status read_tensors(std::size_t number) {
    const gguf::SetFile& file = set_.files[number];
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const Tensor found = tensor_of(file.document, tensor);
      const std::string where = at_tensor(tensor.name);
      if (!found.is_readable()) {
        leave_out(file, where, std::string(problem_text(found.unreadable)) + "; it is left out", tensor.info_offset);
      } else if (!names_.insert(tensor.name).is_new) {
        leave_out(file, where, "the tensor appears twice; the second is left out", tensor.info_offset);
      } else {
        model_.tensors.push_back(
            {{tensor.name, *tensor.type(), tensor.ne}, number, found.offset, found.bytes, file.document.alignment});
      }
    }
    return {};
  }

  void leave_out(const gguf::SetFile& file, std::string where, std::string message, u64 offset) {
    model_.remarks.push_back({.severity = Severity::warning,
                              .code = "edit-left-out",
                              .message = std::move(message),
                              .where = std::move(where),
                              .offset = offset,
                              .file = set_.is_split() ? base_name_of(file.path) : std::string()});
  }

  const gguf::SplitSet& set_;
  ReadOptions options_;
  NameIndex names_;
  EditedModel model_;
};

}  // namespace

gguf::OutKey* EditedModel::find_key(std::string_view key) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const gguf::OutKey& each) { return each.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

EditedTensor* EditedModel::find_tensor(std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const EditedTensor& each) { return each.out.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

u64 EditedModel::alignment() const {
  u32 value = 32;
  for (const gguf::OutKey& key : keys) {
    if (key.key == "general.alignment" && key.encoded.size() == sizeof value) {
      std::memcpy(&value, key.encoded.data(), sizeof value);
    }
  }
  return value;
}

u64 count_of(EditedModel& model, const std::string& key) {
  const gguf::OutKey* found = model.find_key(key);
  if (found == nullptr || found->type != gguf::ValueType::u32) return 0;
  return gguf::elements_of(*found).number(0).value_or(0);
}

BlockCounts counts_of(EditedModel& model) {
  BlockCounts counts;
  const gguf::OutKey* name = model.find_key("general.architecture");
  if (name != nullptr) counts.architecture = gguf::elements_of(*name).text().value_or("");
  counts.blocks = count_of(model, counts.key("block_count"));
  counts.predicting = std::min(counts.blocks, count_of(model, counts.key("nextn_predict_layers")));
  return counts;
}

Result<EditedModel> read_edited_model(const gguf::SplitSet& set, ReadOptions options) {
  return ModelReader(set, options).read();
}

bool is_layout_key(std::string_view key) {
  return key == "general.alignment" || is_filler(key) || gguf::is_split_key(key);
}

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

Status check_read_back(const gguf::SetFile& file, std::string_view header, gguf::Limits limits) {
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
  MU_ASSIGN(const gguf::OutLayout again, gguf::layout(keys, tensors, document.alignment, document.version, limits));
  if (again.header != header) return self_check(file, "the new header does not read back as it was written");
  return {};
}

}  // namespace modelutils::edit
