#include "edit/edited_model.h"

#include <algorithm>
#include <cstring>

#include "base/name_index.h"
#include "base/path.h"
#include "gguf/find_journal.h"
#include "gguf/key_elements.h"
#include "gguf/split_keys.h"
#include "model/catalog.h"
#include "rules/gguf/prediction_rules.h"
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
      // If the data ends at a multiple of the alignment, the file does not show whether it pads; assume it does.
      model_.is_end_padded = document.file_size != end || end % document.alignment == 0;
    }
    return std::move(model_);
  }

 private:
  // Refuses incomplete headers, since nothing after the break can be found. --force can leave out anything else.
  Status check_container() {
    const Findings findings = gguf_container_findings(set_);
    model_.remarks = leading_warnings(findings);
    for (Finding finding : prediction_findings(set_)) {
      if (finding.severity == Severity::error) finding.severity = Severity::warning;
      if (finding.severity == Severity::warning) model_.remarks.push_back(std::move(finding));
    }
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

}  // namespace modelutils::edit
