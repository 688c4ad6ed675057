// Properties of the safetensors parser and rules, checked on every prefix and every corruption of a small file.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "formats/safetensors/parse.h"
#include "rules/safetensors/rules.h"
#include "support/safetensors_builder.h"

namespace modelutils {
namespace {

using test::SafetensorsBuilder;

constexpr std::size_t data_size = 32;

// Returns a small file that uses every feature, with 32 bytes of data.
std::string small_file() {
  SafetensorsBuilder builder;
  builder.metadata("format", "pt").metadata("k\\u00e9y", "\\\"v\\\"");
  builder.tensor("model.a", "F32", "[2, 3]", std::string(24, '\1')).tensor("scalar", "BF16", "[]", "xy");
  builder.tensor("empty", "U8", "[0,5]", "").tensor("\\u0062 \\ud83d\\ude00", "F6_E2M3", "[2,2]", "abc");
  builder.member(R"("extra":{"dtype":"U8","shape":[3],"data_offsets":[29,32],"note":{"a":[1,-2.5e1,null,true]}})")
      .data("end");
  return builder.build();
}

/// Applies everything that verify and a dumper check. Returns the number of errors; 1 if the file is not recognised.
u64 errors_in(std::string_view bytes) {
  const auto document = safetensors::parse(*test::memory_file(bytes, "m.safetensors"));
  if (!document) {
    EXPECT_EQ(document.error().code, "st-not-safetensors");
    return 1;
  }
  EXPECT_TRUE(document->complete || first_container_error(document->findings) != nullptr);
  for (const safetensors::Tensor& tensor : document->tensors) {
    EXPECT_LT(tensor.entry_offset, document->data_offset);
    EXPECT_EQ(bytes[tensor.entry_offset], '"');
    EXPECT_NE(document->find(tensor.name), nullptr);
  }
  return safetensors_container_rules(*document).errors();
}

TEST(SafetensorsProperty, TheWholeFileIsRight) {
  EXPECT_EQ(errors_in(small_file()), 0u);
}

TEST(SafetensorsProperty, NoPrefixIsTakenForTheWhole) {
  const std::string file = small_file();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(errors_in(std::string_view(file).substr(0, size)), 0u) << size << " bytes";
  }
}

TEST(SafetensorsProperty, MoreBytesBehindTheEndAreSeen) {
  const std::string file = small_file();
  for (std::size_t more = 1; more <= 16; ++more) EXPECT_NE(errors_in(file + std::string(more, '\0')), 0u);
}

TEST(SafetensorsProperty, EveryCorruptByteOfTheHeaderIsReadSafely) {
  const std::string file = small_file();
  const std::size_t end = file.size() - data_size;
  for (std::size_t place = 0; place < end; ++place) {
    for (const int change : {0x01, 0x02, 0x20, 0x80, 0xff}) {
      std::string corrupt = file;
      corrupt[place] = static_cast<char>(corrupt[place] ^ change);
      (void)errors_in(corrupt);
    }
    for (const char byte : {'"', '\\', '{', '}', '[', ']', ',', ':', '0', ' ', '\0'}) {
      std::string corrupt = file;
      corrupt[place] = byte;
      (void)errors_in(corrupt);
    }
  }
}

TEST(SafetensorsProperty, NoStructuralByteOfTheHeaderCanGo) {
  const std::string file = small_file();
  const std::string data = file.substr(file.size() - data_size);
  const std::string json = file.substr(8, file.size() - 8 - data_size);
  for (std::size_t place = 0; place < json.size(); ++place) {
    if (std::string_view("{}[]:,\"").find(json[place]) == std::string_view::npos) continue;
    if (place > 0 && json[place - 1] == '\\') continue;  // an escaped quote is text
    std::string shorter = json;
    shorter.erase(place, 1);
    EXPECT_NE(errors_in(SafetensorsBuilder().header(shorter).data(data).build()), 0u) << shorter;
  }
}

// In reverse order, so that the rules must sort.
TEST(SafetensorsProperty, ManyTensorsInAnyOrderAreSound) {
  constexpr std::size_t tensors = 64'000;
  std::string json = "{";
  for (std::size_t i = 0; i < tensors; ++i) {
    const std::size_t begin = tensors - 1 - i;
    json += fmt::format(R"("t{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}},)", i, begin, begin + 1);
  }
  json.back() = '}';
  EXPECT_EQ(errors_in(SafetensorsBuilder().header(json).data(std::string(tensors, 'x')).build()), 0u);
}

}  // namespace
}  // namespace modelutils
