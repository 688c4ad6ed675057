#include "convert/to_gguf/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "arch/families.h"
#include "arch/key_writer.h"
#include "arch/prediction_rows.h"
#include "base/log.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/file_layout.h"
#include "convert/to_gguf/image_map.h"
#include "convert/to_gguf/image_source.h"
#include "convert/to_gguf/keys.h"
#include "convert/to_gguf/projector_map.h"
#include "convert/to_gguf/reranker.h"
#include "formats/gguf/write.h"
#include "formats/hf/config_members.h"
#include "formats/hf/model_card.h"
#include "io/file_kind.h"
#include "io/remote_address.h"
#include "model/forms/foreign_forms.h"
#include "rules/directory/mlx_rules.h"
#include "rules/safetensors/rules.h"
#include "tensor/types.h"
#include "tokenizer/read/read_tokenizer.h"

namespace modelutils::to_gguf {

namespace {

class Planner {
 public:
  Planner(MlxToGgufOptions options, std::shared_ptr<const Model> opened)
      : options_(std::move(options)), opened_(std::move(opened)) {}

  Result<GgufPlan> plan() {
    if (opened_ == nullptr && !options_.projector) {
      MU_ASSIGN(const bool is_image, map_image());
      if (is_image) return plan_image();
    }
    if (opened_ == nullptr) {
      MU_ASSIGN(Model opened, open_source());
      opened_ = std::make_shared<const Model>(std::move(opened));
    }
    MU_TRY(options_.projector ? map_towers() : map_language_model());
    MU_TRY(merge_adapters());
    plan_.report.left_out = plan_.map.left_out;
    const std::vector<LeftOut>& left_out = plan_.model->left_out;
    plan_.report.left_out.insert(plan_.report.left_out.end(), left_out.begin(), left_out.end());
    warn_of_losses(left_out, plan_.report.remarks, options_.with_projector.empty());
    plan_.report.remarks.add_all(plan_.map.remarks);
    remark_prediction();
    MU_TRY(choose_forms());
    MU_TRY(add_scales());
    for (std::size_t i = 0; i < plan_.map.tensors.size(); ++i) MU_TRY(report_tensor(i));
    MU_TRY(make_keys());
    if (options_.prediction == PredictionChoice::only) keep_prediction_alone();
    plan_.report.architecture = plan_.model->family->gguf;
    return finish();
  }

 private:
  Status map_language_model() {
    MU_ASSIGN(plan_.model, understand_model(opened_, options_.prediction));
    plan_.model->directory = options_.directory;
    MU_TRY(find_answers(*plan_.model, options_.rerank, plan_.report.remarks));
    MU_ASSIGN(plan_.map, map_tensors(*plan_.model));
    return {};
  }

  // Opens an image model and maps its tensors. Returns false for other models.
  Result<bool> map_image() {
    std::optional<ImageSource> source;
    if (options_.is_gguf) {
      source = ImageSource{.path = options_.directory, .class_name = {}, .config = {}, .components = {}};
    } else {
      if (options_.opened == nullptr) {
        MU_ASSIGN(options_.opened, open_once(options_.directory));
      }
      MU_ASSIGN(source, find_image_source(options_.directory, options_.links, options_.opened));
    }
    const auto is_other = [&]() -> Result<bool> {
      if (options_.image_architecture.empty() && !options_.max_dims) return false;
      return usage_error("--arch and --max-dims are for image and video models");
    };
    if (!source ||
        (options_.is_folder && !is_remote_folder(options_.directory) && !os::is_folder(options_.directory))) {
      return is_other();
    }
    if (!source->is_certain && !safetensors::is_model_folder(source->path)) return is_other();
    MU_ASSIGN(const std::shared_ptr<const Model> model, open_image(*source));
    ImageOptions wanted{.architecture = options_.image_architecture,
                        .max_dimensions = options_.max_dims.value_or(arch::most_image_dimensions),
                        .fallback = {},
                        .exact = options_.repack.exact};
    if (options_.has_fallback) wanted.fallback = options_.repack.fallback;
    MU_ASSIGN(std::optional<ImageMap> made, map_image_model(model, *source, wanted));
    if (!made) return is_other();
    plan_.model = std::move(made->model);
    plan_.model->directory = options_.directory;
    plan_.map = std::move(made->map);
    plan_.image =
        ImagePlan{made->architecture, std::move(made->kept), std::move(made->inputs), std::move(made->only_order)};
    keys_ = std::move(made->keys);
    return true;
  }

  Result<std::shared_ptr<const Model>> open_image(const ImageSource& source) const {
    if (options_.is_gguf) {
      MU_ASSIGN(gguf::SplitSet set, gguf::open_set(source.path));
      return std::make_shared<const Model>(std::move(set), source.path);
    }
    MU_ASSIGN(SafetensorsModel opened, source.opened != nullptr
                                           ? open_safetensors_stream(source.path, source.opened)
                                           : open_safetensors_model(source.path, ModulesWanted::none, options_.links,
                                                                    {}, options_.ignore_index));
    auto model = std::make_shared<const Model>(std::move(opened));
    MU_ASSIGN(const CheckedModel checked, check_safetensors(*model));
    for (const Finding& finding : checked.findings.findings()) {
      if (finding.severity != Severity::error || finding.scope == Scope::data || !source.is_certain) continue;
      return tl::make_unexpected(with_path(finding, source.path));
    }
    return model;
  }

  Result<GgufPlan> plan_image() {
    if (!options_.adapters.empty()) return usage_error("--lora cannot be combined with an image or video model");
    if (options_.split_max_size) {
      return usage_error("--split-max-size cannot be combined with an image model, whose readers take one file");
    }
    if (options_.name) keys_.push_back(gguf::make_key_string("general.name", *options_.name));
    plan_.report.left_out = plan_.model->left_out;
    plan_.report.remarks.add_all(plan_.map.remarks);
    plan_.report.name = options_.name.value_or("");
    plan_.report.architecture = plan_.image->architecture->name;
    MU_TRY(choose_forms());
    for (std::size_t i = 0; i < plan_.map.tensors.size(); ++i) MU_TRY(report_tensor(i));
    return finish();
  }

  // Lays out the files and opens them.
  Result<GgufPlan> finish() {
    MU_TRY(lay_out_files(plan_, options_, keys_));
    plan_.report.input = options_.directory;
    plan_.report.dry_run = options_.dry_run;
    return std::move(plan_);
  }

  Status map_towers() {
    MU_ASSIGN(ProjectorMap made, map_projector(opened_, options_.projector_type));
    plan_.model = std::move(made.model);
    plan_.model->directory = options_.directory;
    plan_.map = std::move(made.map);
    plan_.own_keys = std::move(made.keys);
    return {};
  }

  // Opens the directory and refuses it if verify would report an error.
  Result<Model> open_source() {
    if (options_.opened != nullptr) {
      return input_error("convert-not-directory",
                         fmt::format("is {}; only an image or video model in a safetensors file can be read from a "
                                     "pipe; pass the directory of a language model",
                                     file_kind_text(file_kind(*options_.opened))),
                         {}, {}, options_.opened->name());
    }
    MU_ASSIGN(PathProbe probe, probe_path(options_.directory, options_.links));
    probe.ignore_index = options_.ignore_index;
    if (!probe.is_directory) {
      const FileKind kind = file_kind(probe.head);
      return input_error("convert-not-directory",
                         kind == FileKind::unknown
                             ? "is not a directory; pass the model's directory"
                             : fmt::format("is {}; pass the model's directory", file_kind_text(kind)),
                         {}, {}, options_.directory);
    }
    if (!probe.format) {
      SafetensorsModel nothing;  // understand_model() reports what is missing
      nothing.set.path = options_.directory;
      return Model(std::move(nothing));
    }
    MU_ASSIGN(Model model, open_model(std::move(probe)));
    // Calls the checks directly instead of through the table of formats: st-dump also plans and would otherwise link
    // the rules of every format.
    MU_ASSIGN(const CheckedModel checked, model.format == Format::mlx && !options_.projector
                                              ? check_model_directory(model)
                                              : check_safetensors(model));
    for (const Finding& finding : checked.findings.findings()) {
      // Notes on the layout and on the template, which is copied unchanged, belong in the report.
      const bool is_remark =
          finding.code == "hf-layout-metadata" || (finding.code == "template-normal-token" && !options_.no_vocab);
      if (is_remark) plan_.report.remarks.add(finding);
      if (finding.severity != Severity::error || finding.scope == Scope::data) continue;
      // The tokenizer is read below, which gives better messages; --no-vocab does not need it.
      if (finding.code.starts_with("hf-tok-") || finding.code == "hf-tokenizer-missing") continue;
      return tl::make_unexpected(with_path(finding, options_.directory));
    }
    return model;
  }

  // Notes what happens to the blocks that predict further tokens; warn_of_losses() reports dropped ones.
  void remark_prediction() {
    const HfModel& model = *plan_.model;
    FindingLog& remarks = plan_.report.remarks;
    const u64 blocks = model.prediction_blocks;
    if (blocks > 0 && options_.prediction == PredictionChoice::by_runtime) {
      remarks.note(Scope::model, "convert-mtp",
                   fmt::format("{} for multi-token prediction (MTP) {} kept, because llama.cpp can draft with {}; "
                               "--mtp drop leaves {} out",
                               counted(blocks, "block"), verb(blocks, "is", "are"), verb(blocks, "it", "them"),
                               verb(blocks, "it", "them")));
    }
    if (plan_.map.shifts_block_norms) {
      remarks.note(Scope::model, "convert-mtp",
                   "the norms of the multi-token prediction (MTP) blocks have a mean near 0, so they are taken as "
                   "stored minus 1, unlike the others in this directory");
    }
    const u64 stated = model.config.count_field(arch::prediction_fields).value_or(0);
    const bool has_none = blocks == 0 && std::ranges::none_of(model.left_out, [](const LeftOut& tensor) {
                            return tensor.reason == LeftOutReason::prediction;
                          });
    if (stated == 0 || !has_none || model.family->prediction.tensors.empty()) return;
    remarks.note(Scope::model, "convert-mtp-stripped",
                 fmt::format("announces {} for multi-token prediction (MTP), but the directory has none of {} tensors, "
                             "because mlx-lm leaves them out",
                             counted(stated, "block"), verb(stated, "its", "their")),
                 std::string(arch::stated_field(model.config, arch::prediction_fields)));
  }

  u64 trunk() const { return plan_.map.sizes.get(arch::symbol::layers); }
  bool is_of_prediction(const std::string& tensor) const {
    return plan_.model->prediction_blocks > 0 && arch::block_of(tensor).value_or(0) >= trunk();
  }

  // Keeps only the prediction blocks and the tensors outside all layers, like gguf-edit --extract-mtp on a whole model.
  void keep_prediction_alone() {
    std::vector<std::string> names;
    for (const MappedTensor& tensor : plan_.map.tensors) names.push_back(tensor.name);
    keys_.push_back(extracted_from(names, trunk()));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (arch::block_of(names[i]) && !is_of_prediction(names[i])) continue;
      if (kept != i) {
        plan_.map.tensors[kept] = std::move(plan_.map.tensors[i]);
        plan_.forms[kept] = std::move(plan_.forms[i]);
        plan_.report.tensors[kept] = std::move(plan_.report.tensors[i]);
      }
      ++kept;
    }
    plan_.map.tensors.resize(kept);
    plan_.forms.resize(kept);
    plan_.report.tensors.resize(kept);
  }

  Status merge_adapters() {
    if (options_.adapters.empty()) return {};
    adapter::Base base;
    base.family = plan_.model->family;
    base.sizes = plan_.map.sizes;
    base.is_tied = std::ranges::none_of(plan_.map.tensors,
                                        [](const MappedTensor& tensor) { return tensor.name == "output.weight"; });
    MU_ASSIGN(auto merges, adapter::plan_merge(options_.adapters, base, open_adapter));
    for (MappedTensor& tensor : plan_.map.tensors) {
      const auto merge = merges.find(tensor.name);
      if (merge == merges.end()) continue;
      merge->second->set_base(
          [model = plan_.model.get(), base = tensor](u64 first, u64 count, std::span<float> values) -> Status {
            StoredRows rows;
            MU_TRY(read_stored_rows(*model, base, first, count, rows));
            decode_rows(*model, base, rows, values);
            return {};
          },
          row_granule(tensor));
      tensor.merge = std::move(merge->second);
      merges.erase(merge);
    }
    if (merges.empty()) return {};
    return input_error(
        "adapter-target",
        fmt::format("is changed by {}, but the base has no separate tensor for it", merges.begin()->second->text()),
        at_tensor(merges.begin()->first), {}, options_.directory);
  }

  Status choose_forms() {
    const std::vector<MappedTensor>& tensors = plan_.map.tensors;
    plan_.forms.resize(tensors.size());
    const Look look = options_.dry_run ? Look::size : Look::all;
    MU_TRY(parallel_for(tensors.size(), options_.threads, [&](u64 i, unsigned) -> Status {
      MU_ASSIGN(plan_.forms[i], choose_form(*plan_.model, tensors[i], options_.repack, look));
      return {};
    }));
    return {};
  }

  // Adds a ".scale" tensor for each tensor whose overall factor its blocks cannot hold.
  Status add_scales() {
    const std::size_t count = plan_.forms.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!plan_.forms[i].target.has_scale) continue;
      MU_ASSIGN(MappedTensor scale, scale_tensor(*plan_.model, plan_.map.tensors[i]));
      MU_ASSIGN(GgufForm form, choose_form(*plan_.model, scale, options_.repack, Look::all));
      form.source = plan_.forms[i].source;
      plan_.map.tensors.push_back(std::move(scale));
      plan_.forms.push_back(std::move(form));
    }
    return {};
  }

  Status report_tensor(std::size_t i) {
    const MappedTensor& tensor = plan_.map.tensors[i];
    const GgufForm& form = plan_.forms[i];
    const std::optional<u64> bytes = tensor_bytes(form.type, tensor.ne);
    if (!bytes) {
      return input_error(
          "convert-shape",
          fmt::format("rows of {} elements do not fill whole {} blocks", tensor.columns(), type_name(form.type)),
          at_tensor(tensor.name), {}, options_.directory);
    }
    if (form.target.may_overflow) {
      plan_.report.remarks.warning(
          Scope::model, "convert-overflow",
          "has scales so large that values may become infinite; run verify --data MODEL_DIR to find out",
          at_tensor(form.source));
    }
    plan_.report.tensors.push_back({tensor.name,
                                    form.source,
                                    form.source_form,
                                    std::string(type_name(form.type)),
                                    tensor.ne,
                                    *bytes,
                                    form.measured ? std::optional(form.exact) : std::nullopt,
                                    form.reason,
                                    {},
                                    {}});
    return {};
  }

  // A projector has the keys of its towers but no vocabulary.
  Status make_projector_keys() {
    const ModelFolder& folder = plan_.model->opened().folder;
    MU_ASSIGN(const hf::ModelCard card, hf::read_model_card(folder, plan_.report.remarks));
    GeneralFacts facts = general_facts();
    facts.type = "mmproj";
    if (options_.projector_type) facts.file_type = file_type_code(*options_.projector_type);
    facts.identity = find_identity(card, plan_.model->config, options_.directory, facts.parameters);
    if (options_.name) facts.identity.name = *options_.name;
    plan_.report.name = facts.identity.name;
    keys_ = general_keys(facts);
    append(model_card_keys(card));
    append(plan_.own_keys);
    return {};
  }

  Status make_keys() {
    if (options_.projector) return make_projector_keys();
    MU_ASSIGN(arch::ModelKeys hyper,
              arch::write_keys(*plan_.model->family, plan_.model->config, plan_.map.sizes, plan_.model->is_mlx));
    FindingLog& remarks = plan_.report.remarks;
    tokenizer::TokenizerOptions tokenizer_options;
    tokenizer_options.embedding_rows = plan_.map.sizes.get(arch::symbol::vocabulary);
    tokenizer_options.config = &plan_.model->config;
    tokenizer_options.pre = options_.pre;
    tokenizer_options.pre_force = options_.pre_force;
    const ModelFolder& folder = plan_.model->opened().folder;
    MU_ASSIGN(const hf::GenerationConfig generation, hf::load_generation_config(folder));
    remarks.add_all(generation.findings);
    tokenizer_options.generation = &generation;
    std::optional<tokenizer::Tokenizer> tokenizer;
    if (!options_.no_vocab) {
      MU_ASSIGN(tokenizer, tokenizer::read_tokenizer(folder, tokenizer_options));
      if (!plan_.model->answers.empty()) add_rerank_template(*tokenizer);
      remarks.add_all(tokenizer->findings);
    }
    MU_ASSIGN(const hf::ModelCard card, hf::read_model_card(folder, remarks));
    GeneralFacts facts = general_facts();
    facts.sampling = hf::read_sampling(generation, remarks);
    facts.identity = find_identity(card, plan_.model->config, options_.directory, facts.parameters);
    MU_ASSIGN(plan_.report.name, model_name(tokenizer, facts.identity.name));
    facts.identity.name = plan_.report.name;
    keys_ = general_keys(facts);
    append(adapter_keys(options_.adapters));
    append(model_card_keys(card));
    if (const u64 blocks = plan_.model->prediction_blocks; blocks > 0) {
      add_prediction_keys(*plan_.model->family, plan_.map.block_sizes, blocks, hyper.keys);
    }
    append(std::move(hyper.keys));
    for (const LayerNumbers& numbers : plan_.map.numbers) {
      MU_ASSIGN(const std::vector<float> values, read_numbers(*plan_.model, numbers));
      keys_.push_back(gguf::make_key_f32s(numbers.key, values));
    }
    append(tokenizer ? tokenizer_keys(*tokenizer) : no_vocab_keys());
    *folder.memory = {};  // frees the cached files: large vocabularies take much memory
    remarks.add_all(hyper.remarks);
    return {};
  }

  void append(std::vector<gguf::OutKey> more) {
    keys_.insert(keys_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  // If the name contains "phi-3", llama.cpp requires Phi-3's tokens: it fails without them, and with them it strips the
  // whitespace after special tokens as Phi-3's own tokenizer does.
  Result<std::string> model_name(const std::optional<tokenizer::Tokenizer>& tokenizer, const std::string& found) {
    std::string name = options_.name.value_or(found);
    const bool says_phi3 = tokenizer::promises_phi3_tokens(name);
    const std::string wanted(plan_.model->family->wanted_name);
    const bool may_say_it = tokenizer && tokenizer->allows_phi3_name();
    if (!says_phi3 && !options_.name && may_say_it && !wanted.empty()) {
      return name.empty() ? wanted : wanted + " " + name;
    }
    if (!says_phi3 || may_say_it) return name;
    if (options_.name) {
      return input_error("convert-name",
                         "a name with 'phi3' or 'phi-3' makes llama.cpp look up tokens that this vocabulary lacks; "
                         "choose another with --name",
                         "--name", {}, options_.directory);
    }
    return std::string();
  }

  // Parameter counts and file type cover the layers only, so they do not depend on prediction blocks.
  GeneralFacts general_facts() const {
    GeneralFacts facts;
    facts.architecture = plan_.model->family->gguf;
    facts.n_expert = plan_.map.sizes.get(arch::symbol::experts);
    std::map<TensorType, u64> elements_of;
    for (std::size_t i = 0; i < plan_.forms.size(); ++i) {
      const MappedTensor& tensor = plan_.map.tensors[i];
      if (is_of_prediction(tensor.name)) continue;
      const TensorType type = plan_.forms[i].type;
      const u64 elements = element_count(tensor.ne).value_or(0);
      facts.parameters += elements;
      if (tensor.name.ends_with("_exps.weight")) facts.expert_parameters += elements;  // biases count whole
      if (tensor.ne.size() > 1) elements_of[type] += elements;
    }
    const auto most = std::max_element(elements_of.begin(), elements_of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != elements_of.end()) facts.file_type = file_type_code(most->first);
    return facts;
  }

  MlxToGgufOptions options_;
  std::shared_ptr<const Model> opened_;
  GgufPlan plan_;
  std::vector<gguf::OutKey> keys_;
};

// Returns the directory of a safetensors index. Indexes of image models and other paths are returned unchanged. Errors:
// those of find_image_source().
Result<std::string> model_directory(const MlxToGgufOptions& options) {
  if (!options.directory.ends_with(".safetensors.index.json")) return options.directory;
  MU_ASSIGN(const std::optional<ImageSource> image, find_image_source(options.directory, options.links));
  if (image) return options.directory;
  std::string folder = folder_of(options.directory);
  return folder.empty() ? std::string(".") : folder;
}

}  // namespace

Result<GgufPlan> plan_gguf(const MlxToGgufOptions& options, std::shared_ptr<const Model> opened) {
  const LogStep step("plan");
  MlxToGgufOptions of_folder = options;
  MU_ASSIGN(of_folder.directory, model_directory(options));
  return Planner(std::move(of_folder), std::move(opened)).plan();
}

}  // namespace modelutils::to_gguf
