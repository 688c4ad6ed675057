// The list of image and video models, in the order in which they are recognised: the first whose names a file has wins.
// Each line names a variable, which is in the file of the same name in this folder. A new one needs a file and a line.
#pragma once

#include "arch/image_models.h"

#define MU_ARCH_IMAGES(X) \
  X(qwen_image)           \
  X(flux)                 \
  X(sd3)                  \
  X(aura)                 \
  X(hidream)              \
  X(cosmos)               \
  X(ltxv)                 \
  X(hyvid)                \
  X(wan)                  \
  X(sdxl)                 \
  X(sd1)                  \
  X(lumina2)              \
  /* new ones go above this line */

namespace modelutils::arch::images {

#define MU_DECLARE_IMAGE(name) extern const ImageModel name;
MU_ARCH_IMAGES(MU_DECLARE_IMAGE)
#undef MU_DECLARE_IMAGE

}  // namespace modelutils::arch::images
