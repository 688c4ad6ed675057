#include "keys_page.h"

#include <fmt/core.h>

#include "arch/families.h"
#include "arch/families/runtime_only.h"
#include "arch/key_facts.h"
#include "arch/names.h"
#include "arch/projectors.h"
#include "formats/gguf/document.h"
#include "tensor/types.h"
#include "tokenizer/pre_table.h"

namespace modelutils::generate {

namespace {

constexpr std::string_view head =
    "# Keys of GGUF files\n\n"
    "Every key that llama.cpp, its converter or this project knows; `ARCH` stands for the name of the architecture.\n"
    "`verify` checks types and ranges by this table (`gguf-key-type`, `gguf-key-range`), `gguf-dump -v` shows what "
    "the\n"
    "keys of a file mean, and `gguf-edit --set KEY=VALUE` takes the type of a new key from it. A type with `[]` is an\n"
    "array. *Read by* lists the architectures whose loader reads the key; those in bold refuse a file without it.\n"
    "Written by `generate --keys` from `lib/arch/key_rows_*.cc`.\n";

std::string name_of(const arch::KeyFacts& facts) {
  return facts.name.starts_with("*.") ? "ARCH" + std::string(facts.name.substr(1)) : std::string(facts.name);
}

std::string types_of(const arch::KeyFacts& facts) {
  std::string text;
  for_each_name(facts.types,
                [&](std::string_view type) { text += fmt::format("{}`{}`", text.empty() ? "" : ", ", type); });
  if (facts.length == "layers") text += ", one for each layer";
  if (facts.length == "tokens") text += ", one for each token";
  if (!facts.length.empty() && facts.length != "layers" && facts.length != "tokens" && facts.length != "any") {
    text += fmt::format(" of {}", facts.length);
  }
  return text;
}

std::string range_of(const arch::KeyFacts& facts) {
  const bool has_least = facts.least > -std::numeric_limits<double>::infinity();
  const bool has_most = facts.most < std::numeric_limits<double>::infinity();
  if (has_least && has_most) return fmt::format(", {} to {:.0f}", facts.least, facts.most);
  if (has_least && facts.least != 0) return fmt::format(", at least {}", facts.least);
  return {};
}

std::string readers_of(const arch::KeyFacts& facts) {
  if (facts.readers == "*") return facts.needed_by == "*" ? "**all**" : "all";
  if (facts.readers.empty()) return "none";
  std::string text;
  for_each_name(facts.readers, [&](std::string_view name) {
    const bool is_needed = arch::has_name(facts.needed_by, name);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", is_needed ? fmt::format("**{}**", name) : std::string(name));
  });
  return text;
}

}  // namespace

std::string keys_page() {
  std::string page(head);
  for (const arch::KeyGroup& group : arch::key_groups()) {
    page +=
        fmt::format("\n## {}\n\n| key | type | means | without it | read by |\n|---|---|---|---|---|\n", group.title);
    for (const arch::KeyFacts& facts : group.rows) {
      page += fmt::format("| `{}` | {}{} | {} | {} | {} |\n", name_of(facts), types_of(facts), range_of(facts),
                          facts.means, facts.absent, readers_of(facts));
    }
  }
  return page;
}

std::string known_names() {
  std::string text;
  const auto say = [&](std::string_view what, std::string_view name) { text += fmt::format("{} {}\n", what, name); };
  for (const arch::Family* family : arch::all_families()) say("architecture", family->gguf);
  for (const arch::RuntimeArchitecture& row : arch::runtime_architectures()) {
    for_each_name(row.names, [&](std::string_view name) { say("architecture", name); });
  }
  for (const arch::KeyGroup& group : arch::key_groups()) {
    for (const arch::KeyFacts& facts : group.rows) say("key", facts.name);
  }
  for (const tokenizer::KnownPre& pre : tokenizer::all_known_pre()) say("pre_tokenizer", pre.name);
  for (u64 code = 0; code < 1024; ++code) {
    if (const std::string_view name = gguf::file_type_name(code); !name.empty()) say("file_type", name);
  }
  for (const TypeInfo& type : all_types()) say("block_type", type.name);
  for (const arch::Projector& projector : arch::all_projectors()) say("projector", projector.name);
  say("projector", arch::qwen_omni_projector);
  const auto say_row = [&](const arch::Tensor& row, bool in_layer) {
    if (!arch::key_of_numbers(row).empty()) return;
    say("tensor", arch::gguf_name(row, in_layer, 0, arch::Side::weight));
  };
  for (const arch::Family* family : arch::all_families()) {
    for (const arch::Tensor& row : family->first_tensors) say_row(row, false);
    for (const auto& group : family->layer_tensors) {
      for (const arch::Tensor& row : group) say_row(row, true);
    }
    for (const arch::Tensor& row : family->prediction.tensors) say_row(row, true);
    for (const arch::Tensor& row : family->last_tensors) say_row(row, false);
    say("tensors", arch::further_tensors(family->gguf));
  }
  for (const arch::RuntimeArchitecture& row : arch::runtime_architectures()) {
    for_each_name(row.names, [&](std::string_view name) { say("tensors", arch::runtime_tensors(name)); });
  }
  return text;
}

}  // namespace modelutils::generate
