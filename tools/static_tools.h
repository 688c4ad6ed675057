// The tools that are linked into one program (MODELUTILS_STATIC).
#pragma once

struct StaticTool {
  const char* name;
  int (*main)(int argc, char** argv);
};

/// Sorted by name; the last has none.
extern const StaticTool static_tools[];
