#include "arch/families.h"

#include <gtest/gtest.h>

#include <set>

#include "arch/geometry.h"
#include "arch/layer_kinds.h"
#include "arch/names.h"
#include "arch/row_view.h"
#include "formats/hf/config.h"
#include "support/families.h"

namespace modelutils::arch {
namespace {

TEST(Families, AreFoundByClassThenByModelType) {
  EXPECT_EQ(find_family("LlamaForCausalLM", ""), &llama);
  EXPECT_EQ(find_family("MistralForCausalLM", "mistral"), &llama);
  EXPECT_EQ(find_family("MixtralForCausalLM", "llama"), &mixtral);
  EXPECT_EQ(find_family("", "qwen2_moe"), &qwen2moe);
  EXPECT_EQ(find_family("LlavaForConditionalGeneration", "llama"), &llama);
  EXPECT_EQ(find_family("", ""), nullptr);
  EXPECT_EQ(find_family("XLNetLMHeadModel", "xlnet"), nullptr);
}

const Family* of_config(const char* text) {
  return find_family(*hf::parse_config(text, "config.json"));
}

TEST(Families, AnUnknownClassIsAnotherModelUnlessItWrapsOne) {
  EXPECT_EQ(of_config(R"({"architectures": ["LlamaForSequenceClassification"], "model_type": "llama"})"), nullptr);
  EXPECT_EQ(of_config(R"({"model_type": "llama"})"), &llama);
  // Mistral Small 3.1: a wrapper whose text model is a plain Mistral.
  EXPECT_EQ(of_config(R"({"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3",
                          "text_config": {"model_type": "mistral"}})"),
            &llama);
}

TEST(Families, OfOneClassTheConfigDecides) {
  const auto nemotron = [](const char* rest) {
    return of_config(
        (R"({"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h")" + std::string(rest)).c_str());
  };
  EXPECT_EQ(nemotron("}"), &nemotron_h);
  EXPECT_EQ(nemotron(R"(, "n_routed_experts": 8})"), &nemotron_h_moe);
  const auto granite_4 = [](const char* rest) {
    return of_config(
        (R"({"architectures": ["GraniteMoeHybridForCausalLM"], "model_type": "granitemoehybrid")" + std::string(rest))
            .c_str());
  };
  EXPECT_EQ(granite_4(R"(, "layer_types": ["mamba", "attention"], "num_local_experts": 4})"), &granitemoehybrid);
  EXPECT_EQ(granite_4(R"(, "layer_types": ["mamba", "attention"]})"), &granitemoehybrid);
  EXPECT_EQ(granite_4("}"), &granitemoehybrid);
  EXPECT_EQ(granite_4(R"(, "layer_types": ["attention", "attention"]})"), &granite);
  EXPECT_EQ(granite_4(R"(, "layer_types": ["attention"], "num_local_experts": 4})"), &granitemoe);
  EXPECT_EQ(of_config(R"({"architectures": ["GraniteForCausalLM"], "model_type": "granite"})"), &granite);
}

TEST(Families, OfOneGgufArchitectureTheKeysDecide) {
  EXPECT_EQ(find_gguf_family("llama", false), &llama);
  EXPECT_EQ(find_gguf_family("llama", true), &mixtral);
  EXPECT_EQ(find_gguf_family("no-such-architecture", false), nullptr);
}

TEST(Families, LayersThatPredictAreThoseBehindTheLastOfModelsThatHaveSome) {
  const Names names(glm4_moe);
  const auto is_one = [&](const char* config, const char* name) {
    return is_prediction_layer(names, *hf::parse_config(config, "config.json"), name);
  };
  const char* with = R"({"num_hidden_layers": 2, "num_nextn_predict_layers": 1})";
  EXPECT_TRUE(is_one(with, "model.layers.2.eh_proj.weight"));
  EXPECT_FALSE(is_one(with, "model.layers.1.eh_proj.weight"));
  EXPECT_FALSE(is_one(with, "model.norm.weight"));
  EXPECT_FALSE(is_one(R"({"num_hidden_layers": 2})", "model.layers.2.eh_proj.weight"));
  EXPECT_FALSE(is_one(R"({"num_nextn_predict_layers": 1})", "model.layers.2.eh_proj.weight"));
}

// The engine must read everything in the rows: nothing is silently skipped.
TEST(Families, RowsAreWellFormed) {
  std::set<std::string_view> names;
  for (const Family* family : all_families()) {
    SCOPED_TRACE(family->name);
    EXPECT_TRUE(names.insert(family->name).second);
    EXPECT_FALSE(family->gguf.empty());
    // If families share a name, all but the last must check config.json.
    const auto is_found = [&](const Family* found) { return found == family || (found && found->fits != nullptr); };
    for_each_name(family->classes,
                  [&](std::string_view name) { EXPECT_TRUE(is_found(find_family(name, ""))) << name; });
    for_each_name(family->model_types,
                  [&](std::string_view name) { EXPECT_TRUE(is_found(find_family("", name))) << name; });
    std::set<std::string_view> symbols = {"i", "hf", "mlx", "back", "traditional", "head", old_latent};
    if (family->config_sizes != nullptr) symbols.insert("O");  // of BERT's relatives: the rows before the positions
    std::set<std::string_view> keys;
    for (const Key* key : keys_of(*family)) {
      EXPECT_TRUE(keys.insert(key->name).second) << key->name;
      if (!key->symbol.empty()) symbols.insert(key->symbol);
    }
    for (const Mark& mark : family->marks) symbols.insert(mark.symbol);
    const auto knows = [&](std::string_view expression) {
      for (const std::string_view symbol : unknown_symbols(expression, Sizes())) {
        EXPECT_TRUE(symbols.contains(symbol)) << symbol << " in " << expression;
      }
    };
    const auto check_row = [&](const Tensor& row) {
      SCOPED_TRACE(row.name);
      for (const std::string_view dimension : dimensions_of(row.ne)) knows(dimension);
      knows(row.when);
      // The scores of a reranker are rows of its head.
      const bool has_source = !generator_of(row).empty() || !parse_source(row.source).empty();
      EXPECT_TRUE(has_source || row.name == "cls.output");
      for (const SourceAlternative& alternative : parse_source(row.source)) {
        knows(alternative.condition);
        EXPECT_FALSE(alternative.parts.empty());
        for (const SourcePart& part : alternative.parts) {
          EXPECT_EQ(part.module.find_first_of(" {}@[]|+"), std::string_view::npos) << part.module;
          EXPECT_FALSE(part.module.empty());
          if (!part.view.empty()) knows(source_rows_expression(part.view));
        }
      }
    };
    for (const Tensor& row : family->first_tensors) check_row(row);
    for (const auto& group : family->layer_tensors) {
      for (const Tensor& row : group) check_row(row);
    }
    for (const Tensor& row : family->last_tensors) check_row(row);
  }
}

TEST(Families, RenamesAddTheNamesOfMlx) {
  const auto all = [](std::string_view source, std::string_view renames) {
    return std::string(std::string_view(with_renames(source, renames)));
  };
  EXPECT_EQ(all("moe.gate", "moe.=mlp."), "[hf] moe.gate | mlp.gate | moe.gate");
  EXPECT_EQ(all("a.moe.gate{H D -> D} | b", "moe=m"),
            "[hf] a.moe.gate{H D -> D} | a.m.gate{H D -> D} | a.moe.gate{H D -> D} | b");
  EXPECT_EQ(all("experts.#.w1", "w1=gate|experts.#.=stack."), "[hf] experts.#.w1 | stack.gate | experts.#.w1");
  // Only whole parts, and only where no condition says more.
  EXPECT_EQ(all("moe.gate_proj|xmoe.gate", "moe.gate=x"), "moe.gate_proj | xmoe.gate");
  EXPECT_EQ(all("[mlx] moe.gate", "moe.=mlp."), "[mlx] moe.gate");
}

// A misspelled rename would have no effect.
TEST(Families, RenamesAreOfRows) {
  for (const Family* family : all_families()) {
    std::string sources;
    const auto add = [&](const Tensor& row) { (sources += row.source) += ' '; };
    std::ranges::for_each(family->first_tensors, add);
    for (const auto& group : family->layer_tensors) std::ranges::for_each(group, add);
    std::ranges::for_each(family->last_tensors, add);
    for_each_name(family->renames, [&](std::string_view pair) {
      EXPECT_NE(sources.find(pair.substr(0, pair.find('='))), std::string::npos) << family->name << ": " << pair;
      EXPECT_NE(sources.find(pair.substr(pair.find('=') + 1)), std::string::npos) << family->name << ": " << pair;
    });
  }
}

// A family's facts about its loader must name existing rows; a misspelled name would have no effect.
TEST(Families, WhatTheLoaderNeedsAndDoesWithoutAreRows) {
  for (const Family* family : all_families()) {
    std::set<std::string> keys, all;
    for (const Key* key : keys_of(*family)) keys.insert(std::string(key->name));
    all = keys;
    const auto add = [&](std::span<const Tensor> rows) {
      for (const Tensor& row : rows) {
        all.insert(std::string(row.name));
        all.insert(std::string(row.name) + ".bias");
      }
    };
    for (const auto& group : family->layer_tensors) add(group);
    add(family->last_tensors);
    for_each_name(family->loader_needs, [&](std::string_view name) {
      EXPECT_TRUE(keys.contains(std::string(name))) << family->name << name;
    });
    for_each_name(family->loads_without,
                  [&](std::string_view name) { EXPECT_TRUE(all.contains(std::string(name))) << family->name << name; });
  }
}

}  // namespace
}  // namespace modelutils::arch
