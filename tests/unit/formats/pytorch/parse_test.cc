#include "formats/pytorch/parse.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "io/random_access_file.h"
#include "support/checkpoint_builder.h"

namespace modelutils::pytorch {
namespace {

using namespace test::pickle;
using namespace std::string_literals;
using test::checkpoint;
using test::zip;

Document read(const std::string& content) {
  const auto bytes = std::as_bytes(std::span(content));
  const MemoryFile file({bytes.begin(), bytes.end()}, "m.pt");
  auto document = parse(file);
  EXPECT_TRUE(document.has_value());
  return document ? std::move(*document) : Document{};
}

std::string first_code(const std::string& content) {
  const Document document = read(content);
  return document.findings.empty() ? "" : document.findings.front().code;
}

const std::string four = storage("FloatStorage", "0", 4);
const std::string bytes16(16, '\1');

TEST(Parse, TensorsWithTheirPlaces) {
  const Document document = read(
      checkpoint(dict({{"w", tensor(four, 0, {2, 2}, {2, 1})}, {"t", tensor(four, 1, {3}, {1})}}), {{"0", bytes16}}));
  EXPECT_TRUE(document.findings.empty()) << document.findings.front().message;
  EXPECT_TRUE(document.complete);
  EXPECT_EQ(document.root, "archive");
  ASSERT_EQ(document.tensors.size(), 2u);
  EXPECT_EQ(document.tensors[0].name, "w");
  EXPECT_EQ(document.tensors[0].type, TensorType::F32);
  EXPECT_EQ(document.tensors[0].bytes, 16u);
  EXPECT_TRUE(document.tensors[0].is_contiguous);
  EXPECT_EQ(document.tensors[1].offset, 4u);
  EXPECT_EQ(document.tensors[1].storage, document.tensors[0].storage);
}

TEST(Parse, NamesAndWrappers) {
  const std::string w = tensor(four, 0, {4}, {1});
  const std::string inner = "}(" + text("a") + w + "K\7" + w + "N" + w + "u";
  const Document document =
      read(checkpoint(dict({{"state_dict", inner}, {"optimizer", "](" + w + w + "e"}}), {{"0", bytes16}}));
  std::vector<std::string> names;
  for (const Tensor& each : document.tensors) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"state_dict.a", "state_dict.7", "optimizer.0", "optimizer.1"}));
  EXPECT_EQ(document.wrapper, "state_dict");
}

TEST(Parse, OfAKeySetTwiceTheLastValueCounts) {
  const Document document =
      read(checkpoint(dict({{"a", tensor(four, 0, {4}, {1})}, {"a", tensor(four, 0, {2}, {1})}}), {{"0", bytes16}}));
  ASSERT_EQ(document.tensors.size(), 1u);
  EXPECT_EQ(document.tensors[0].elements, 2u);
}

std::vector<std::string> names_of(const Document& document) {
  std::vector<std::string> names;
  for (const Tensor& each : document.tensors) names.push_back(each.name);
  return names;
}

TEST(Parse, KeysThatAreEqualForPython) {
  // 1, 1.0 and True are the same key, which keeps its first form; a value that is not a tensor also replaces a tensor.
  const std::string whole = tensor(four, 0, {4}, {1}), part = tensor(four, 0, {2}, {1});
  const std::string one = "G\x3f\xf0"s + std::string(6, '\0');
  Document document =
      read(checkpoint("\x80\x02}(K\1" + whole + one + part + text("a") + whole + text("a") + "Nu.", {{"0", bytes16}}));
  EXPECT_TRUE(document.findings.empty());
  EXPECT_EQ(names_of(document), std::vector<std::string>{"1"});
  EXPECT_EQ(document.tensors[0].elements, 2u);
  document = read(checkpoint("\x80\x02}(K\1" + whole + "\x88" + part + "u.", {{"0", bytes16}}));
  EXPECT_EQ(document.tensors[0].elements, 2u);
}

TEST(Parse, TwoTensorsOfOneName) {
  const std::string whole = tensor(four, 0, {4}, {1}), part = tensor(four, 0, {2}, {1});
  EXPECT_EQ(first_code(checkpoint("\x80\x02}(K\1" + whole + text("1") + part + "u.", {{"0", bytes16}})),
            "pt-same-name");
  EXPECT_EQ(first_code(checkpoint(dict({{"a.b", whole}, {"a", "}" + text("b") + part + "s"}}), {{"0", bytes16}})),
            "pt-same-name");
  // A NumPy number equals a Python number.
  const std::string complex = global("builtins", "complex") + "K\1\x85R";
  EXPECT_EQ(first_code(checkpoint("\x80\x02}(K\1" + whole + complex + part + "u.", {{"0", bytes16}})), "pt-same-name");
}

TEST(Parse, TensorsWithoutNamesAreCounted) {
  const std::string w = tensor(four, 0, {4}, {1});
  const auto message = [&](const std::string& value) {
    const Document document =
        read(checkpoint(dict({{"a", value}, {"w", tensor(four, 0, {2}, {1})}}), {{"0", bytes16}, {"1", "x"}}));
    EXPECT_EQ(document.tensors.size(), 1u) << value;
    EXPECT_EQ(document.findings.front().code, "pt-unnamed");
    EXPECT_EQ(document.findings.errors(), 0u);
    return document.findings.empty() ? "" : document.findings.front().message;
  };
  EXPECT_EQ(message("\x8f(" + w + "\x90"), "1 tensor has no name; it is in a set");
  EXPECT_EQ(message(global("builtins", "set") + "]" + w + "a\x85R"), "1 tensor has no name; it is in a set");
  EXPECT_EQ(message("}(K\1\x85" + w + "u"),
            "1 tensor has no name; it is below a key that is a tuple, not a text or number");
  EXPECT_EQ(message("}N" + w + "s"), "1 tensor has no name; it is below a key that is None, not a text or number");
  EXPECT_EQ(message("}" + w + "Ns"), "1 tensor has no name; it is the key of a dict");
  EXPECT_EQ(message(global("collections", "OrderedDict") + ")R}" + text("extra") + w + "sb"),
            "1 tensor has no name; it is an attribute or argument of an object");
  EXPECT_EQ(message(storage("ByteStorage", "1", 1)), "1 storage belongs to no tensor and has no name");
  EXPECT_TRUE(read(checkpoint(dict({{"a", w + "\x85"}}), {{"0", bytes16}})).findings.empty());  // a.0
}

TEST(Parse, WhatHasNoNameIsCheckedAsTorchDoes) {
  const auto code = [](const std::string& value) {
    return first_code(checkpoint("\x80\x02}N" + value + "s.", {{"0", bytes16}}));
  };
  EXPECT_EQ(code(tensor(four, 0, {4}, {1})), "pt-unnamed");
  EXPECT_EQ(read(checkpoint("\x80\x02}N" + tensor(four, 1, {4}, {1}) + "s.", {{"0", bytes16}})).findings.errors(), 1u);
  EXPECT_EQ(read(checkpoint("\x80\x02}N" + storage("FloatStorage", "1", 4) + "s.", {})).findings.errors(), 1u);
  EXPECT_TRUE(
      read(checkpoint(dict({{"a", four}, {"w", tensor(four, 0, {4}, {1})}}), {{"0", bytes16}})).findings.empty());
}

TEST(Parse, OneContainerUnderTwoKeys) {
  const std::string inner = "}" + text("w") + tensor(four, 0, {4}, {1}) + "sq\1";
  const Document document = read(checkpoint(dict({{"best", inner}, {"state_dict", "h\1"}}), {{"0", bytes16}}));
  EXPECT_TRUE(document.findings.empty());
  EXPECT_EQ(names_of(document), (std::vector<std::string>{"best.w", "state_dict.w"}));
  EXPECT_EQ(document.wrapper, "state_dict");
}

TEST(Parse, GraphsOfSharedListsEnd) {
  std::string laughs = "\x80\x02]" + tensor(four, 0, {4}, {1}) + "aq\1";
  for (int i = 2; i < 62; ++i) {  // 2^60 paths
    laughs += "](h"s + static_cast<char>(i - 1) + "h" + static_cast<char>(i - 1) + "eq" + static_cast<char>(i);
  }
  EXPECT_EQ(first_code(checkpoint(laughs + ".", {{"0", bytes16}})), "pt-limit");
  // A list that contains itself is infinite, too, but each of its tensors has a name.
  const Document document = read(checkpoint("\x80\x02]q\1(" + tensor(four, 0, {4}, {1}) + "h\1e.", {{"0", bytes16}}));
  EXPECT_TRUE(document.findings.empty());
  EXPECT_EQ(names_of(document), std::vector<std::string>{"0"});
}

TEST(Parse, LongKeysOfManyNames) {
  std::string pickle = "\x80\x02" + tensor(four, 0, {4}, {1}) + "q\1" + "0}" + text(std::string(100'000, 'k')) + "}(";
  for (int i = 0; i < 1000; ++i) pickle += text(std::to_string(i)) + "h\1";
  const Document document = read(checkpoint(pickle + "us.", {{"0", bytes16}}));
  EXPECT_EQ(document.findings.front().code, "pt-limit");
  EXPECT_LT(document.tensors.size(), 100u);
}

TEST(Parse, SizesThatDoNotFit) {
  const auto code = [](const std::string& made) {
    return first_code(checkpoint(dict({{"w", made}}), {{"0", bytes16}}));
  };
  EXPECT_EQ(code(tensor(four, 0, {5}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 1, {4}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {2}, {4})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {-1}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, -1, {1}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {2, 2}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {1 << 30, 1 << 30, 1 << 30}, {0, 0, 0})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {1 << 30, 8}, {0, 0})), "pt-expanded");
  EXPECT_EQ(code(tensor(storage("FloatStorage", "0", 5), 0, {5}, {1})), "pt-storage");
  EXPECT_EQ(code(tensor(storage("FloatStorage", "1", 4), 0, {4}, {1})), "pt-storage");
  EXPECT_EQ(code(tensor(storage("FloatStorage", "0", 3), 0, {3}, {1})), "pt-storage-long");
  EXPECT_EQ(code(tensor(storage("ComplexDoubleStorage", "0", 1), 0, {1}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {4}, {1})), "");
}

TEST(Parse, Archives) {
  const std::string sound = dict({});
  EXPECT_EQ(first_code(zip({{.name = "a/b", .content = "x"}})), "pt-no-pickle");
  EXPECT_EQ(first_code("PK\3\4"), "pt-zip-end");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound}})), "pt-version");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound}, {.name = "a/version", .content = "99\n"}})),
            "pt-version");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound}, {.name = "b/version", .content = "3\n"}})),
            "pt-root");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound},
                            {.name = "a/version", .content = "3\n"},
                            {.name = "a/byteorder", .content = "big"}})),
            "pt-byteorder");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound},
                            {.name = "a/version", .content = "3\n"},
                            {.name = "a/constants.pkl", .content = sound}})),
            "pt-torchscript");
  // torch ignores letter case when it looks up records.
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound},
                            {.name = "a/version", .content = "3\n"},
                            {.name = "a/BYTEORDER", .content = "big"}})),
            "pt-byteorder");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound},
                            {.name = "a/version", .content = "3\n"},
                            {.name = "a/byteorder", .content = ""}})),
            "pt-byteorder");
  EXPECT_EQ(first_code(zip({{.name = "a/Data.PKL", .content = sound}, {.name = "a/VERSION", .content = "3\n"}})), "");
  EXPECT_EQ(first_code(checkpoint(sound + "N.")), "pt-pickle");
  EXPECT_EQ(first_code(checkpoint(sound)), "");
}

TEST(Parse, DeepNamesEnd) {
  std::string deep = tensor(four, 0, {4}, {1});
  for (int i = 0; i < 200; ++i) deep += "\x85";
  EXPECT_EQ(first_code(checkpoint("\x80\x02" + deep + ".", {{"0", bytes16}})), "pt-limit");
}

// The sequence of pickles that torch wrote before 1.6, by hand.
std::string legacy(const std::string& object, const std::string& keys, const std::string& storages) {
  return "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
         "\x80\x02M\xe9\x03."
         "\x80\x02}." +
         object + keys + storages;
}

TEST(Parse, LegacyForm) {
  const std::string object = dict({{"w", tensor(legacy_storage("FloatStorage", "0", 4), 0, {4}, {1})}});
  const std::string keys = "\x80\x02]" + text("0") + "a.";
  const std::string data = u64_bytes(4) + bytes16;
  const Document document = read(legacy(object, keys, data));
  EXPECT_TRUE(document.findings.empty()) << document.findings.front().message;
  ASSERT_EQ(document.tensors.size(), 1u);
  EXPECT_TRUE(document.is_legacy);
  EXPECT_EQ(first_code(legacy(object, keys, u64_bytes(u64{1} << 60) + bytes16)), "pt-storage");
  EXPECT_EQ(first_code(legacy(object, keys, "")), "pt-storage");
  EXPECT_EQ(first_code(legacy(object, "\x80\x02].", "")), "pt-storage");
  EXPECT_EQ(first_code(legacy(object, "\x80\x02}.", data)), "pt-legacy");
  EXPECT_EQ(first_code(legacy(object, keys, data + "x")), "pt-legacy");
  EXPECT_EQ(first_code("\x80\x02N."), "pt-legacy");
  EXPECT_EQ(first_code("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                       "\x80\x02M\x01\x00."),
            "pt-pickle");
}

TEST(Parse, LegacyStoragesHaveTheLengthThatThePickleSays) {
  const std::string object = dict({{"w", tensor(legacy_storage("FloatStorage", "0", 3), 0, {3}, {1})}});
  EXPECT_EQ(first_code(legacy(object, "\x80\x02]" + text("0") + "a.", u64_bytes(4) + bytes16)), "pt-storage");
}

TEST(Parse, LegacyViewsArePartsOfTheirRoot) {
  const auto code = [](int elements) {
    const std::string part = legacy_storage("FloatStorage", "0", 4, tuple(text("v") + integer(1) + integer(2)));
    const std::string object = dict({{"w", tensor(part, 0, {elements}, {1})}});
    return first_code(legacy(object, "\x80\x02]" + text("0") + "a.", u64_bytes(4) + bytes16));
  };
  EXPECT_EQ(code(2), "");
  EXPECT_EQ(code(3), "pt-tensor");  // within the root, but not within the view
}

// Turns the first 512 bytes of a legacy file into a valid tar header, inside a text in the third pickle.
std::string legacy_tar(int add) {
  std::string file = legacy(dict({}), "\x80\x02].", "");
  const std::string marker = "\x80\x02}.";
  file.insert(file.find(marker) + 2, text(std::string(600, 'x')) + "0");
  file.replace(148, 8, std::string(8, ' '));
  int sum = add;
  for (int i = 0; i < 512; ++i) sum += static_cast<unsigned char>(file[static_cast<std::size_t>(i)]);
  char octal[9];
  std::snprintf(octal, sizeof octal, "%06o", static_cast<unsigned>(sum));
  return file.replace(148, 7, std::string(octal) + '\0');
}

TEST(Parse, LegacyFilesThatAreTarFiles) {
  EXPECT_EQ(first_code(legacy_tar(0)), "pt-legacy");
  EXPECT_EQ(first_code(legacy_tar(1)), "");
}

TEST(Parse, ManyPicklesInARow) {
  std::string pickles = "\x80\x02N.";
  for (int i = 0; i < 1'000'000; ++i) pickles += "N.";
  EXPECT_EQ(first_code(pickles), "pt-legacy");
}

TEST(Parse, DeflatedPicklesAreBoundedByTheFile) {
  const auto code = [](std::size_t numbers) {
    return first_code(
        zip({{.name = "a/data.pkl", .content = "\x80\x02](" + std::string(numbers, 'N') + "e.", .deflate = true},
             {.name = "a/version", .content = "3\n"}}));
  };
  EXPECT_EQ(code(200'000), "");
  EXPECT_EQ(code(400'000), "pt-record-size");
}

class Pipe : public ByteSource {
 public:
  Result<std::size_t> read_some(u64, MutableBytes) const override { return 0; }
  std::optional<u64> size() const override { return std::nullopt; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "pipe";
};

TEST(Parse, NeedsAFile) {
  EXPECT_EQ(parse(Pipe()).error().code, "pt-size");
}

TEST(Parse, RecognisesByContent) {
  EXPECT_TRUE(is_checkpoint(checkpoint(dict({})), "whatever"));
  EXPECT_TRUE(is_checkpoint("\x80\x02}.", "whatever"));
  EXPECT_TRUE(is_checkpoint(zip({{.name = "a/b", .content = "x"}}), "m.pt"));
  EXPECT_FALSE(is_checkpoint(zip({{.name = "a/b", .content = "x"}}), "m.docx"));
  EXPECT_FALSE(is_checkpoint("GGUF", "m.bin"));
  // Headers of 384, 640, 896, 1152 and 1408 bytes, and of that much more than 64 KiB.
  for (const char low : {'\x01', '\x02', '\x03', '\x04', '\x05'}) {
    for (const char next : {'\0', '\x01', '}'}) {
      const std::string header = std::string{'\x80', low, next, '\0', '\0', '\0', '\0', '\0'} + "{\"w\":";
      EXPECT_FALSE(is_checkpoint(header, "m.safetensors"));
      EXPECT_FALSE(is_checkpoint(header, "m"));
      EXPECT_EQ(is_checkpoint(header, "m.bin"), next == '}') << "what torch would run is a pickle";
    }
  }
  EXPECT_TRUE(is_checkpoint("cos\nsystem\n(", "m.bin"));
  EXPECT_FALSE(is_checkpoint("cos\nsystem\n(", "notes"));
}

}  // namespace
}  // namespace modelutils::pytorch
