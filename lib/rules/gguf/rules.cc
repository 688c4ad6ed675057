#include "rules/gguf/rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/image_models.h"
#include "arch/prediction_rows.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/foreign_types.h"
#include "rules/gguf/component_rules.h"
#include "rules/gguf/image_rules.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rule_parts.h"
#include "template/tokens.h"
#include "tensor/types.h"
#include "tokenizer/read/files.h"

namespace modelutils {

namespace {

gguf_rules::TensorFacts facts_of(const gguf::SplitSet& set) {
  gguf_rules::TensorFacts facts;
  facts.image_model = arch::image_model_of(set);
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      facts.any = true;
      const std::optional<TensorType> type = tensor.type();
      if (type && type_info(*type).is_quantized) facts.any_quantized = true;
      if (const auto block = arch::block_of(tensor.name)) facts.blocks = std::max(facts.blocks.value_or(0), *block + 1);
      if (tensor.name == "token_embd.weight" && tensor.ne.size() == 2) {
        facts.embedding_size = tensor.ne[0];
        facts.embedding_rows = tensor.ne[1];
      }
    }
  }
  return facts;
}

// Appends the findings of one file, labelled with the file if the set has several.
void take(FindingLog& log, FindingLog part, const gguf::SplitSet& set, const gguf::SetFile& file) {
  if (set.is_split()) part.set_file(base_name_of(file.path));
  log.add_all(std::move(part));
}

// Compares the template with that of Hugging Face's files in the same directory, if any.
void check_neighbour_template(const gguf::SplitSet& set, FindingLog& log) {
  const std::string& path = set.files.front().path;
  constexpr std::string_view key = "tokenizer.chat_template";
  const auto own = gguf::Index(set.files.front().document).string_value(key);
  if (!own || path == "-") return;
  const std::size_t slash = path.rfind('/');
  const ModelFolder folder(slash == path.npos ? "" : path.substr(0, slash + 1));
  const auto other = tokenizer::folder_template(folder);
  if (!other || jinja::normalized(*other) == jinja::normalized(*own)) return;
  log.warning(Scope::model, "template-differs",
              "the chat template differs from that of the files next to the model (chat_template.jinja, "
              "tokenizer_config.json)",
              at_key(key));
}

}  // namespace

gguf::Limits gguf_limits(const gguf::SplitSet& set) {
  return arch::image_model_of(set).empty() ? gguf::ggml_limits : gguf::image_limits;
}

FindingLog gguf_container_rules(const gguf::Document& document, gguf::Limits limits) {
  FindingLog log(document.findings);
  gguf_rules::check_key_names(document, log);
  gguf_rules::check_alignment(document, log);
  gguf_rules::check_tensor_names(document, limits, log);
  gguf_rules::check_tensor_infos(document, limits, log);
  if (document.complete) {
    if (document.keys.empty() && document.tensors.empty()) {
      log.warning(Scope::container, "gguf-empty", "the file has neither keys nor tensors");
    }
    gguf_rules::check_layout(document, log);
  }
  return log;
}

Findings gguf_container_findings(const gguf::SplitSet& set) {
  FindingLog log(set.findings);
  const gguf::Limits limits = gguf_limits(set);
  for (const gguf::SetFile& file : set.files) take(log, gguf_container_rules(file.document, limits), set, file);
  return log.findings();
}

Status refuse_foreign_types(const gguf::SplitSet& set) {
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (!gguf::is_foreign(tensor.type_id)) continue;
      const gguf::ForeignType type = *gguf::foreign_type(tensor.type_id);
      return input_error(
          "convert-fork-type",
          fmt::format("has type {}, {}, whose values are not decoded here: {}", type.id, type.text, type.advice()),
          at_tensor(tensor.name), tensor.info_offset, file.path);
    }
  }
  return {};
}

FindingLog gguf_structure_rules(const gguf::SplitSet& set, TokenTexts texts, unsigned threads) {
  FindingLog log(set.findings);
  const gguf::Limits limits = gguf_limits(set);
  for (const gguf::SetFile& file : set.files) {
    FindingLog part = gguf_container_rules(file.document, limits);
    if (file.document.complete) {
      gguf_rules::check_padding(*file.source, file.document, part);
      gguf_rules::check_tail(*file.source, file.document, part);
    }
    gguf_rules::check_values(*file.source, file.document, part);
    take(log, std::move(part), set, file);
  }
  const gguf::SetFile& first = set.files.front();
  const gguf::Index index(first.document);
  const gguf_rules::TensorFacts facts = facts_of(set);
  FindingLog part;
  gguf_rules::check_known_keys(first, index, part);
  // If parts are missing, keys and tensors need not match.
  const bool is_whole = first_container_error(set.findings) == nullptr;
  if (first.document.complete && is_whole) gguf_rules::check_hyper_parameters(index, first, facts, part);
  if (first.document.complete && is_whole) part.add_all(prediction_findings(set));
  if (is_whole) gguf_rules::check_file_type(set, index, part);
  if (first.document.complete && is_whole) gguf_rules::check_embedding(set, index, part);
  if (first.document.complete) gguf_rules::check_companion(first.document, index, part);
  FindingLog of_tokens;
  auto roles = gguf_rules::check_tokens(*first.source, first.document, index, facts, texts, threads, of_tokens);
  gguf_rules::check_chat_templates(*first.source, first.document, index, texts, std::move(roles), part);
  part.add_all(std::move(of_tokens));
  take(log, std::move(part), set, first);
  return log;
}

FindingLog gguf_loader_rules(const gguf::SplitSet& set) {
  FindingLog log = projector_findings(set);
  log.add_all(runtime_findings(set));
  log.add_all(image_findings(set));
  if (!is_whole_model(set)) {
    log.add_all(exemption_findings(set));
    return log;
  }
  const bool has_vocabulary =
      gguf::Index(set.files.front().document).string_value("tokenizer.ggml.model") != "no_vocab";
  log.add_all(loader_findings(set, has_vocabulary));
  return log;
}

Result<CheckedModel> check_gguf(const Model& model, unsigned threads) {
  const gguf::SplitSet& set = *model.gguf;
  CheckedModel checked;
  checked.format_text = "GGUF v" + std::to_string(set.files.front().document.version);
  checked.findings = gguf_structure_rules(set, TokenTexts::read, threads);
  check_neighbour_template(set, checked.findings);
  // Errors of the container or missing parts already explain missing tensors.
  const Findings found = checked.findings.findings();
  if (first_container_error(found) == nullptr) checked.findings.add_all(gguf_loader_rules(set));
  checked.catalog = catalog_of(set);  // the only copy, unless other code calls model.catalog()
  return checked;
}

}  // namespace modelutils
