// The families by name: arch::llama, arch::mixtral, …
#pragma once

#include "arch/families/list.h"

namespace modelutils::arch {

#define MU_NAME_FAMILY(file, family) inline const Family& family = families::file::packed_##family.unpacked();
MU_ARCH_FAMILIES(MU_NAME_FAMILY)
#undef MU_NAME_FAMILY

}  // namespace modelutils::arch
