#include "io/free_space.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

TEST(FreeSpace, IsThatOfTheNearestFolder) {
  const TempDir folder;
  for (const std::string name : {"model.gguf", "new/model.gguf", "new/deep/"}) {
    EXPECT_TRUE(check_free_space(folder.file(name), 1)) << name;
    const Status full = check_free_space(folder.file(name), std::numeric_limits<u64>::max());
    ASSERT_FALSE(full) << name;
    EXPECT_EQ(full.error().code, "out-space");
    EXPECT_EQ(full.error().kind, ErrorKind::output);
  }
}

TEST(FreeSpace, PipesAndDevicesHaveRoom) {
  EXPECT_TRUE(check_free_space("-", std::numeric_limits<u64>::max()));
  EXPECT_TRUE(check_free_space("/dev/null", std::numeric_limits<u64>::max()));
}

}  // namespace
}  // namespace modelutils
