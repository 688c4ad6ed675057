// The tools that are linked into one program (MODELUTILS_STATIC).
#pragma once

struct StaticTool {
  const char* name;
  int (*main)(int argc, char** argv);
};

/// Sorted by name. A null name ends the list.
extern const StaticTool static_tools[];
