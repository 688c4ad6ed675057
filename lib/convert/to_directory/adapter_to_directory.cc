#include "convert/to_directory/adapter_to_directory.h"

#include <fmt/core.h>

#include "convert/to_directory/adapter_modules.h"
#include "convert/transfer/report.h"
#include "formats/gguf/parse.h"
#include "formats/safetensors/parse.h"
#include "io/atomic_directory.h"
#include "io/output_place.h"
#include "model/model.h"
#include "rules/formats.h"
#include "rules/safetensors/rules.h"
#include "tensor/narrow.h"
#include "tensor/value_sums.h"

namespace modelutils::to_directory {

namespace {

constexpr std::string_view config_name = "adapter_config.json";
constexpr std::string_view peft_weights = "adapter_model.safetensors";
constexpr std::string_view mlx_weights = "adapters.safetensors";
constexpr std::string_view peft_prefix = "base_model.model.";

bool is_ours(std::string_view name) {
  return name == config_name || name == peft_weights || name == mlx_weights || name == "README.md";
}

class Converter {
 public:
  explicit Converter(const AdapterToDirectoryOptions& options) : options_(options) {}

  Result<TransferReport> run(Progress& progress) {
    MU_TRY(open());
    progress.restart("planning", modules_.list().size());
    MU_TRY(measure(progress));
    MU_TRY(lay_out());
    if (options_.dry_run) return std::move(report_);
    const std::string config = is_peft() ? peft_adapter_config(facts_) : mlx_adapter_config(facts_, options_.base);
    MU_TRY(check_free_space(options_.output, layout_.file_size + config.size()));
    DirectoryOptions wanted;
    wanted.force = options_.force;
    wanted.is_ours = is_ours;
    wanted.inputs = {options_.input};
    MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(options_.output, wanted));
    progress.restart("writing", layout_.file_size);
    if (Status written = write(directory, config, progress); !written) {
      return tl::make_unexpected(directory.under_final_name(std::move(written.error())));
    }
    if (options_.deliver) MU_TRY(options_.deliver(report_));
    MU_TRY(directory.commit());
    return std::move(report_);
  }

 private:
  bool is_peft() const { return options_.style == DirectoryStyle::hugging_face; }
  std::string weights_name() const { return std::string(is_peft() ? peft_weights : mlx_weights); }

  using Planned = PlannedModule;

  Status open() {
    if (options_.base.family == nullptr) {
      return input_error("adapter-no-base",
                         "is an adapter, and its base determines tensor names and row order: pass it with --base (a "
                         "model's directory, where config.json is enough, or a GGUF)",
                         {}, {}, options_.input);
    }
    MU_ASSIGN(PathProbe probe, probe_path(options_.input));
    if (!probe.format) return tl::make_unexpected(unknown_format(probe));
    MU_ASSIGN(model_, open_model(std::move(probe)));
    if (!model_.gguf) return input_error("adapter-tensor", "is not a GGUF", {}, {}, options_.input);
    MU_ASSIGN(CheckedModel checked, rules_of(model_.format).check(model_, 1));
    const Findings findings = checked.findings.findings();
    if (const Finding* broken = first_error(findings)) {
      return tl::make_unexpected(with_path(*broken, options_.input));
    }
    catalog_ = std::move(checked.catalog);
    const gguf::Document& document = model_.gguf->files.front().document;
    index_.emplace(document);
    pairs_ = adapter::gguf_adapter(document, *index_);
    if (!pairs_) return input_error("adapter-tensor", "is not a LoRA adapter", {}, {}, options_.input);
    if (index_->architecture() != options_.base.family->gguf) {
      return input_error(
          "adapter-pair",
          fmt::format("is for '{}', but the base is '{}'", index_->architecture(), options_.base.family->gguf),
          at_key("general.architecture"), {}, options_.input);
    }
    auto modules = AdapterModules::map(*pairs_, catalog_, options_.base, options_.style);
    if (!modules) return tl::make_unexpected(in_file(std::move(modules.error()), options_.input));
    modules_ = std::move(*modules);
    return {};
  }

  // Determines the ranks, the scales and the type of the factors, which takes a first read of all of them.
  Status measure(Progress& progress) {
    NarrowFacts facts;
    for (const AdapterModule& module : modules_.list()) {
      if (is_peft() && module.stack > 1) {
        return input_error("adapter-pair",
                           "is a LoRA pair on stacked experts, which PEFT treats as one parameter; use mlx-lm's format "
                           "(--adapter mlx)",
                           at_module(module.name), {}, options_.input);
      }
      MU_ASSIGN(const ModuleFactors factors, modules_.read(module));
      progress.advance(1);
      if (factors.rank == 0) continue;
      facts_.modules.push_back({&module, factors.rank, factors.scale});
      for (const MatrixFactors& matrix : factors.stack) {
        for (const std::vector<float>* values : {&matrix.a, &matrix.b}) {
          const NarrowFacts own = narrow_facts(*values);
          facts.fits_bf16 = facts.fits_bf16 && own.fits_bf16;
          facts.fits_f16 = facts.fits_f16 && own.fits_f16;
        }
      }
    }
    facts_.base_model = index_->string_value("general.base_model.0.name").value_or("");
    if (const gguf::ArrayRef* tokens = index_->array_value("adapter.alora.invocation_tokens")) {
      const gguf::SetFile& file = model_.gguf->files.front();
      MU_ASSIGN(facts_.invocation_tokens, gguf::read_numbers<u64>(*file.source, file.document, *tokens));
    }
    if (facts_.modules.empty()) return input_error("adapter-tensor", "has no pairs", {}, {}, options_.input);
    type_ = facts.fits_f16 ? TensorType::F16 : facts.fits_bf16 ? TensorType::BF16 : TensorType::F32;
    if (options_.dtype) type_ = *options_.dtype;
    return {};
  }

  // mlx-lm has one rank for all modules, so smaller ranks are padded with zeros.
  u64 rank_of(const Planned& planned) const { return is_peft() ? planned.rank : facts_.largest_rank(); }
  // mlx-lm also has one scale for all modules; B absorbs the difference.
  float factor_of(const Planned& planned) const {
    return is_peft() ? 1 : static_cast<float>(planned.scale / facts_.common_scale());
  }

  Status lay_out() {
    std::vector<safetensors::OutTensor> tensors;
    report_.kind = ReportKind::gguf2mlx;
    report_.input = options_.input;
    report_.output = options_.output;
    report_.architecture = index_->architecture();
    report_.dry_run = options_.dry_run;
    for (const Planned& planned : facts_.modules) {
      const AdapterModule& module = *planned.module;
      const u64 rank = rank_of(planned);
      for (const bool is_a : {true, false}) {
        std::vector<u64> shape;
        if (is_peft()) {
          shape = is_a ? std::vector<u64>{rank, module.in} : std::vector<u64>{module.out, rank};
          // For an embedding A is [r, vocabulary] and B is [width, r].
          if (module.is_embedding)
            shape = is_a ? std::vector<u64>{rank, module.out} : std::vector<u64>{module.in, rank};
        } else if (module.stack > 1) {
          shape =
              is_a ? std::vector<u64>{module.stack, rank, module.in} : std::vector<u64>{module.stack, module.out, rank};
        } else {
          shape = is_a ? std::vector<u64>{module.in, rank} : std::vector<u64>{rank, module.out};
          if (module.is_embedding)
            shape = is_a ? std::vector<u64>{module.out, rank} : std::vector<u64>{rank, module.in};
        }
        tensors.push_back({name_of(module, is_a), type_, std::move(shape)});
      }
    }
    const safetensors::OutMetadata metadata =
        is_peft() ? safetensors::OutMetadata{{"format", "pt"}} : safetensors::OutMetadata{};
    MU_ASSIGN(layout_, safetensors::layout(metadata, tensors));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const AdapterModule& module = *facts_.modules[i / 2].module;
      const adapter::GgufPair& pair = pairs_->pairs[module.pieces.front().pair];
      TensorReport report;
      report.name = tensors[i].name;
      report.source = (i % 2 == 0 ? pair.a : pair.b)->name;
      const Tensor* stored = catalog_.find(report.source);
      report.source_form = stored != nullptr && stored->type ? type_name(*stored->type) : "";
      report.form = type_name(type_);
      report.shape = tensors[i].shape;
      report.bytes = layout_.offsets[i].second - layout_.offsets[i].first;
      if (options_.dry_run && options_.dtype) report.exact = std::nullopt;
      report_.tensors.push_back(std::move(report));
    }
    report_.files.push_back({weights_name(), layout_.file_size, tensors.size()});
    return {};
  }

  std::string name_of(const AdapterModule& module, bool is_a) const {
    if (!is_peft()) return module.name + (is_a ? ".lora_a" : ".lora_b");
    // GPT-2 is published without the "transformer." prefix that its class gives to all but the head.
    const bool is_bare =
        module.name.starts_with("h.") || module.name.starts_with("wte") || module.name.starts_with("wpe");
    const std::string name = std::string(peft_prefix) + (is_bare ? "transformer." : "") + module.name;
    if (module.is_embedding) return name + (is_a ? ".lora_embedding_A" : ".lora_embedding_B");
    return name + (is_a ? ".lora_A.weight" : ".lora_B.weight");
  }

  Status write(AtomicDirectory& directory, const std::string& config, Progress& progress) {
    std::vector<AtomicOutput> files;
    MU_ASSIGN(AtomicOutput weights, directory.create_file(weights_name()));
    MU_TRY(weights.append(std::as_bytes(std::span(layout_.header))));
    for (std::size_t i = 0; i < facts_.modules.size(); ++i) {
      MU_ASSIGN(const ModuleFactors factors, modules_.read(*facts_.modules[i].module));
      for (const bool is_a : {true, false}) {
        const std::vector<float> values = stored(facts_.modules[i], factors, is_a);
        TensorReport& report = report_.tensors[2 * i + (is_a ? 0 : 1)];
        std::vector<std::byte> bytes(static_cast<std::size_t>(report.bytes));
        narrow(type_, values, bytes.data());
        std::vector<float> carried = values;
        round_to(type_, carried);
        ValueSums error;
        modelutils::measure(values, carried, error);
        report.exact = error.dd == 0;
        if (!*report.exact) {
          report.rms = error.rms();
          report.max_abs = error.max_abs;
        }
        MU_TRY(weights.append(bytes));
        progress.advance(bytes.size());
      }
    }
    files.push_back(std::move(weights));
    MU_ASSIGN(AtomicOutput settings, directory.create_file(config_name));
    MU_TRY(settings.append(std::as_bytes(std::span(config))));
    files.push_back(std::move(settings));
    MU_TRY(directory.close_files(files));
    if (const auto read = open_adapter(directory.staging_path()); !read) {
      Error error = read.error();
      error.kind = ErrorKind::internal;
      error.message = fmt::format("what was written is not an adapter ({}): {}", error.code, error.message);
      error.code = "convert-self-check";
      return tl::make_unexpected(std::move(error));
    }
    return {};
  }

  // Returns the values of one output tensor, in its element order.
  std::vector<float> stored(const Planned& planned, const ModuleFactors& factors, bool is_a) const {
    const AdapterModule& module = *planned.module;
    const auto rank = static_cast<std::size_t>(rank_of(planned));
    const auto own = static_cast<std::size_t>(planned.rank);
    const float factor = factor_of(planned);
    const bool is_stack = !is_peft() && module.stack > 1;
    std::vector<float> values;
    for (const MatrixFactors& matrix : factors.stack) {
      // A is [own, in] and B is [out, own]; for an embedding the file's A and B are swapped.
      const bool is_first = is_a != module.is_embedding;
      const auto size = static_cast<std::size_t>(is_first ? module.in : module.out);
      const bool rank_is_first = is_peft() || is_stack ? is_a : !is_a;
      const std::size_t begin = values.size();
      values.resize(begin + rank * size);
      for (std::size_t k = 0; k < own; ++k) {
        for (std::size_t i = 0; i < size; ++i) {
          const float value = is_first ? matrix.a[k * size + i] : matrix.b[i * own + k] * factor;
          values[begin + (rank_is_first ? k * size + i : i * rank + k)] = value;
        }
      }
    }
    return values;
  }

  const AdapterToDirectoryOptions& options_;
  Model model_;
  Catalog catalog_;
  std::optional<gguf::Index> index_;
  std::optional<adapter::GgufAdapter> pairs_;
  AdapterModules modules_;
  AdapterConfigFacts facts_;
  TensorType type_ = TensorType::F32;
  safetensors::OutLayout layout_;
  TransferReport report_;
};

}  // namespace

Result<TransferReport> adapter_to_directory(const AdapterToDirectoryOptions& options, Progress& progress) {
  return Converter(options).run(progress);
}

}  // namespace modelutils::to_directory
