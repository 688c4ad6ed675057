// A directory or file of safetensors as one side of a comparison.
#include <fmt/core.h>

#include <deque>
#include <optional>
#include <unordered_map>

#include "arch/families.h"
#include "base/path.h"
#include "base/text.h"
#include "compare/compared_model.h"
#include "convert/to_directory/fused.h"
#include "convert/to_gguf/image_map.h"
#include "convert/to_gguf/keys.h"
#include "convert/to_gguf/rows.h"
#include "convert/transfer/plan.h"
#include "formats/gguf/foreign_types.h"
#include "formats/gguf/write.h"
#include "formats/hf/names.h"
#include "io/model_folder.h"
#include "model/catalog.h"
#include "model/hf_model.h"
#include "model/image_tensors.h"
#include "model/listing/listing.h"
#include "model/listing/model_facts.h"
#include "model/listing/safetensors_listing.h"
#include "tensor/types.h"
#include "tokenizer/read/read_tokenizer.h"

namespace modelutils {

namespace {

std::string place_in(const std::vector<CatalogFile>& files, u32 file, u64 offset) {
  return files.size() > 1 ? fmt::format("{}:{}", files[file].base_name, offset) : std::to_string(offset);
}

// The tensors of a directory under their own names, or under their GGUF names where they have one.
class DirectoryTensors : public ComparedTensors {
 public:
  /// `problem` is the reason why values cannot be compared; if it is not empty, GGUF names are used. `prefix` is that
  /// of an image model's tensors; their names are listed without it, and tensors without it are left out.
  DirectoryTensors(std::shared_ptr<const Model> model, std::string problem, std::optional<std::string_view> prefix = {})
      : model_(std::move(model)), problem_(std::move(problem)), prefix_(prefix) {
    for (const Tensor& stored : model_->catalog().tensors) {
      if (model_->is_part(stored)) continue;
      if (prefix_ && !stored.name.starts_with(*prefix_)) {
        ++left_out_;
      } else {
        add(stored);
      }
    }
    list_ = tensors_;
  }

  /// Returns the number of tensors that belong to other parts of the file.
  std::size_t left_out() const { return left_out_; }

  StoredForm form(const Tensor& tensor) const override {
    const Weight* weight = model_->weight_of(stored_of(tensor));
    return weight != nullptr ? weight->form : ComparedTensors::form(tensor);
  }
  std::string type_text(const Tensor& tensor) const override {
    const Tensor& stored = stored_of(tensor);
    if (model_->weight_of(stored) != nullptr) return ComparedTensors::type_text(tensor);
    const safetensors::ShardSet& set = model_->safetensors->set;
    return std::string(set.tensor(set.listed(model_->place_of(stored))).dtype);
  }
  std::string_view problem(const Tensor& tensor) const override {
    return tensor.is_readable() ? std::string_view(problem_) : problem_text(tensor.unreadable);
  }
  std::string place_text(const Tensor& tensor) const override {
    return place_in(model_->catalog().files, tensor.file, tensor.offset);
  }
  std::unique_ptr<TensorValues> values(const Tensor& tensor) const override {
    return std::make_unique<MatrixValues>(model_->values_of(stored_of(tensor)));
  }

 private:
  const Tensor& stored_of(const Tensor& tensor) const { return *stored_[place_of(tensor)]; }

  void add(const Tensor& stored) {
    Tensor& tensor = tensors_.emplace_back(stored);
    stored_.push_back(&stored);
    if (prefix_) {
      tensor.name.remove_prefix(prefix_->size());
      return;
    }
    std::string name = hf::canonical_name(stored.name);
    if (!problem_.empty() && stored.is_readable()) name = model_->gguf_name(stored).value_or(std::move(name));
    if (name != stored.name) tensor.name = kept_.keep(std::move(name));
    const Weight* weight = model_->weight_of(stored);
    if (weight == nullptr) return;
    tensor.type.reset();
    tensor.ne = weight->ne;
    tensor.bytes = weight->bytes();
  }

  std::shared_ptr<const Model> model_;
  std::string problem_;
  std::optional<std::string_view> prefix_;
  std::size_t left_out_ = 0;
  KeptTexts kept_;
  std::vector<Tensor> tensors_;
  std::vector<const Tensor*> stored_;  // the tensors in the model's catalog, parallel to tensors_
};

// The tensors of the GGUF that mlx2gguf would write for a directory.
class PlannedTensors : public ComparedTensors {
 public:
  PlannedTensors(std::unique_ptr<HfModel> model, TensorMap map) : model_(std::move(model)), map_(std::move(map)) {
    for (const MappedTensor& mapped : map_.tensors) tensors_.push_back(tensor_of(mapped));
    list_ = tensors_;
  }
  /// An image model, with the shapes of the published model.
  explicit PlannedTensors(to_gguf::ImageMap image) : PlannedTensors(std::move(image.model), std::move(image.map)) {
    std::unordered_map<std::string_view, Tensor*> by_name;
    for (Tensor& tensor : tensors_) by_name.emplace(tensor.name, &tensor);
    for (const gguf::OutKey& key : image.keys) {
      if (!key.key.starts_with(arch::image_shape_key)) continue;
      const auto found = by_name.find(std::string_view(key.key).substr(arch::image_shape_key.size()));
      const gguf::KeyElements sizes = gguf::elements_of(key);
      std::vector<u64> shape;
      for (u64 i = 0; i < sizes.count.value_or(0); ++i) shape.push_back(sizes.number(i).value_or(0));
      if (found != by_name.end()) found->second->ne = kept_.keep(reversed(shape));
    }
  }

  StoredForm form(const Tensor& tensor) const override { return form_of(map_.tensors[place_of(tensor)]); }
  std::unique_ptr<TensorValues> values(const Tensor& tensor) const override {
    return values_of(*model_, map_.tensors[place_of(tensor)]);
  }

  const std::vector<LeftOut>& left_out() const { return model_->left_out; }

 private:
  StoredForm form_of(const MappedTensor& mapped) const {
    return mapped.parts.empty() ? plain_form(TensorType::F32) : model_->matrices[mapped.parts.front().source].form;
  }

  Tensor tensor_of(const MappedTensor& mapped) const {
    Tensor tensor{.name = mapped.name, .type = {}, .ne = mapped.ne};
    if (const StoredForm stored = form_of(mapped); stored.is_plain()) tensor.type = stored.type();
    if (!mapped.parts.empty()) tensor.offset = model_->matrices[mapped.parts.front().source].codes().offset;
    std::size_t last = ~std::size_t{0};
    for (const RecipePart& part : mapped.parts) {
      if (part.source != last) tensor.bytes += model_->matrices[part.source].bytes();
      last = part.source;
    }
    return tensor;
  }

  std::unique_ptr<HfModel> model_;
  TensorMap map_;
  std::vector<Tensor> tensors_;
  KeptTexts kept_;
};

void remark_other_parts(std::size_t tensors, ComparedModel& side) {
  if (tensors == 0) return;
  side.remarks.push_back(
      fmt::format("not compared, because it belongs to other parts of the file: {}", counted(tensors, "tensor")));
}

// Owns the data that keys and facts refer to.
struct Opened {
  explicit Opened(std::shared_ptr<const Model> from) : model(std::move(from)), source(listing_of(*model)) {
    ListingRequest request;
    request.tensors = false;
    listing = source->list(request);
  }

  std::shared_ptr<const Model> model;
  std::unique_ptr<ListingSource> source;
  Listing listing;
  std::deque<std::string> texts;
  gguf::OutLayout layout;   // layout of a GGUF with only the directory's tokenizer
  gguf::SetFile tokenizer;  // that file, in memory
};

class DirectoryLook {
 public:
  DirectoryLook(std::shared_ptr<const Model> model, const ComparisonView& view)
      : view_(view), opened_(std::make_shared<Opened>(std::move(model))) {}

  ComparedModel look() {
    side_.path = opened_->model->path();
    side_.kind = opened_->listing.kind;
    side_.facts = opened_->listing.facts;
    if (const hf::Config* config = opened_->model->config()) {
      // Use the GGUF's name of the architecture.
      if (const arch::Family* family = arch::find_family(*config)) side_.facts.architecture = family->gguf;
    }
    side_.key_kind = KeyKind::directory;
    const SafetensorsModel& files = directory();
    if (files.set.is_directory && files.config_error) side_.broken.push_back(*files.config_error);
    add_keys();
    add_tensors();
    if (view_.tokenizer && files.is_model_directory()) add_tokenizer();
    if (view_.layout) add_layout();
    side_.opened = opened_;
    return std::move(side_);
  }

 private:
  const SafetensorsModel& directory() const { return *opened_->model->safetensors; }

  void add_keys() {
    for (const std::string& key : st_keys(directory())) {
      const std::optional<std::string> value = st_value(directory(), key);
      if (!value) continue;
      const std::string_view name = opened_->texts.emplace_back(key);
      side_.keys.push_back({name, gguf::ValueType::string, side_.keys.size(), 0,
                            std::string_view(opened_->texts.emplace_back(*value)), false});
    }
  }

  // Lists GGUF tensors if requested, the family is known, and it maps every tensor.
  void add_tensors() {
    if (view_.image) return add_image_tensors();
    std::string problem;
    if (view_.naming == Naming::gguf) {
      Result<std::unique_ptr<HfModel>> model = understand_model(opened_->model);
      Result<TensorMap> map = model ? map_tensors(**model) : tl::make_unexpected(model.error());
      if (map) return add_planned_tensors(std::make_shared<PlannedTensors>(std::move(*model), std::move(*map)));
      const std::string unmapped =
          fmt::format("{}{}{}", map.error().where, map.error().where.empty() ? "" : " ", map.error().message);
      side_.remarks.push_back("tensors are compared by name, because they cannot be mapped to GGUF's: " + unmapped);
      problem = "the directory's tensors cannot be mapped to GGUF's: " + unmapped;
    }
    side_.tensors = std::make_shared<DirectoryTensors>(opened_->model, std::move(problem));
  }

  // Names and joins the tensors of an image model as mlx2gguf would; keeps them as they are if it would refuse the
  // model.
  void add_image_tensors() {
    side_.naming = view_.naming;
    Result<std::optional<to_gguf::ImageMap>> mapped = map_image();
    if (mapped && *mapped) {
      const auto tensors = std::make_shared<PlannedTensors>(std::move(**mapped));
      remark_other_parts(tensors->left_out().size(), side_);
      side_.tensors = tensors;
      return;
    }
    if (!mapped) {
      side_.remarks.push_back("tensors are compared by name, because they cannot be mapped to a GGUF's: " +
                              placed_message(mapped.error()));
    }
    const arch::ImageLayout layout = image_layout_of(*opened_->model).value_or(arch::ImageLayout());
    const auto tensors = std::make_shared<DirectoryTensors>(opened_->model, std::string(), layout.prefix);
    remark_other_parts(tensors->left_out(), side_);
    side_.tensors = tensors;
  }

  Result<std::optional<to_gguf::ImageMap>> map_image() const {
    const Model& model = *opened_->model;
    MU_ASSIGN(const auto source, to_gguf::find_image_source(model.path(), model.probe.links));
    if (!source) return std::nullopt;
    return to_gguf::map_image_model(opened_->model, *source, {});
  }

  void add_planned_tensors(const std::shared_ptr<const PlannedTensors>& tensors) {
    side_.naming = Naming::gguf;
    side_.tensors = tensors;
    const std::vector<LeftOut>& left_out = tensors->left_out();
    if (left_out.empty()) return;
    side_.remarks.push_back(fmt::format("not compared, because a GGUF cannot hold them: {} {}, the first is {}",
                                        left_out.size(), left_out.size() == 1 ? "tensor" : "tensors",
                                        left_out.front().name));
  }

  u64 embedding_rows() const {
    for (const Tensor& tensor : side_.tensors->list()) {
      const bool is_embedding = tensor.name == "token_embd.weight" || tensor.name.ends_with("embed_tokens.weight");
      if (is_embedding && tensor.ne.size() == 2) return tensor.ne[1];
    }
    return directory().config ? directory().config->vocab_size.value_or(0) : 0;
  }

  void add_tokenizer() {
    if (Status done = read_tokenizer(); !done) {
      // Report broken files, but not unsupported kinds. A broken config.json has already been reported.
      const bool is_broken = is_read_failure(done.error()) || done.error().code.starts_with("json-");
      if (is_broken && side_.broken.empty()) side_.broken.push_back(done.error());
      side_.remarks.push_back("the tokenizer is not compared: " + done.error().message);
    }
  }

  Status read_tokenizer() {
    tokenizer::TokenizerOptions options;
    options.embedding_rows = embedding_rows();
    options.config = opened_->model->config();
    MU_ASSIGN(const tokenizer::Tokenizer tokenizer, tokenizer::read_tokenizer(directory().folder, options));
    MU_ASSIGN(opened_->layout, gguf::layout(tokenizer_keys(tokenizer), {}));
    gguf::SetFile& file = opened_->tokenizer;
    MU_ASSIGN(file, planned_file(opened_->layout.header, opened_->layout.file_size, tokenizer.source));
    for (const gguf::KeyValue& key : file.document.keys) {
      side_.tokenizer.push_back(
          {key.key, key.type(), side_.tokenizer.size(), key.offset, listed_value(file, key.value), false});
    }
    side_.has_tokenizer = true;
    return {};
  }

  void add_layout() {
    side_.layout = {{"files", std::to_string(opened_->listing.files.size())}};
    std::string order;
    for (const Tensor& tensor : opened_->model->catalog().tensors) {
      order += tensor.name;
      order += '\n';
    }
    side_.layout.push_back({"order of tensors", std::move(order)});
  }

  const ComparisonView& view_;
  std::shared_ptr<Opened> opened_;
  ComparedModel side_;
};

}  // namespace

Result<ComparedModel> compared_directory(std::shared_ptr<const Model> model, const ComparisonView& view) {
  return DirectoryLook(std::move(model), view).look();
}

// A GGUF model as one side of a comparison.

namespace {

class GgufTensors : public ComparedTensors {
 public:
  /// If `apart` is set, lists the parts of fused tensors; if `image` is set, the published model's names and shapes.
  GgufTensors(std::shared_ptr<const Model> model, bool apart, bool image) : model_(std::move(model)) {
    if (apart) {
      apart_ = *model_->gguf;
      is_apart_ = to_directory::take_fused_apart(apart_);
    }
    if (is_apart_) catalog_ = catalog_of(apart_);
    list_ = is_apart_ ? catalog_.tensors : model_->catalog().tensors;
    if (image) take_published();
  }

  /// Returns the number of tensors that belong to other parts of the file.
  std::size_t left_out() const { return stored_.empty() ? 0 : model_->catalog().tensors.size() - stored_.size(); }

  std::string type_text(const Tensor& tensor) const override {
    return tensor.type ? ComparedTensors::type_text(tensor) : gguf::type_text(info_of(tensor));
  }
  // Offset in the data section, so that a longer header alone moves no tensor.
  std::string place_text(const Tensor& tensor) const override {
    return place_in(model_->catalog().files, tensor.file, info_of(tensor).offset);
  }
  std::unique_ptr<TensorValues> values(const Tensor& tensor) const override {
    const gguf::SetFile& file = set().files[tensor.file];
    const Tensor& stored = stored_.empty() ? tensor : model_->catalog().tensors[stored_[place_of(tensor)]];
    return std::make_unique<MatrixValues>(stored_values(stored, *file.source, file.path, file.document.big_endian));
  }

 private:
  const gguf::SplitSet& set() const { return is_apart_ ? apart_ : *model_->gguf; }

  void take_published() {
    auto published = image_tensors(set(), arch::image_layout(set()));
    for (std::size_t i = 0; i < published.size(); ++i) {
      if (!published[i]) continue;
      Tensor& tensor = published_.emplace_back(model_->catalog().tensors[i]);
      tensor.name = published[i]->name;
      tensor.ne = kept_.keep(std::move(published[i]->ne));
      stored_.push_back(i);
    }
    list_ = published_;
  }

  const gguf::TensorInfo& info_of(const Tensor& tensor) const {
    std::size_t place = stored_.empty() ? place_of(tensor) : stored_[place_of(tensor)];
    for (u32 i = 0; i < tensor.file; ++i) place -= set().files[i].document.tensors.size();
    return set().files[tensor.file].document.tensors[place];
  }

  std::shared_ptr<const Model> model_;
  bool is_apart_ = false;
  gguf::SplitSet apart_;  // the model's files with the parts of fused tensors
  Catalog catalog_;       // of these
  KeptTexts kept_;
  std::vector<Tensor> published_;    // of an image model
  std::vector<std::size_t> stored_;  // parallel: in the model's catalog
};

std::vector<LayoutFact> layout_of(const gguf::SplitSet& set) {
  const gguf::Document& first = set.files.front().document;
  std::vector<LayoutFact> facts = {{"version", std::to_string(first.version)},
                                   {"byte order", first.big_endian ? "big-endian" : "little-endian"},
                                   {"files", std::to_string(set.files.size())},
                                   {"alignment", std::to_string(first.alignment)},
                                   {"data offset", std::to_string(first.data_offset)}};
  std::string order;
  for (const gguf::KeyValue& key : first.keys) {
    if (!key.key.starts_with("split.")) order += key.key + '\n';
  }
  facts.push_back({"order of keys", std::move(order)});
  order.clear();
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) order += tensor.name + '\n';
  }
  facts.push_back({"order of tensors", std::move(order)});
  return facts;
}

}  // namespace

Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model, const ComparisonView& view) {
  const auto opened = std::make_shared<Opened>(model);
  ComparedModel side;
  side.path = model->path();
  side.kind = "GGUF";
  side.naming = Naming::gguf;
  side.facts = opened->listing.facts;
  side.key_kind = KeyKind::gguf;
  if (view.layout) side.layout = layout_of(*model->gguf);
  for (const ListedKey& key : opened->listing.keys) {
    if (key.name.starts_with("tokenizer.")) {
      side.tokenizer.push_back(key);
    } else if (!key.name.starts_with("split.") && !(view.image && key.name.starts_with(arch::image_shape_key))) {
      side.keys.push_back(key);
    }
  }
  side.has_tokenizer = !side.tokenizer.empty();
  side.opened = opened;
  const auto tensors = std::make_shared<GgufTensors>(std::move(model), view.apart, view.image);
  remark_other_parts(tensors->left_out(), side);
  side.tensors = tensors;
  return side;
}

}  // namespace modelutils
