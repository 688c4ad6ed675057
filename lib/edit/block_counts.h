// How many layers a model that is edited has, and how many of them predict further tokens.
#pragma once

#include <string>

#include "edit/edited_model.h"

namespace modelutils::edit {

struct BlockCounts {
  std::string architecture;
  u64 blocks = 0;
  u64 predicting = 0;

  u64 trunk() const { return blocks - predicting; }
  std::string key(std::string_view suffix) const { return architecture + "." + std::string(suffix); }
};

/// What a key counts; 0 if it is missing or no u32.
u64 count_of(EditedModel& model, const std::string& key);

BlockCounts counts_of(EditedModel& model);

}  // namespace modelutils::edit
