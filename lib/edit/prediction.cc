#include "edit/block_edits.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "arch/prediction_rows.h"
#include "base/name_index.h"
#include "base/text.h"
#include "formats/gguf/document.h"
#include "formats/gguf/write.h"

namespace modelutils::edit {

namespace {

bool is_of_prediction(const BlockCounts& counts, const EditedTensor& tensor) {
  const std::optional<u64> block = arch::block_of(tensor.out.name);
  return block && *block >= counts.trunk() && *block < counts.blocks;
}

Status check_present(EditedModel& model, const BlockCounts& counts, const EditOperation& operation) {
  const bool is_counted = counts.predicting != 0 && counts.predicting < counts.blocks;
  if (is_counted &&
      std::ranges::any_of(model.tensors, [&](const EditedTensor& each) { return is_of_prediction(counts, each); })) {
    return {};
  }
  return input_error("edit-mtp-absent", operation.where() + ": the file has no multi-token prediction (MTP) block",
                     at_key(counts.key("nextn_predict_layers")));
}

class Grafter {
 public:
  Grafter(EditedModel& model, EditedModel& only, const EditOperation& operation)
      : model_(model), only_(only), operation_(operation), trunk_(counts_of(model)), block_(counts_of(only)) {}

  Status graft() {
    if (Status present = check_present(only_, block_, operation_); !present) {
      return tl::make_unexpected(in_file(std::move(present.error()), operation_.operands.front()));
    }
    MU_TRY(check_fit());
    MU_TRY(lengthen_arrays());
    *model_.find_key(trunk_.key("block_count")) = *only_.find_key(block_.key("block_count"));
    add_count();
    return add_tensors();
  }

 private:
  tl::unexpected<Error> differs(std::string where, std::string_view what) const {
    return input_error("edit-mtp-other", fmt::format("{}: {}", operation_.where(), what), std::move(where));
  }

  Status check_fit() {
    if (trunk_.architecture != block_.architecture) {
      return differs(at_key("general.architecture"), fmt::format("the model has architecture '{}', the MTP block '{}'",
                                                                 trunk_.architecture, block_.architecture));
    }
    if (trunk_.predicting != 0) {
      return input_error("edit-mtp-there",
                         fmt::format("{}: the model already counts {} for multi-token prediction (MTP)",
                                     operation_.where(), counted(trunk_.predicting, "block")),
                         at_key(trunk_.key("nextn_predict_layers")));
    }
    if (trunk_.blocks != block_.trunk()) {
      return differs(at_key(trunk_.key("block_count")), fmt::format("the model has {}, the MTP block was made for {}",
                                                                    counted(trunk_.blocks, "layer"), block_.trunk()));
    }
    const u64 width = count_of(model_, trunk_.key("embedding_length"));
    const u64 block_width = count_of(only_, block_.key("embedding_length"));
    if (width != block_width) {
      return differs(at_key(trunk_.key("embedding_length")),
                     fmt::format("the model is {} wide, the MTP block {}", width, block_width));
    }
    return check_vocabulary();
  }

  Status check_vocabulary() {
    for (const std::string_view name : {"token_embd.weight", "output.weight"}) {
      const EditedTensor* here = model_.find_tensor(name);
      const EditedTensor* there = only_.find_tensor(name);
      if (here == nullptr || there == nullptr || here->out.ne == there->out.ne) continue;
      return differs(at_tensor(name), "has another shape in the MTP file: the vocabularies differ");
    }
    for (const std::string_view name : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
      const gguf::OutKey* here = model_.find_key(name);
      const gguf::OutKey* there = only_.find_key(name);
      if (here == nullptr || there == nullptr || here->encoded == there->encoded) continue;
      return differs(at_key(name), "differs from the MTP file: the vocabularies differ");
    }
    return {};
  }

  // True if `all` repeats `one` for every layer of the trunk. In that case the number became a list only because the
  // prediction blocks have a different one.
  bool is_that_of_layers(const gguf::KeyElements& one, const gguf::KeyElements& all) const {
    const u64 size = one.bytes.size();
    if (one.type != all.type || size == 0 || all.count != block_.blocks || all.bytes.size() != size * block_.blocks)
      return false;
    for (u64 i = 0; i < trunk_.blocks; ++i) {
      if (all.bytes.substr(static_cast<std::size_t>(i * size), one.bytes.size()) != one.bytes) return false;
    }
    return true;
  }

  // Turns numbers into per-layer arrays. Does so where the block's file has a longer array, with additional elements
  // for the blocks.
  Status lengthen_arrays() {
    NameIndex names;
    for (const gguf::OutKey& key : only_.keys) names.insert(key.key);  // read_edited_model() leaves no repeats
    for (gguf::OutKey& key : model_.keys) {
      if (!key.key.starts_with(trunk_.key("")) || key.key == trunk_.key("block_count")) continue;
      const std::optional<u32> number = names.find(key.key);
      if (!number) continue;
      const gguf::OutKey* there = &only_.keys[*number];
      const gguf::KeyElements mine = gguf::elements_of(key), theirs = gguf::elements_of(*there);
      if (mine.count == theirs.count) continue;
      if (!mine.count && is_that_of_layers(mine, theirs)) {
        key = *there;
        continue;
      }
      const bool is_longer = mine.count == trunk_.blocks && theirs.count == block_.blocks;
      const bool is_text = theirs.type == gguf::ValueType::string;
      if (!is_longer || is_text || mine.type != theirs.type || theirs.bytes.size() % block_.blocks != 0 ||
          theirs.bytes.size() / block_.blocks * trunk_.blocks != mine.bytes.size()) {
        return differs(at_key(key.key), "does not have an element for each layer in both files");
      }
      std::string bytes(mine.bytes);
      bytes += theirs.bytes.substr(bytes.size());
      key = gguf::make_key_of_elements(std::move(key.key), mine.type, bytes);
    }
    return {};
  }

  // Inserts nextn_predict_layers after the same key as in the block's file.
  void add_count() {
    const std::string name = block_.key("nextn_predict_layers");
    std::erase_if(model_.keys, [&](const gguf::OutKey& key) { return key.key == name; });
    auto place = model_.keys.end();
    const auto from = std::ranges::find(only_.keys, name, &gguf::OutKey::key);
    if (from != only_.keys.begin()) {
      const auto before = std::ranges::find(model_.keys, std::prev(from)->key, &gguf::OutKey::key);
      if (before != model_.keys.end()) place = std::next(before);
    }
    model_.keys.insert(place, *from);
  }

  // Returns, for each of the block's tensors, the name of the tensor before it, or no names if the file does not say.
  std::vector<std::string> predecessors() {
    std::vector<std::string> names;
    const gguf::OutKey* key = only_.find_key(arch::extracted_key);
    if (key == nullptr) return names;
    const gguf::KeyElements elements = gguf::elements_of(*key);
    if (!elements.count || elements.type != gguf::ValueType::string) return names;
    std::string_view rest = elements.bytes;
    while (rest.size() >= sizeof(u64)) {
      u64 size = 0;
      std::memcpy(&size, rest.data(), sizeof size);
      rest.remove_prefix(sizeof(u64));
      if (size > rest.size()) break;
      names.emplace_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    return names;
  }

  Status add_tensors() {
    const std::size_t first_file = model_.files + model_.grafted.size();
    std::vector<EditedTensor> added;
    for (EditedTensor& tensor : only_.tensors) {
      if (!is_of_prediction(block_, tensor)) continue;
      tensor.file += first_file;
      added.push_back(std::move(tensor));
    }
    std::vector<std::string> after = predecessors();
    after.resize(added.size());
    // Consecutive added tensors stay together, after the tensor that precedes the first of them.
    NameIndex names;
    for (const EditedTensor& tensor : model_.tensors) {
      if (is_of_prediction(block_, tensor)) {
        return input_error("edit-mtp-there", operation_.where() + ": the model already has tensors of an MTP block",
                           at_tensor(tensor.out.name));
      }
      names.insert(tensor.out.name);
    }
    std::size_t last_block = model_.tensors.size();
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      if (arch::block_of(model_.tensors[i].out.name)) last_block = i + 1;
    }
    std::vector<std::vector<std::size_t>> runs(model_.tensors.size() + 1);  // indexed by the number of tensors before
                                                                            // them
    std::size_t place = last_block;
    for (std::size_t i = 0; i < added.size(); ++i) {
      const bool goes_on = i > 0 && after[i] == added[i - 1].out.name;
      if (const auto number = names.find(after[i]); !goes_on && number) place = *number + 1;
      const bool is_first = !goes_on && after[i].empty() && i == 0 && only_.find_key(arch::extracted_key) != nullptr;
      if (is_first) place = 0;
      runs[place].push_back(i);
    }
    std::vector<EditedTensor> all;
    all.reserve(model_.tensors.size() + added.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (const std::size_t number : runs[i]) all.push_back(added[number]);
      if (i < model_.tensors.size()) all.push_back(std::move(model_.tensors[i]));
    }
    model_.tensors = std::move(all);
    return {};
  }

  EditedModel& model_;
  EditedModel& only_;
  const EditOperation& operation_;
  BlockCounts trunk_;
  BlockCounts block_;
};

}  // namespace

Status extract_prediction(EditedModel& model, const EditOperation& operation) {
  const BlockCounts counts = counts_of(model);
  MU_TRY(check_present(model, counts, operation));
  std::vector<EditedTensor> kept;
  std::vector<std::string> after;
  std::string before;
  for (EditedTensor& tensor : model.tensors) {
    std::string name = tensor.out.name;
    const bool is_block = is_of_prediction(counts, tensor);
    if (is_block) after.push_back(before);
    if (is_block || !arch::block_of(name)) kept.push_back(std::move(tensor));
    before = std::move(name);
  }
  model.tensors = std::move(kept);
  std::erase_if(model.keys, [](const gguf::OutKey& key) { return key.key == arch::extracted_key; });
  model.keys.push_back(gguf::make_key_strings(std::string(arch::extracted_key), after));
  return {};
}

Status graft_prediction(EditedModel& model, const EditOperation& operation) {
  const std::string& path = operation.operands.front();
  MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(path));
  for (const gguf::SetFile& file : set.files) {
    if (file.source->as_file() != nullptr) continue;
    return input_error("io-not-regular", "is not a regular file", {}, {}, file.source->name());
  }
  MU_ASSIGN(EditedModel only, read_edited_model(set, {}));
  MU_TRY(Grafter(model, only, operation).graft());
  model.grafted.insert(model.grafted.end(), set.files.begin(), set.files.end());
  return {};
}

}  // namespace modelutils::edit
