#include "base/place.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

TEST(Place, SaysWhatItNames) {
  EXPECT_EQ(at_tensor("a").text(), "tensor 'a'");
  EXPECT_EQ(at_key("a.b").text(), "key 'a.b'");
  EXPECT_EQ(at_field("rope_theta").text(), "config.json field 'rope_theta'");
  EXPECT_EQ(at_module("model.layers.0").text(), "module 'model.layers.0'");
  EXPECT_EQ(at_file("a.gguf").text(), "file 'a.gguf'");
}

TEST(Place, CutsALongNameBetweenTwoCharacters) {
  EXPECT_EQ(at_key(std::string(120, 'a')).text(), "key '" + std::string(120, 'a') + "'");
  // ä takes two bytes and would end at 121.
  EXPECT_EQ(at_tensor(std::string(119, 'a') + "äöü" + std::string(1 << 20, 'b')).text(),
            "tensor '" + std::string(119, 'a') + "…'");
}

}  // namespace
}  // namespace modelutils
