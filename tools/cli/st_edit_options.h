// The flags of st-edit, which is also called pt2st.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "edit/safetensors/st_edit.h"

namespace modelutils::cli {

struct StEditArguments {
  to_safetensors::StEditOptions edit;
  std::vector<Occurrence> operations;
  bool follow_links = false;
  bool fix_index = false;
  bool in_place = false;
  bool recover = false;
  std::string journal;  ///< with --recover
  bool json = false;
  std::string report;

  /// Stores the values of the flags in `edit`.
  void settle();
  bool wants_json() const { return json || !report.empty(); }
};

/// Define all flags. parse() fills `arguments`, which must outlive the command.
Command st_edit_command(StEditArguments& arguments);
Command pt2st_command(StEditArguments& arguments);

}  // namespace modelutils::cli
