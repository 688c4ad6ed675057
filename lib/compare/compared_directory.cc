// A directory or file of safetensors as a side of a comparison.
#include <fmt/core.h>

#include <deque>
#include <optional>

#include "arch/families.h"
#include "base/path.h"
#include "base/text.h"
#include "compare/compared_model.h"
#include "convert/to_directory/fused.h"
#include "convert/to_gguf/keys.h"
#include "convert/to_gguf/rows.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/write.h"
#include "formats/hf/names.h"
#include "io/model_folder.h"
#include "model/catalog.h"
#include "model/hf_model.h"
#include "model/listing/listing.h"
#include "model/listing/model_facts.h"
#include "model/listing/safetensors_listing.h"
#include "tensor/types.h"
#include "tokenizer/read/read_tokenizer.h"

namespace modelutils {

namespace {

struct OpenedDirectory {
  std::shared_ptr<const Model> model;
  std::unique_ptr<ListingSource> source;
  Listing listing;
  std::unique_ptr<HfModel> hf;  // if its tensors can be mapped
  TensorMap map;
  std::deque<std::string> texts;
  gguf::SetFile tokenizer;  // as the keys of a GGUF in memory
};

double plain_bits(std::optional<TensorType> type) {
  return type ? 8.0 * type_info(*type).block_bytes / type_info(*type).block_elements : 0.0;
}

class DirectoryLook {
 public:
  DirectoryLook(std::shared_ptr<const Model> model, const ComparisonView& view)
      : view_(view), opened_(std::make_shared<OpenedDirectory>()) {
    side_.path = model->path();
    opened_->model = std::move(model);
  }

  ComparedModel look() {
    OpenedDirectory& opened = *opened_;
    opened.source = safetensors_listing(*opened.model);
    opened.listing = opened.source->list({});
    side_.kind = opened.listing.kind;
    side_.facts = opened.listing.facts;
    if (const hf::Config* config = opened.model->config()) {
      // By the name that a GGUF would have.
      if (const arch::Family* family = arch::find_family(*config)) side_.facts.architecture = family->gguf;
    }
    side_.key_kind = KeyKind::directory;
    const SafetensorsModel& files = directory();
    if (files.set.is_directory && files.config_error) side_.broken.push_back(*files.config_error);
    add_keys();
    if (view_.naming == Naming::own || !add_mapped_tensors()) add_own_tensors();
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

  // As GGUF tensors, if the family is known and has a place for every tensor.
  bool add_mapped_tensors() {
    OpenedDirectory& opened = *opened_;
    Result<std::unique_ptr<HfModel>> model = understand_model(opened.model);
    Result<TensorMap> map = model ? map_tensors(**model) : tl::make_unexpected(model.error());
    if (!map) {
      unmapped_ = fmt::format("{}{}{}", map.error().where, map.error().where.empty() ? "" : " ", map.error().message);
      side_.remarks.push_back("tensors are compared by name, because they cannot be mapped to GGUF's: " + unmapped_);
      return false;
    }
    side_.naming = Naming::gguf;
    opened.hf = std::move(*model);
    opened.map = std::move(*map);
    for (const MappedTensor& mapped : opened.map.tensors) {
      ComparedTensor tensor;
      tensor.name = mapped.name;
      tensor.ne = mapped.ne;
      tensor.type = "F32";
      tensor.bits = 32;
      if (!mapped.parts.empty()) describe(mapped, tensor);
      tensor.values = [hf = opened.hf.get(), &mapped] { return values_of(*hf, mapped); };
      side_.tensors.push_back(std::move(tensor));
    }
    if (const std::size_t count = opened.hf->left_out.size(); count > 0) {
      side_.remarks.push_back(fmt::format("not compared, because a GGUF cannot hold them: {} {}, the first is {}",
                                          count, count == 1 ? "tensor" : "tensors", opened.hf->left_out.front().name));
    }
    return true;
  }

  void describe(const MappedTensor& mapped, ComparedTensor& tensor) const {
    const Weight& first = opened_->hf->matrices[mapped.parts.front().source];
    tensor.type = side_.kept->keep(form_info(first.form).short_text(first.form));
    tensor.bits = form_info(first.form).bits(first.form);
    tensor.offset = first.codes().offset;
    std::size_t last = ~std::size_t{0};
    for (const RecipePart& part : mapped.parts) {
      if (part.source == last) continue;
      last = part.source;
      const Weight& matrix = opened_->hf->matrices[part.source];
      tensor.bytes += matrix.bytes();
    }
  }

  void add_own_tensors() {
    for (const ListedTensor& listed : opened_->listing.tensors) {
      if (listed.is_part) continue;
      ComparedTensor tensor;
      const Tensor& stored = *listed.stored;
      tensor.name = side_.kept->keep(std::string(hf::canonical_name(stored.name)));
      tensor.type = listed.type_name;
      tensor.bits = plain_bits(stored.type);
      tensor.ne = stored.ne;
      tensor.bytes = stored.bytes;
      tensor.offset = stored.offset;
      if (opened_->listing.files.size() > 1) tensor.file = opened_->listing.files[stored.file].name;
      tensor.problem = problem_text(stored.unreadable);
      if (stored.is_readable()) set_values(stored, tensor);
      side_.tensors.push_back(std::move(tensor));
    }
  }

  void set_values(const Tensor& stored, ComparedTensor& tensor) {
    const Model& model = *opened_->model;
    if (const Weight* weight = model.weight_of(stored)) {
      tensor.ne = weight->ne;
      tensor.type = side_.kept->keep(form_info(weight->form).short_text(weight->form));
      tensor.bits = form_info(weight->form).bits(weight->form);
      tensor.bytes = weight->bytes();
    }
    if (view_.naming == Naming::gguf) {
      if (auto name = model.gguf_name(stored)) tensor.name = side_.kept->keep(std::move(*name));
      if (problem_.empty())
        problem_ = side_.kept->keep("the directory's tensors cannot be mapped to GGUF's: " + unmapped_);
      tensor.problem = problem_;
    } else {
      tensor.values = [&model, &stored] { return std::make_unique<MatrixValues>(model.values_of(stored)); };
    }
  }

  u64 embedding_rows() const {
    for (const ComparedTensor& tensor : side_.tensors) {
      const bool is_embedding = tensor.name == "token_embd.weight" || tensor.name.ends_with("embed_tokens.weight");
      if (is_embedding && tensor.ne.size() == 2) return tensor.ne[1];
    }
    return directory().config ? directory().config->vocab_size.value_or(0) : 0;
  }

  void add_tokenizer() {
    if (Status done = read_tokenizer(); !done) {
      // A file that is broken, and not one of a kind that is not supported; a broken config.json is known already.
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
    MU_ASSIGN(const gguf::OutLayout layout, gguf::layout(tokenizer_keys(tokenizer), {}));
    const auto bytes = std::as_bytes(std::span(layout.header));
    gguf::SetFile& file = opened_->tokenizer;
    file.source = std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()), tokenizer.source);
    MU_ASSIGN(file.document, gguf::parse(*file.source));
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
    for (const ListedTensor& tensor : opened_->listing.tensors) {
      order += tensor.name();
      order += '\n';
    }
    side_.layout.push_back({"order of tensors", std::move(order)});
  }

  const ComparisonView& view_;
  std::shared_ptr<OpenedDirectory> opened_;
  std::string unmapped_;
  std::string_view problem_;  // of all tensors, from that
  ComparedModel side_;
};

}  // namespace

Result<ComparedModel> compared_directory(std::shared_ptr<const Model> model, const ComparisonView& view) {
  return DirectoryLook(std::move(model), view).look();
}

// A GGUF model as a side of a comparison.

namespace {

struct OpenedGguf {
  std::shared_ptr<const Model> model;
  std::optional<gguf::SplitSet> apart;  // the model's files with the parts of fused tensors
  std::unique_ptr<ListingSource> source;
  Listing listing;  // without tensors
};

double bits_of(std::optional<TensorType> type) {
  if (!type) return 0;
  const TypeInfo& info = type_info(*type);
  return 8.0 * info.block_bytes / info.block_elements;
}

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

// Not from the model's catalog: a comparison of many tensors needs less memory without it.
void add_tensors(const gguf::SplitSet& set, ComparedModel& side) {
  std::size_t count = 0;
  for (const gguf::SetFile& file : set.files) count += file.document.tensors.size();
  side.tensors.reserve(count);
  for (const gguf::SetFile& file : set.files) {
    const std::string_view name = set.is_split() ? side.kept->keep(base_name_of(file.path)) : std::string_view();
    for (const gguf::TensorInfo& info : file.document.tensors) {
      const Tensor stored = tensor_of(file.document, info);
      ComparedTensor& tensor = side.tensors.emplace_back();
      tensor.name = stored.name;
      tensor.type = stored.type ? type_name(*stored.type) : side.kept->keep(gguf_type_text(info));
      tensor.bits = bits_of(stored.type);
      tensor.ne = stored.ne;
      tensor.bytes = stored.bytes;
      tensor.offset = info.offset;  // a longer header alone moves nothing
      tensor.file = name;
      tensor.problem = problem_text(stored.unreadable);
      if (!stored.is_readable()) continue;
      tensor.values = [&file, &info] {
        const gguf::Document& document = file.document;
        return std::make_unique<MatrixValues>(
            stored_values(tensor_of(document, info), *file.source, file.path, document.big_endian));
      };
    }
  }
}

}  // namespace

Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model, const ComparisonView& view) {
  const auto opened = std::make_shared<OpenedGguf>();
  opened->model = std::move(model);
  const gguf::SplitSet& set = *opened->model->gguf;
  opened->source = gguf_listing(*opened->model);
  ListingRequest request;
  request.tensors = false;
  opened->listing = opened->source->list(request);
  ComparedModel side;
  side.path = opened->model->path();
  side.kind = "GGUF";
  side.naming = Naming::gguf;
  side.facts = opened->listing.facts;
  side.key_kind = KeyKind::gguf;
  if (view.layout) side.layout = layout_of(set);
  for (const ListedKey& key : opened->listing.keys) {
    if (key.name.starts_with("tokenizer.")) {
      side.tokenizer.push_back(key);
    } else if (!key.name.starts_with("split.")) {
      side.keys.push_back(key);
    }
  }
  side.has_tokenizer = !side.tokenizer.empty();
  if (view.apart) {
    opened->apart = set;
    if (!to_directory::take_fused_apart(*opened->apart)) opened->apart.reset();
  }
  add_tensors(opened->apart ? *opened->apart : set, side);
  side.opened = opened;
  return side;
}

}  // namespace modelutils
