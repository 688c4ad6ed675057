// The list of families, and how a model finds its own.
#pragma once

#include <span>
#include <string_view>

#include "arch/family.h"
#include "gguf/keys.h"

namespace modelutils::arch {

/// Every family, in the order of the page of architectures.
std::span<const Family* const> all_families();

/// By architectures[0] and model_type of a config.json. A class that is named and unknown is another model, even if it
/// borrows a known model_type ("…ForSequenceClassification"), unless it is the class of a multimodal wrapper. nullptr
/// if there is none.
const Family* find_family(const hf::Config& config);

/// The same from names alone: the class wins; of families that share one, the first.
const Family* find_family(std::string_view hf_class, std::string_view model_type);

/// By general.architecture and, where several families share one, by the keys. nullptr if there is none.
const Family* find_family(const gguf::Index& index);

/// The first family with this GGUF architecture; `experts`: one with experts is wanted. nullptr if there is none.
const Family* find_gguf_family(std::string_view architecture, bool experts);

/// Is one of the operation's names ("add_one") in the rows of a family?
bool uses_operation(const Family& family, std::string_view operation);

}  // namespace modelutils::arch
