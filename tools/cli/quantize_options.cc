#include "cli/quantize_options.h"

#include "arch/image_models.h"
#include "cli/option_values.h"
#include "convert/requantize/quantize_model.h"

namespace modelutils::cli {

namespace {

constexpr std::string_view types_group = "Types";

Flag type_flag(std::string_view name, std::string_view value_name, std::string_view help, ValueKind kind) {
  return {.names = std::string(name),
          .value_name = std::string(value_name),
          .help = std::string(help),
          .group = std::string(types_group),
          .kind = kind};
}

}  // namespace

bool TypeArguments::is_wanted() const {
  return type || recipe || like || importance || !tensors.empty() || max_size || gpu || context || kv || pure ||
         keep_exact || correct;
}

Status TypeArguments::settle(requantize::QuantizeRequest& request) const {
  for (const std::string& text : tensors) {
    MU_ASSIGN(quantize::TypeOverride one, requantize::parse_override("--tensor", text));
    request.overrides.push_back(std::move(one));
  }
  if (recipe) {
    MU_ASSIGN(requantize::Recipe read, requantize::read_recipe(*recipe));
    request.mix = read.mix;
    for (quantize::TypeOverride& one : read.overrides) request.overrides.push_back(std::move(one));
  }
  if (type) {
    MU_ASSIGN(request.mix, requantize::parse_mix("--type", *type));
  }
  request.like = like.value_or("");
  request.importance = importance.value_or("");
  request.max_size = max_size;
  request.gpu = gpu;
  request.context = context;
  if (kv) {
    MU_ASSIGN(request.cache, parse_cache_types(*kv));
  }
  request.pure = pure;
  request.keep_exact = keep_exact;
  request.correct = correct;
  return {};
}

void add_type_flags(Command& command, TypeArguments& arguments) {
  std::vector<std::string> names;
  for (const quantize::Mix& mix : quantize::all_mixes()) names.emplace_back(mix.name);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  command.add(
      type_flag("--type", "MIX", "Mix of types by llama-quantize's name (gguf-quantize: default Q4_K_M): " + list,
                ValueKind::text),
      arguments.type);
  command.add(type_flag("--tensor", "GLOB=TYPE",
                        "Type for matching tensors; if several patterns match, the first one wins", ValueKind::tensor),
              arguments.tensors);
  command.add(
      type_flag("--recipe", "FILE", "Recipe file, as printed in the report: one line type=MIX and lines GLOB=TYPE",
                ValueKind::file),
      arguments.recipe);
  command.add(type_flag("--like", "OTHER.gguf", "Give each tensor the type it has in OTHER.gguf", ValueKind::file),
              arguments.like);
  command.add(
      type_flag("--pure", "", "Use the mix's main type for every tensor that may be quantised", ValueKind::text),
      arguments.pure);
  command.add(type_flag("--imatrix", "FILE", "Importance matrix from llama-imatrix, GGUF or .dat", ValueKind::file),
              arguments.importance);
  command.add_size(type_flag("--max-size", "SIZE",
                             "Choose the best types for a file of at most SIZE bytes; K, M and G are powers of 1000",
                             ValueKind::size),
                   arguments.max_size);
  command.add_memory(
      type_flag("--gpu", "SIZE", "Choose the best types for a GPU with SIZE of memory; K, M and G are powers of 1024",
                ValueKind::size),
      arguments.gpu);
  command.add_tokens(
      type_flag("--context", "N", "With --gpu: context length in tokens (default: training context; 32K is 32768)",
                ValueKind::number),
      arguments.context);
  command.add(type_flag("--kv", "TYPE[,TYPE]",
                        "With --gpu: KV cache type: f16 (default), q8_0, q4_0, …; one for both keys and values, or one "
                        "for each",
                        ValueKind::text),
              arguments.kv);
  command.add(
      type_flag("--keep-exact", "", "Copy tensors that are already quantised to no more bits than the target type",
                ValueKind::text),
      arguments.keep_exact);
  command.add(
      type_flag("--correct", "", "IQ3_S: encode values after a run of zeros correctly, unlike ggml", ValueKind::text),
      arguments.correct);
}

void add_lora_flag(Command& command, std::vector<std::string>& adapters) {
  command.add({.names = "--lora",
               .value_name = "ADAPTER[=SCALE]",
               .help = "Merge a PEFT or mlx-lm adapter; may be repeated; a scale of -1 removes a merged one",
               .kind = ValueKind::directory},
              adapters);
}

void add_image_flags(Command& command, to_gguf::MlxToGgufOptions& convert) {
  command.add({.names = "--arch",
               .value_name = "NAME",
               .help = "Architecture of an image or video model that is not recognised: " + arch::image_model_names(),
               .group = "Image models"},
              convert.image_architecture);
  command.add({.names = "--max-dims",
               .value_name = "N",
               .help = "Dimensions that a tensor of a video model may have: 5 (default), or 4 to fold those with five, "
                       "for readers built on ggml",
               .group = "Image models",
               .kind = ValueKind::number},
              convert.max_dims);
}

Status check_image_flags(const to_gguf::MlxToGgufOptions& convert) {
  if (!convert.max_dims || convert.max_dims == u64{4} || convert.max_dims == u64{5}) return {};
  return usage_error("--max-dims takes 4 or 5");
}

Result<std::vector<adapter::Wanted>> wanted_adapters(const std::vector<std::string>& texts) {
  std::vector<adapter::Wanted> all;
  for (const std::string& text : texts) {
    MU_ASSIGN(adapter::Wanted one, adapter::parse_wanted(text));
    all.push_back(std::move(one));
  }
  return all;
}

Command quantize_command(QuantizeArguments& arguments) {
  Command command("gguf-quantize", "Quantise a GGUF, MLX or Hugging Face model, or an image model, to a smaller GGUF");
  requantize::QuantizeRequest& request = arguments.request;
  command.description(
      "Blocks are byte for byte those of ggml, and mixes those of llama-quantize, with and without an importance "
      "matrix. Tensors already of the target type are copied. Errors are measured against the source's values. The "
      "output is written to a temporary file, checked, and only then renamed.");
  command.add({.names = "MODEL",
               .help = "GGUF file, any part of a split model, a directory with config.json and safetensors, an "
                       "image model (a file, an index or a folder of diffusers), or - for a GGUF, or a "
                       "safetensors file of an image model, on standard input",
               .kind = ValueKind::file,
               .file_patterns = {"*.gguf", "*.safetensors"}},
              request.input);
  command.add({.names = "-o,--output",
               .value_name = "OUT.gguf",
               .help = "Output file; - writes to standard output",
               .kind = ValueKind::output_file,
               .file_patterns = {"*.gguf"},
               .in_usage = true},
              request.output);
  add_type_flags(command, arguments.types);
  add_image_flags(command, request.conversion);
  add_lora_flag(command, arguments.adapters);
  command.add({.names = "--exact", .help = "Fail if the values of any tensor change"}, request.exact);
  command.add({.names = "--threads",
               .value_name = "N",
               .help = "Number of threads (default: one per core)",
               .kind = ValueKind::number},
              arguments.threads);
  command.add({.names = "--follow-links", .help = "Accept symbolic links that lead out of the directory"},
              arguments.follow_links);
  command.add({.names = "--force", .help = "Replace an existing output"}, request.force);
  command.add({.names = "--dry-run", .help = "Plan and check, but write nothing"}, request.dry_run);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "Print a report to standard output (standard error with -o -)",
               .kind = ValueKind::choice,
               .choices = {"json"}},
              arguments.report);
  command.example("gguf-quantize model.gguf -o m.gguf", "Quantise to Q4_K_M, the default");
  command.example("gguf-quantize model -o m.gguf --type IQ4_XS", "Quantise a model directory");
  command.example("gguf-quantize flux1-dev.safetensors -o flux1-dev-Q4_K_S.gguf --type Q4_K_S",
                  "Quantise an image model for ComfyUI-GGUF");
  command.example("gguf-quantize model.gguf -o m.gguf --type Q5_K_M --tensor 'token_embd.weight=Q8_0'",
                  "Keep one tensor at higher precision");
  command.example("gguf-quantize model.gguf --lora my-lora -o merged.gguf",
                  "Merge an adapter, keeping the model's types");
  command.example("gguf-quantize model.gguf -o m.gguf --gpu 24G --context 32K", "Choose the best types that fit");
  command.add_remote_flags();
  command.daily({"--output", "--type", "--tensor", "--imatrix", "--max-size", "--dry-run", "--force"});
  return command;
}

}  // namespace modelutils::cli
