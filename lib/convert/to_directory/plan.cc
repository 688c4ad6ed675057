#include "convert/to_directory/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "arch/image_models.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_directory/config_from_keys.h"
#include "convert/to_directory/encode.h"
#include "convert/to_directory/fused.h"
#include "convert/to_directory/projector_back.h"
#include "formats/gguf/document.h"
#include "formats/hf/config_members.h"
#include "formats/hf/model_card.h"
#include "formats/hf/sentence_modules.h"
#include "json/writer.h"
#include "model/catalog.h"
#include "rules/gguf/image_rules.h"
#include "rules/gguf/rules.h"

namespace modelutils::to_directory {

namespace {

constexpr std::string_view single_name = "model.safetensors";
constexpr std::string_view index_name = "model.safetensors.index.json";
constexpr std::size_t most_shards = 99999;

// Returns the folder of a dense layer after the model: "2_Dense" for "2_Dense.linear.weight". Empty for other tensors.
std::string_view folder_of_dense(std::string_view tensor) {
  const std::string_view folder = tensor.substr(0, tensor.find('.'));
  return folder.ends_with("_Dense") ? folder : std::string_view();
}

std::string shard_name(std::size_t number, std::size_t count) {
  return count == 1 ? std::string(single_name) : fmt::format("model-{:05}-of-{:05}.safetensors", number + 1, count);
}

class DirectoryPlanner {
 public:
  explicit DirectoryPlanner(const GgufToMlxOptions& options) : options_(options) {}

  Result<DirectoryPlan> plan() {
    plan_.report.kind = ReportKind::gguf2mlx;
    plan_.report.input = options_.input;
    plan_.report.output = options_.output;
    plan_.report.dry_run = options_.dry_run;
    MU_TRY(open_input());
    is_image_ = !options_.raw_names && !arch::image_model_of(set()).empty();
    if (options_.raw_names) {
      plan_.map = map_raw(catalog());
    } else if (is_image_) {
      MU_TRY(map_image_model());
    } else {
      MU_TRY(understand());
    }
    MU_ASSIGN(plan_.forms, choose_forms(catalog(), plan_.map.tensors, options_.forms, options_.threads));
    MU_TRY(lay_out());
    if (!plan_.is_file) add_index();
    if (!options_.raw_names && !is_image_) MU_TRY(add_side_files());
    report_tensors();
    return std::move(plan_);
  }

 private:
  const gguf::SplitSet& set() const { return *plan_.source.gguf; }
  const Catalog& catalog() const { return plan_.source.catalog(); }

  tl::unexpected<Error> refused(std::string code, std::string message) const {
    return input_error(std::move(code), std::move(message), {}, {}, options_.input);
  }

  // Opens the file and refuses it if verify would report an error. Raw tensors may break rules that only loaders need.
  Status open_input() {
    MU_ASSIGN(gguf::SplitSet opened, gguf::open_set(options_.input, options_.links));
    plan_.source = Model(std::move(opened), options_.input);
    for (const gguf::SetFile& file : set().files) {
      if (file.source->size()) continue;
      return input_error("io-not-regular", "is a pipe; the tensors are read out of order, so save it to a file first",
                         {}, {}, file.path);
    }
    const Findings container = gguf_container_findings(set());
    if (const Finding* broken = first_error(container)) return tl::make_unexpected(with_path(*broken, options_.input));
    MU_TRY(refuse_foreign_types(set()));
    plan_.report.remarks.add_all(leading_warnings(container));
    const gguf::Document& document = set().files.front().document;
    if (document.big_endian) {
      return refused("convert-big-endian", "is a big-endian file; only little-endian files can be converted");
    }
    index_ = std::make_unique<gguf::Index>(document);
    plan_.report.architecture = index_->architecture();
    if (catalog().readable() == 0) {
      return refused("convert-no-tensors", index_->key("tokenizer.ggml.model") != nullptr
                                               ? "is a vocabulary without a model: it has no tensors"
                                               : "has no tensors");
    }
    return {};
  }

  // Image models have no packed form and no config.json that could be derived: only their values are written, under the
  // published names.
  Status map_image_model() {
    if (!options_.forms.dequantize) {
      return usage_error("image and video models are written unquantised: add --dequantize bf16, f16 or f32");
    }
    if (!options_.projector.empty() || !options_.model_type.empty() || !options_.pre.empty()) {
      return usage_error("--mmproj, --model-type and --pre have no effect on image and video models");
    }
    const Findings findings = image_findings(set()).findings();
    if (const Finding* broken = first_image_error(findings)) {
      return tl::make_unexpected(with_path(*broken, options_.input));
    }
    plan_.is_file = options_.output.ends_with(".safetensors");
    plan_.map = map_image(set(), arch::image_layout(set()), catalog());
    plan_.report.left_out = plan_.map.left_out;
    if (plan_.map.tensors.empty()) return refused("convert-no-tensors", "has no tensors of a diffusion model");
    std::map<std::string_view, u64> parts;
    for (const LeftOut& tensor : plan_.map.left_out) ++parts[arch::image_part_of(tensor.name)];
    for (const auto& [part, count] : parts) {
      plan_.report.remarks.note(Scope::model, "convert-left-out",
                                fmt::format("'{}': {} {} not part of the diffusion model and left out", part,
                                            counted(count, "tensor"), verb(count, "is", "are")));
    }
    return {};
  }

  Status understand() {
    HfConfigOptions config_options;
    config_options.model_type = options_.model_type;
    MU_ASSIGN(config_options.is_tied, is_tied(catalog()));
    const FindingLog rules = gguf_structure_rules(set(), TokenTexts::read, options_.threads);
    const Findings of_loader = gguf_loader_rules(set()).findings();  // before fused tensors are split
    if (take_fused_apart(*plan_.source.gguf)) {
      plan_.source = Model(std::move(*plan_.source.gguf), options_.input);  // with a new catalog
      index_ = std::make_unique<gguf::Index>(set().files.front().document);
    }
    MU_ASSIGN(config_, hf_config_from_keys(set(), config_options));
    const Findings findings = rules.findings();
    if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, options_.input));
    // Plain directories use the published names, which both readers know for most families. Only mlx-lm reads packed
    // ones.
    const bool has_projector = !options_.projector.empty();
    const bool is_for_mlx =
        has_projector ? !options_.forms.dequantize : will_be_packed() || config_.family->config.only_mlx_names;
    const DirectoryStyle style = is_for_mlx ? DirectoryStyle::mlx : DirectoryStyle::hugging_face;
    MU_ASSIGN(plan_.map, map_to_directory(*config_.family, config_.sizes, set(), *index_, catalog(), style));
    // Reported last, since the mapping has better messages. A directory made from such a file would be just as wrong.
    if (const Finding* broken = first_error(of_loader)) return tl::make_unexpected(with_path(*broken, options_.input));
    is_mlx_ = style == DirectoryStyle::mlx;
    set_dense_apart();
    plan_.report.model_type = config_.model_type;
    plan_.report.assumed = config_.assumed;
    plan_.report.left_out = plan_.map.left_out;
    warn_of_losses(plan_.map.left_out, plan_.report.remarks);
    return has_projector ? add_projector(style) : Status();
  }

  // Adds the towers of a projector file. In the joined catalog, their parts follow the language model's.
  Status add_projector(DirectoryStyle style) {
    MU_ASSIGN(gguf::SplitSet towers, gguf::open_set(options_.projector, options_.links));
    for (const Findings& findings : {gguf_container_findings(towers), gguf_loader_rules(towers).findings()}) {
      if (const Finding* broken = first_error(findings))
        return tl::make_unexpected(with_path(*broken, options_.projector));
    }
    MU_TRY(refuse_foreign_types(towers));
    if (towers.files.front().document.big_endian || !towers.files.front().source->size()) {
      return input_error("convert-projector", "is a pipe or a big-endian file", {}, {}, options_.projector);
    }
    const std::size_t before = catalog().tensors.size();
    const TextSide text{set(), config_.class_name, config_.model_type};
    MU_ASSIGN(ProjectorBack back, map_projector_back(towers, catalog_of(towers), text, style));
    gguf::SplitSet both = std::move(*plan_.source.gguf);
    std::ranges::move(towers.files, std::back_inserter(both.files));
    plan_.source = Model(std::move(both), options_.input);
    index_ = std::make_unique<gguf::Index>(set().files.front().document);
    for (DirectoryTensor& tensor : plan_.map.tensors) tensor.name = name_in_model(back, std::move(tensor.name));
    for (DirectoryTensor& tensor : back.tensors) {
      for (RecipePart& part : tensor.parts) part.source += before;
      plan_.map.tensors.push_back(std::move(tensor));
    }
    config_.config = joined_config(back, std::move(config_.config));
    if (!back.model_type.empty()) plan_.report.model_type = back.model_type;
    plan_.report.assumed.insert(plan_.report.assumed.end(), back.assumed.begin(), back.assumed.end());
    plan_.report.left_out.insert(plan_.report.left_out.end(), back.left_out.begin(), back.left_out.end());
    preprocessor_ = std::move(back.preprocessor);
    return {};
  }

  bool will_be_packed() const {
    return !options_.forms.dequantize &&
           std::any_of(catalog().tensors.begin(), catalog().tensors.end(),
                       [](const Tensor& tensor) { return type_info(*tensor.type).is_quantized; });
  }

  // Moves the dense layers after the model to the end, because each has a folder of its own. They are not quantised.
  void set_dense_apart() {
    std::vector<DirectoryTensor>& tensors = plan_.map.tensors;
    const auto dense = std::stable_partition(tensors.begin(), tensors.end(), [](const DirectoryTensor& tensor) {
      return folder_of_dense(tensor.name).empty();
    });
    std::for_each(dense, tensors.end(), [](DirectoryTensor& tensor) { tensor.may_quantize = false; });
  }

  // The tensors of one module, and their size.
  struct Parts {
    std::vector<safetensors::OutTensor> tensors;  // one, or two or three with scales (and biases)
    u64 bytes = 0;
  };

  static Parts parts_of(const DirectoryTensor& tensor, const DirectoryForm& form) {
    const EncodedSizes row = encoded_sizes(tensor, form);
    Parts parts;
    parts.bytes = (row.weight + row.scales + row.biases) * tensor.rows();
    if (!form.is_packed()) {
      parts.tensors.push_back({tensor.name, form.type, tensor.shape()});
      return parts;
    }
    const auto with_columns = [&](u64 columns) {
      std::vector<u64> shape = tensor.shape();
      shape.back() = columns;
      return shape;
    };
    const std::string module = tensor.module();
    const u64 groups = tensor.ne.front() / form.params.group_size;
    parts.tensors.push_back({tensor.name, TensorType::U32, with_columns(tensor.ne.front() / 32 * form.params.bits)});
    parts.tensors.push_back({module + ".scales", form.type, with_columns(groups)});
    if (row.biases > 0) parts.tensors.push_back({module + ".biases", form.type, with_columns(groups)});
    return parts;
  }

  Status lay_out() {
    std::vector<Parts> parts;
    std::vector<std::size_t> starts = {0};
    std::vector<std::size_t> dense;
    u64 size = 0;
    for (std::size_t i = 0; i < plan_.map.tensors.size(); ++i) {
      parts.push_back(parts_of(plan_.map.tensors[i], plan_.forms[i]));
      const std::string_view folder = folder_of_dense(plan_.map.tensors[i].name);
      if (!folder.empty()) {
        dense.push_back(i);
        parts.back().tensors.front().name.erase(0, folder.size() + 1);
        continue;
      }
      if (size > 0 && size + parts.back().bytes > options_.shard_size && !plan_.is_file) {
        starts.push_back(i);
        size = 0;
      }
      size += parts.back().bytes;
    }
    if (starts.size() > most_shards) {
      return usage_error(fmt::format("--shard-size would make {} files, at most {} are allowed; choose a larger size",
                                     starts.size(), most_shards));
    }
    plan_.stream.resize(parts.size());
    const safetensors::OutMetadata metadata = {{"format", is_mlx_ ? "mlx" : "pt"}};
    for (std::size_t f = 0; f < starts.size(); ++f) {
      const std::size_t end = f + 1 < starts.size() ? starts[f + 1] : parts.size() - dense.size();
      std::string name = plan_.is_file ? options_.output : shard_name(f, starts.size());
      MU_TRY(lay_out_shard(std::move(name), metadata, parts, starts[f], end));
    }
    for (const std::size_t i : dense) {
      const std::string_view folder = folder_of_dense(plan_.map.tensors[i].name);
      MU_TRY(lay_out_shard(fmt::format("{}/{}", folder, single_name), metadata, parts, i, i + 1));
    }
    return {};
  }

  Status lay_out_shard(std::string name, const safetensors::OutMetadata& metadata, const std::vector<Parts>& parts,
                       std::size_t begin, std::size_t end) {
    std::vector<safetensors::OutTensor> tensors;
    for (std::size_t i = begin; i < end; ++i) {
      tensors.insert(tensors.end(), parts[i].tensors.begin(), parts[i].tensors.end());
    }
    MU_ASSIGN(safetensors::OutLayout layout, safetensors::layout(metadata, tensors));
    std::size_t next = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const DirectoryTensor& tensor = plan_.map.tensors[i];
      StreamTensor& stream = plan_.stream[i];
      stream.file = plan_.files.size();
      stream.rows = tensor.rows();
      // With `by_element`, reads as many rows as possible at once.
      if (tensor.by_element) stream.chunk_rows = rows_at_once(tensor);
      stream.is_measured = !plan_.forms[i].exact;
      const EncodedSizes row = encoded_sizes(tensor, plan_.forms[i]);
      const std::array<u64, max_parts> row_bytes = {row.weight, row.scales, row.biases};
      for (std::size_t p = 0; p < parts[i].tensors.size(); ++p, ++next) {
        stream.parts[p] = {layout.header.size() + layout.offsets[next].first, row_bytes[p]};
        if (name.find('/') != std::string::npos) continue;  // not part of the index
        weight_map_[tensors[next].name] = name;
        total_size_ += layout.offsets[next].second - layout.offsets[next].first;
      }
    }
    plan_.report.files.push_back({name, layout.file_size, tensors.size()});
    plan_.files.push_back({std::move(name), std::move(layout.header), layout.file_size});
    return {};
  }

  void add_index() {
    u64 parameters = 0;
    for (const DirectoryTensor& tensor : plan_.map.tensors) parameters += tensor.elements();
    json::Writer out(json::Writer::Style::pretty);
    {
      const auto in_object = out.object();
      {
        const auto in_metadata = out.object("metadata");
        out.member("total_size", total_size_);
        out.member("total_parameters", parameters);
      }
      const auto in_weight_map = out.object("weight_map");
      for (const auto& [name, file] : weight_map_) out.member(name, file);
    }
    out.end_line();
    add_file(std::string(index_name), out.text());
  }

  void add_file(std::string name, std::string content) {
    plan_.report.files.push_back({name, content.size(), 0});
    plan_.side_files.emplace_back(std::move(name), std::move(content));
  }

  Status add_side_files() {
    hf::ConfigMembers config = config_.config;
    config.push_back({"torch_dtype", torch_dtype(plan_.map, plan_.forms)});
    if (const auto members = quantization_members(plan_.map, plan_.forms)) {
      config.push_back({"quantization", *members});
      config.push_back({"quantization_config", *members});
    }
    add_file("config.json", hf::config_text(config));
    add_sentence_modules();
    if (!preprocessor_.empty()) add_file("preprocessor_config.json", hf::config_text(preprocessor_));
    if (!config_.generation.empty()) add_file("generation_config.json", hf::config_text(config_.generation));
    hf::ModelCardOptions card;
    card.library = is_mlx_ ? "mlx" : "transformers";
    const std::string source = base_name_of(set().files.front().path);
    card.source = source;
    card.made_by = "gguf2mlx of modelutils";
    card.is_reranker = plan_.map.has_answers;
    MU_ASSIGN(std::string text, hf::model_card_text(set(), card));
    add_file("README.md", std::move(text));
    return options_.no_tokenizer ? Status{} : add_tokenizer();
  }

  // Writes modules.json and the folders that it names, if the keys state a pooling or the file has dense layers after
  // it.
  void add_sentence_modules() {
    hf::SentenceModules modules;
    const auto pooling = index_->unsigned_value(index_->arch_key("pooling_type")).value_or(0);
    if (pooling > 0 && pooling < static_cast<u64>(hf::Pooling::rank))
      modules.pooling = static_cast<hf::Pooling>(pooling);
    std::vector<hf::DenseSizes> dense;
    u64 width = config_.sizes.get(arch::symbol::embedding);
    for (const DirectoryTensor& tensor : plan_.map.tensors) {
      const std::string folder(folder_of_dense(tensor.name));
      if (folder.empty() || tensor.ne.size() != 2) continue;
      modules.dense.push_back(folder);
      dense.push_back({tensor.ne[0], tensor.ne[1]});
    }
    for (auto& [name, content] : hf::sentence_module_files(modules, dense, width)) {
      add_file(std::move(name), std::move(content));
    }
  }

  Status add_tokenizer() {
    tokenizer::RebuildOptions rebuild;
    rebuild.pre = options_.pre;
    auto rebuilt = tokenizer::tokenizer_files_from_keys(set(), rebuild);
    if (!rebuilt) {
      rebuilt.error().message += "; --no-tokenizer leaves it out";
      return tl::make_unexpected(in_file(std::move(rebuilt.error()), options_.input));
    }
    plan_.tokenizer = std::move(*rebuilt);
    plan_.report.remarks.add_all(plan_.tokenizer->findings);
    for (const std::string_view name : plan_.tokenizer->file_names()) {
      u64 bytes = 0;
      plan_.tokenizer->write_file(name, [&](std::string_view piece) { bytes += piece.size(); });
      plan_.report.files.push_back({std::string(name), bytes, 0});
    }
    return {};
  }

  void report_tensors() {
    for (std::size_t i = 0; i < plan_.map.tensors.size(); ++i) {
      const DirectoryTensor& tensor = plan_.map.tensors[i];
      const DirectoryForm& form = plan_.forms[i];
      TensorReport report;
      report.name = tensor.name;
      for (const RecipePart& part : tensor.parts) {
        const Tensor& source = catalog().tensors[part.source];
        report.source += report.source.empty() ? "" : " + ";
        report.source += source.name;
        const std::string type(type_name(*source.type));
        if (report.source_form.find(type) == std::string::npos) {
          report.source_form += (report.source_form.empty() ? "" : " + ") + type;
        }
      }
      if (tensor.parts.empty()) report.source = report.source_form = "key";
      report.form = form.text();
      report.shape = tensor.shape();
      for (const StreamTensor::Part& part : plan_.stream[i].parts) report.bytes += part.row_bytes * tensor.rows();
      report.exact = form.exact;
      report.rms = form.exact ? std::optional(form.rms) : std::nullopt;
      report.reason = form.reason;
      plan_.report.tensors.push_back(std::move(report));
    }
    remark_float32();
  }

  // A single F32 tensor makes all activations F32, as does a mix of BF16 and F16. All-F32 plain directories are not
  // remarked on: they were asked for, or the file is F32.
  void remark_float32() {
    const auto count = [&](TensorType type) {
      return std::count_if(plan_.forms.begin(), plan_.forms.end(),
                           [&](const DirectoryForm& form) { return form.type == type; });
    };
    const auto all = static_cast<std::ptrdiff_t>(plan_.forms.size());
    const auto wide = count(TensorType::F32);
    const auto half = count(TensorType::F16);
    const auto brain = count(TensorType::BF16);
    const bool is_packed =
        std::any_of(plan_.forms.begin(), plan_.forms.end(), [](const DirectoryForm& form) { return form.is_packed(); });
    if (options_.raw_names || is_image_ || (wide == all && !is_packed)) return;
    std::string what;
    if (wide > 0) {
      what = fmt::format("{} of {} tensors have F32 values or scales", wide, all);
    } else if (half > 0 && brain > 0) {
      what = fmt::format("{} of {} tensors have F16 values or scales, {} have BF16", half, all, brain);
    } else {
      return;
    }
    plan_.report.remarks.note(
        Scope::model, "convert-float32",
        what +
            ": MLX then computes activations in F32, which takes more time and memory; --scales f16 and --dtype "
            "f16 avoid that");
  }

  const GgufToMlxOptions& options_;
  DirectoryPlan plan_;
  std::unique_ptr<gguf::Index> index_;
  HfConfig config_;
  hf::ConfigMembers preprocessor_;
  bool is_mlx_ = false;
  bool is_image_ = false;
  std::map<std::string, std::string> weight_map_;
  u64 total_size_ = 0;
};

}  // namespace

Result<DirectoryPlan> plan_directory(const GgufToMlxOptions& options) {
  const LogStep step("plan");
  return DirectoryPlanner(options).plan();
}

bool is_name_of_ours(std::string_view name) {
  static constexpr std::string_view names[] = {single_name,
                                               index_name,
                                               "config.json",
                                               "generation_config.json",
                                               "preprocessor_config.json",
                                               "tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "chat_template.jinja",
                                               "README.md",
                                               "modules.json"};
  if (std::find(std::begin(names), std::end(names), name) != std::end(names)) return true;
  // Files of modules: "1_Pooling/config.json".
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view folder = name.substr(0, slash);
    const std::string_view file = name.substr(slash + 1);
    return (folder.ends_with("_Pooling") && file == "config.json") ||
           (folder.ends_with("_Dense") && (file == "config.json" || file == single_name));
  }
  // Sharded names such as "model-00001-of-00003.safetensors".
  constexpr std::string_view pattern = "model-#####-of-#####.safetensors";
  return name.size() == pattern.size() &&
         std::equal(name.begin(), name.end(), pattern.begin(),
                    [](char c, char wanted) { return wanted == '#' ? c >= '0' && c <= '9' : c == wanted; });
}

}  // namespace modelutils::to_directory
