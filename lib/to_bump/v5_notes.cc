#include "to_bump/v5_notes.h"

#include <fmt/core.h>

#include "base/counted.h"

namespace modelutils {

namespace {

constexpr u64 uniform_gemma_layers = 5;  // from the sixth on, one in six attends to everything

// Types whose head only the full layout of logits computes; see docs/formats/bump5.md, "Types".
bool needs_full_logits(bump::Dtype dtype) {
  using bump::Dtype;
  return dtype == Dtype::fp32 || dtype == Dtype::fp16 || dtype == Dtype::q5_1 || dtype == Dtype::q5_k;
}

}  // namespace

void add_bump5_notes(const Bump5Mapping& mapping, std::vector<std::string>& notes) {
  for (const auto& [types, count] : mapping.substitutes) {
    notes.push_back(fmt::format(
        "{} of type {} {} written as {}, with the same values: C-Kernel-Engine has no kernel for "
        "the original type there",
        counted(count, "tensor"), type_name(types.first), verb(count, "is", "are"), type_name(types.second)));
  }
  if (mapping.entries.empty()) return;
  const bump::Dtype head = mapping.entries[mapping.features.untied ? 1 : 0].entry.dtype;
  if (needs_full_logits(head)) {
    notes.push_back(
        fmt::format("an output head of type {} needs build_ir_v8.py --logits-layout full", bump::dtype_name(head)));
  }
  if (mapping.family->engine.is_gemma && mapping.header.num_layers > uniform_gemma_layers &&
      (mapping.hyper.rope_theta != 10000 || mapping.sliding_window != 0)) {
    notes.emplace_back(
        "C-Kernel-Engine computes every layer of gemma3 with one rope_theta and the sliding window, so its results "
        "differ from the sixth layer on");
  }
  if (!mapping.vocabulary) {
    notes.emplace_back("the model has no tokens: the file is without a tokenizer");
  } else {
    const Bump5Vocabulary& vocabulary = *mapping.vocabulary;
    if (vocabulary.left_out != 0) {
      notes.push_back(fmt::format("{} left out: a part of {} is not in the vocabulary",
                                  counted(vocabulary.left_out, "merge"), verb(vocabulary.left_out, "it", "them")));
    }
    if (vocabulary.is_unigram) {
      notes.push_back(
          fmt::format("C-Kernel-Engine takes several spaces in a row for one{}: such texts become other "
                      "tokens than in llama.cpp",
                      vocabulary.has_charsmap ? ", and does not apply tokenizer.ggml.precompiled_charsmap" : ""));
    }
    if (vocabulary.with_nul != 0) {
      notes.push_back(fmt::format("{} with a NUL: the engine reads only what comes before it",
                                  counted(vocabulary.with_nul, "token")));
    }
  }
}

}  // namespace modelutils
