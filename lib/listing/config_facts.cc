#include "listing/config_facts.h"

#include <algorithm>
#include <iterator>

#include "arch/families.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "gguf/parse.h"
#include "gguf/write.h"
#include "io/random_access_file.h"
#include "listing/gguf_summary.h"

namespace modelutils {

namespace {

std::optional<ModelFacts> facts_of_family(const hf::Config& config) {
  const arch::Family* family = arch::find_family(config);
  if (family == nullptr || !config.block_count) return std::nullopt;
  const Result<arch::Sizes> sizes = arch::solve_sizes(*family, config, *config.block_count, {}, {});
  if (!sizes) return std::nullopt;
  Result<arch::ModelKeys> written = arch::write_keys(*family, config, *sizes, false);
  if (!written) return std::nullopt;
  std::vector<gguf::OutKey> keys = {gguf::make_key_string("general.architecture", family->gguf)};
  std::ranges::move(written->keys, std::back_inserter(keys));
  const Result<gguf::OutLayout> layout = gguf::layout(keys, {});
  if (!layout) return std::nullopt;
  const Bytes header = std::as_bytes(std::span(layout->header));
  const auto source = std::make_shared<MemoryFile>(std::vector<std::byte>(header.begin(), header.end()));
  Result<gguf::Document> document = gguf::parse(*source);
  if (!document) return std::nullopt;
  gguf::SplitSet set;
  set.files.push_back({source->name(), source, std::move(*document)});
  return summarize_keys(set);
}

std::optional<Range> one_number(std::optional<u64> number) {
  return number ? std::optional<Range>({*number, *number}) : std::nullopt;
}

}  // namespace

ModelFacts facts_of(const hf::Config& config) {
  ModelFacts facts = facts_of_family(config).value_or(ModelFacts{});
  facts.architecture = config.architecture.empty() ? config.model_type : config.architecture;
  const auto stated = [](auto& fact, const auto& field) {
    if (!fact) fact = field;
  };
  stated(facts.layers, config.block_count);
  stated(facts.context, config.context_length);
  stated(facts.embedding, config.embedding_length);
  stated(facts.head_dim, config.head_dim);
  stated(facts.vocabulary, config.vocab_size);
  stated(facts.experts, config.expert_count);
  stated(facts.experts_used, config.expert_used_count);
  stated(facts.feed_forward, one_number(config.feed_forward_length));
  stated(facts.heads, one_number(config.head_count));
  stated(facts.heads_kv, one_number(config.head_count_kv));
  const u64 heads = config.head_count.value_or(0);
  if (!facts.head_dim && heads > 0 && facts.embedding && *facts.embedding % heads == 0) {
    facts.head_dim = *facts.embedding / heads;
  }
  return facts;
}

}  // namespace modelutils
