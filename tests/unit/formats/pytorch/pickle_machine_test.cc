#include "formats/pytorch/pickle_machine.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/checkpoint_builder.h"

namespace modelutils::pytorch {
namespace {

using namespace test::pickle;
using namespace std::string_literals;

struct Ran {
  bool whole = false;
  PickleMachine machine{"data.pkl", 1000};
  FindingLog findings;
};

Ran run(const std::string& pickle) {
  Ran ran;
  ran.whole = ran.machine.run(std::as_bytes(std::span(pickle)));
  ran.findings = ran.machine.take_findings();
  return ran;
}

ValueKind kind_of(const std::string& pickle) {
  const Ran ran = run(pickle);
  EXPECT_TRUE(ran.whole) << (ran.findings.empty() ? "" : ran.findings.front().message);
  return ran.whole ? ran.machine.values()[ran.machine.root()].kind : ValueKind::opaque;
}

i64 number_of(const std::string& pickle) {
  const Ran ran = run(pickle);
  EXPECT_TRUE(ran.whole);
  EXPECT_EQ(ran.machine.values()[ran.machine.root()].kind, ValueKind::integer);
  return ran.machine.values()[ran.machine.root()].number;
}

std::string pickle_code(const std::string& pickle) {
  const Ran ran = run(pickle);
  return ran.findings.empty() ? "" : ran.findings.front().code;
}

// Every opcode of protocols 0 to 5 allowed in a checkpoint, with the kind of its result (named as in pickletools).
TEST(PickleMachine, EveryAllowedOpcodeLeavesItsValue) {
  EXPECT_EQ(kind_of("N."), ValueKind::none);
  EXPECT_EQ(kind_of("\x88."), ValueKind::boolean);
  EXPECT_EQ(kind_of("\x89."), ValueKind::boolean);
  EXPECT_EQ(kind_of("I01\n."), ValueKind::boolean);
  EXPECT_EQ(number_of("I-12\n."), -12);
  EXPECT_EQ(number_of("L77L\n."), 77);
  EXPECT_EQ(number_of("K\xff."), 255);
  EXPECT_EQ(number_of("M\x01\x02."), 0x201);
  EXPECT_EQ(number_of("J\xfe\xff\xff\xff."), -2);
  EXPECT_EQ(number_of("\x8a\x00."s), 0);
  EXPECT_EQ(number_of("\x8a\x01\x80."), -128);
  EXPECT_EQ(number_of("\x8a\x02\xff\x00."s), 255);
  EXPECT_EQ(number_of("\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00."s), 1);
  EXPECT_EQ(kind_of("\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x01."s), ValueKind::big_integer);
  EXPECT_EQ(number_of("\x8b\x01\x00\x00\x00\x05."s), 5);
  EXPECT_EQ(kind_of("F1.5\n."), ValueKind::real);
  EXPECT_EQ(kind_of("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s), ValueKind::real);
  EXPECT_EQ(kind_of("S'a'\n."), ValueKind::text);
  EXPECT_EQ(kind_of("T\x01\x00\x00\x00"s + "a."), ValueKind::text);
  EXPECT_EQ(kind_of("U\x01"s + "a."), ValueKind::text);
  EXPECT_EQ(kind_of("Vabc\n."), ValueKind::text);
  EXPECT_EQ(kind_of("X\x01\x00\x00\x00"s + "a."), ValueKind::text);
  EXPECT_EQ(kind_of("\x8c\x01"s + "a."), ValueKind::text);
  EXPECT_EQ(kind_of("\x8d" + u64_bytes(1) + "a."), ValueKind::text);
  EXPECT_EQ(kind_of("B\x01\x00\x00\x00"s + "a."), ValueKind::bytes);
  EXPECT_EQ(kind_of("C\x01"s + "a."), ValueKind::bytes);
  EXPECT_EQ(kind_of("\x8e" + u64_bytes(1) + "a."), ValueKind::bytes);
  EXPECT_EQ(kind_of("\x96" + u64_bytes(1) + "a."), ValueKind::bytes);
  EXPECT_EQ(kind_of(")."), ValueKind::tuple);
  EXPECT_EQ(kind_of("(NNt."), ValueKind::tuple);
  EXPECT_EQ(kind_of("N\x85."), ValueKind::tuple);
  EXPECT_EQ(kind_of("NN\x86."), ValueKind::tuple);
  EXPECT_EQ(kind_of("NNN\x87."), ValueKind::tuple);
  EXPECT_EQ(kind_of("]."), ValueKind::list);
  EXPECT_EQ(kind_of("(NNl."), ValueKind::list);
  EXPECT_EQ(kind_of("]Na."), ValueKind::list);
  EXPECT_EQ(kind_of("](NNe."), ValueKind::list);
  EXPECT_EQ(kind_of("}."), ValueKind::dict);
  EXPECT_EQ(kind_of("(K\x01Nd."), ValueKind::dict);
  EXPECT_EQ(kind_of("}K\x01Ns."), ValueKind::dict);
  EXPECT_EQ(kind_of("}(K\x01Nu."), ValueKind::dict);
  EXPECT_EQ(kind_of("\x8f."), ValueKind::set);
  EXPECT_EQ(kind_of("\x8f(K\x01\x90."), ValueKind::set);
  EXPECT_EQ(kind_of("(K\x01\x91."), ValueKind::set);
  EXPECT_EQ(kind_of("\x80\x05\x95" + u64_bytes(2) + "N."), ValueKind::none);
  EXPECT_EQ(kind_of("NK\x01"s + "0."), ValueKind::none);
  EXPECT_EQ(kind_of("N(K\x01\x31."), ValueKind::none);
  EXPECT_EQ(kind_of("N2."), ValueKind::none);
  EXPECT_EQ(number_of("K\x07q\x05"s + "Nh\x05."), 7);
  EXPECT_EQ(number_of("K\x07r\x05\x01\x00\x00Nj\x05\x01\x00\x00."s), 7);
  EXPECT_EQ(number_of("K\x07p9\nNg9\n."), 7);
  EXPECT_EQ(number_of("K\x07\x94Nh\x00."s), 7);
  EXPECT_EQ(kind_of(global("torch", "float32") + "."), ValueKind::global);
  EXPECT_EQ(kind_of(text("torch") + text("float32") + "\x93."), ValueKind::global);
  EXPECT_EQ(kind_of(global("collections", "OrderedDict") + ")R."), ValueKind::dict);
  EXPECT_EQ(kind_of(global("collections", "OrderedDict") + ")\x81."), ValueKind::dict);
  EXPECT_EQ(kind_of(global("collections", "OrderedDict") + ")R}b."), ValueKind::dict);
  EXPECT_EQ(kind_of(storage("FloatStorage", "0", 4) + "."), ValueKind::storage);
}

TEST(PickleMachine, NumbersThatPythonReadsDifferently) {
  // Python's C unpickler reads the first as octal, as a bool, as hexadecimal, as 10; others fail in one of its two
  // unpicklers.
  for (const char* number : {"010", " 1", "+1", "-0", "0x10", "1_0", "1 ", "1.0", "", "-", "--1"}) {
    EXPECT_EQ(pickle_code("I"s + number + "\n."), "pt-pickle") << number;
    EXPECT_EQ(pickle_code("L"s + number + "L\n."), "pt-pickle") << number;
  }
  EXPECT_EQ(pickle_code("L00L\n."), "pt-pickle");
  EXPECT_EQ(kind_of("I00\n."), ValueKind::boolean);
  EXPECT_EQ(number_of("I0\n."), 0);
  EXPECT_EQ(number_of("L0L\n."), 0);
  EXPECT_EQ(number_of("I-9223372036854775808\n."), std::numeric_limits<i64>::min());
  EXPECT_EQ(kind_of("L9223372036854775808L\n."), ValueKind::big_integer);
  EXPECT_EQ(pickle_code("F1_0.5\n."), "pt-pickle");
  EXPECT_EQ(pickle_code("F 1.5\n."), "pt-pickle");
  EXPECT_EQ(pickle_code("V\xc3\xa9\n."), "pt-pickle");  // Python would decode it as Latin-1
}

TEST(PickleMachine, OfASlotTheLaterValueCounts) {
  // Slots 0 and 1 are written after slot 2: slot 2 starts in the sparse table, moves to the dense one, and then
  // changes.
  EXPECT_EQ(pickle_code("K\5q\2K\6q\0K\7q\1h\2."s), "");
  EXPECT_EQ(number_of("K\5q\2K\6q\0K\7q\1h\2."s), 5);
  const Ran ran = run("K\5q\2K\6q\0K\7q\1q\2h\2."s);
  EXPECT_TRUE(ran.whole);
  EXPECT_EQ(ran.machine.values()[ran.machine.root()].number, 7);
  EXPECT_EQ(ran.findings.front().code, "pt-memo");
  EXPECT_EQ(pickle_code("K\5q\0K\6q\0."s), "pt-memo");
  EXPECT_EQ(pickle_code("K\5r\0\1\0\0K\6r\0\1\0\0."s), "pt-memo");
  EXPECT_EQ(pickle_code("K\5q\0q\0."s), "");
  EXPECT_EQ(number_of("K\5q\2K\6\x94K\7q\0h\1."s), 6);  // MEMOIZE uses the number of used slots
}

TEST(PickleMachine, RefusedOpcodesAreNamed) {
  for (const auto& [pickle, name] : std::vector<std::pair<std::string, std::string>>{{"Pid\n.", "PERSID"},
                                                                                     {"\x82\x01.", "EXT1"},
                                                                                     {"\x83\x01\x00."s, "EXT2"},
                                                                                     {"\x84\x01\x00\x00\x00."s, "EXT4"},
                                                                                     {"\x97.", "NEXT_BUFFER"},
                                                                                     {"N\x98.", "READONLY_BUFFER"},
                                                                                     {"\xff.", "0xff"}}) {
    const Ran ran = run(pickle);
    EXPECT_FALSE(ran.whole);
    ASSERT_EQ(ran.findings.size(), 1u);
    EXPECT_EQ(ran.findings.front().code, "pt-opcode");
    EXPECT_NE(ran.findings.front().message.find(name), std::string::npos) << ran.findings.front().message;
  }
}

TEST(PickleMachine, ObjectsOfOtherOpcodesNameTheirClass) {
  for (const std::string& pickle :
       {"(ios\nsystem\n."s, "(" + global("os", "system") + "o.", global("os", "system") + ")}\x92."}) {
    const Ran ran = run(pickle);
    EXPECT_TRUE(ran.whole);
    ASSERT_FALSE(ran.findings.empty());
    EXPECT_EQ(ran.findings.front().code, "pt-global");
    EXPECT_NE(ran.findings.front().message.find("os.system"), std::string::npos);
  }
}

TEST(PickleMachine, SaysWhatWouldBeCalledAndWhere) {
  const Ran ran = run("\x80\x02" + global("os", "system") + tuple(text("curl x")) + "R.");
  EXPECT_TRUE(ran.whole);
  ASSERT_EQ(ran.findings.errors(), 1u);
  EXPECT_NE(ran.findings.front().message.find("calls os.system with 'curl x' at byte 26 of data.pkl"),
            std::string::npos)
      << ran.findings.front().message;
  EXPECT_EQ(ran.findings.front().offset, 1026u);  // the pickle starts at byte 1000 of the file
}

TEST(PickleMachine, BrokenPickles) {
  for (const std::string& pickle : {""s,
                                    "N"s,
                                    "."s,
                                    "t."s,
                                    "(0."s,
                                    "}Na."s,
                                    "]K\1Ns."s,
                                    "}(Nu."s,
                                    "Nb."s,
                                    "]b."s,
                                    "NNR."s,
                                    "N)R."s,
                                    "h\x01."s,
                                    "g1\n."s,
                                    "gx\n."s,
                                    "\x80\x06N."s,
                                    "\x95" + u64_bytes(9) + "N.",
                                    "X\xff\xff\xff\xffN."s,
                                    "\x8d" + u64_bytes(u64{1} << 63) + "N.",
                                    "\x8b\xff\xff\xff\xff."s,
                                    "\x8b\x01\x00\x00\x80."s,
                                    "T\xff\xff\xff\xff."s,
                                    "K\1K\2\x93."s,
                                    "Sabc\n."s,
                                    "S'\\x'\n."s,
                                    "V\\u0041\n."s,
                                    "I1x\n."s,
                                    "cos\nsystem"s}) {
    const Ran ran = run(pickle);
    EXPECT_FALSE(ran.whole) << pickle;
    EXPECT_EQ(pickle_code(pickle), "pt-pickle") << pickle;
  }
}

TEST(PickleMachine, PersistentIdsAreStoragesAndNothingElse) {
  for (const std::string& pickle :
       {"NQ."s, tuple(text("storage")) + "Q.",
        tuple(text("module") + global("torch", "FloatStorage") + text("0") + text("cpu") + integer(1)) + "Q.",
        tuple(text("storage") + "}" + text("0") + text("cpu") + integer(1)) + "Q.", storage("float32", "0", 1) + ".",
        storage("FloatStorage", "a/b", 1) + "."}) {
    EXPECT_EQ(pickle_code(pickle), "pt-storage") << pickle;
  }
  EXPECT_EQ(pickle_code(storage("FloatStorage", "0", -1) + "."), "pt-tensor");
}

TEST(PickleMachine, OneDescriptionOfAStorage) {
  const std::string first = storage("FloatStorage", "0", 4);
  EXPECT_EQ(pickle_code(first + first + "\x86."), "");
  EXPECT_EQ(pickle_code(first + storage("IntStorage", "0", 4) + "\x86."), "pt-storage");
  EXPECT_EQ(pickle_code(first + storage("FloatStorage", "0", 3) + "\x86."), "pt-storage");
  EXPECT_EQ(pickle_code(first + storage("IntStorage", "1", 3) + "\x86."), "");
  EXPECT_EQ(pickle_code(legacy_storage("FloatStorage", "0", 4) + "."), "pt-storage");  // has a sixth member
}

TEST(PickleMachine, OneDescriptionOfAView) {
  const auto code = [](const std::string& pickle) {
    PickleMachine machine("the object's pickle", 0, CheckpointForm::legacy);
    machine.run(std::as_bytes(std::span(pickle)));
    const FindingLog found = machine.take_findings();
    return found.empty() ? "" : found.front().code;
  };
  const auto view = [](const char* key, int offset, int size) {
    return tuple(text(key) + integer(offset) + integer(size));
  };
  const std::string root = legacy_storage("FloatStorage", "0", 4);
  const std::string part = legacy_storage("FloatStorage", "0", 4, view("v", 0, 2));
  EXPECT_EQ(code(root + part + part + "\x87."), "");
  EXPECT_EQ(code(part + legacy_storage("FloatStorage", "0", 4, view("w", 2, 2)) + "\x86."), "");
  EXPECT_EQ(code(part + legacy_storage("FloatStorage", "0", 4, view("v", 2, 2)) + "\x86."), "pt-storage");
  EXPECT_EQ(code(part + legacy_storage("FloatStorage", "v", 4) + "\x86."), "pt-storage");
  EXPECT_EQ(code(root + legacy_storage("FloatStorage", "1", 4, view("0", 0, 2)) + "\x86."), "pt-storage");
  EXPECT_EQ(code(root + legacy_storage("FloatStorage", "0", 8, view("v", 0, 2)) + "\x86."), "pt-storage");
  EXPECT_EQ(code(legacy_storage("FloatStorage", "0", 4, view("v", 3, 2)) + "."), "pt-storage");
  EXPECT_EQ(code(storage("FloatStorage", "0", 4) + "."), "pt-storage");
}

const std::string plain_tensor = tensor(storage("FloatStorage", "0", 4), 0, {4}, {1});
const std::string made_parameter = global("torch.nn.parameter", "Parameter") + tuple(plain_tensor) + "R";

TEST(PickleMachine, StatesThatReplaceValues) {
  EXPECT_EQ(pickle_code(made_parameter + "\x88NN\x87" + "b."), "");
  EXPECT_EQ(pickle_code(made_parameter + "(NNNNtb."), "pt-tensor");
  EXPECT_EQ(pickle_code(made_parameter + "(NNNNNtb."), "pt-tensor");
  EXPECT_EQ(pickle_code(made_parameter + "}b."), "pt-tensor");
  EXPECT_EQ(pickle_code(made_parameter + "](NNNNeb."), "pt-tensor");
  EXPECT_EQ(pickle_code(parameter(plain_tensor, "}" + text("tag") + "Ns") + "."), "");
  EXPECT_EQ(pickle_code(parameter(plain_tensor, "N") + "."), "");
  EXPECT_EQ(pickle_code(parameter(plain_tensor, "N}" + text("tag") + "Ns\x86") + "."), "");
  for (const char* name : {"data", "real", "imag", "__class__", "__dict__"}) {
    EXPECT_EQ(pickle_code(parameter(plain_tensor, "}" + text(name) + "Ns") + "."), "pt-tensor") << name;
    EXPECT_EQ(pickle_code(parameter(plain_tensor, "N}" + text(name) + "Ns\x86") + "."), "pt-tensor") << name;
  }
  EXPECT_EQ(pickle_code(parameter(plain_tensor, "}K\1Ns") + "."), "pt-tensor");
}

TEST(PickleMachine, MetadataOfTensors) {
  const auto with = [](const std::string& metadata) {
    std::string pickle = tensor(storage("FloatStorage", "0", 4), 0, {4}, {1});
    return pickle_code(pickle.substr(0, pickle.size() - 2) + metadata + "tR.");
  };
  EXPECT_EQ(with(""), "");
  EXPECT_EQ(with("N"), "");
  EXPECT_EQ(with("}"), "");
  EXPECT_EQ(with("}" + text("neg") + "\x88s"), "pt-tensor");
  EXPECT_EQ(with("}" + text("conj") + "\x88s"), "pt-tensor");
  EXPECT_EQ(with("}" + text("neg") + "\x89s"), "pt-tensor");  // torch only checks whether it exists
  EXPECT_EQ(with("}" + text("other") + "\x88s"), "pt-tensor");
  EXPECT_EQ(with("\x88"), "pt-tensor");
}

TEST(PickleMachine, WhatNewobjMakesStaysEmpty) {
  const std::string dict = global("collections", "OrderedDict"), pairs = "]" + text("a") + "N\x86" + "a\x85";
  EXPECT_EQ(pickle_code(dict + pairs + "R."), "");
  EXPECT_EQ(pickle_code(dict + pairs + "\x81."), "pt-pickle");
  EXPECT_EQ(pickle_code(dict + text("a") + "N\x86\x85\x85R."), "pt-pickle");  // from a tuple
  EXPECT_EQ(pickle_code(global("builtins", "set") + "]Na\x85\x81."), "pt-pickle");
  EXPECT_EQ(pickle_code(global("torch._utils", "_rebuild_tensor") + ")\x81."), "pt-pickle");
}

TEST(PickleMachine, ModulesOfPython2AreInItsProtocols) {
  EXPECT_EQ(pickle_code("\x80\x02" + global("__builtin__", "set") + ")R."), "");
  EXPECT_EQ(pickle_code("\x80\x03" + global("__builtin__", "set") + ")R."), "pt-global");
  EXPECT_EQ(pickle_code("\x80\x03" + global("builtins", "set") + ")R."), "");
}

TEST(PickleMachine, EncodeMakesBytes) {
  const std::string encode = global("_codecs", "encode");
  EXPECT_EQ(kind_of(encode + text("w") + text("latin1") + "\x86R."), ValueKind::bytes);
  EXPECT_EQ(pickle_code(encode + text("j") + text("rot13") + "\x86R."), "pt-pickle");  // would be the text 'w'
}

TEST(PickleMachine, JoinedNamesAreBounded) {
  std::string pickle = text(std::string(60'000, 'm')) + "q" + '\0';
  for (int i = 0; i < 60; ++i) pickle += text("n" + std::to_string(i)) + "\x93" + "0h" + '\0';
  EXPECT_EQ(run(pickle + ".").findings.back().code, "pt-limit");
}

TEST(PickleMachine, CopiesAreBounded) {
  std::string pickle = "](";
  for (int i = 0; i < 1000; ++i) pickle += "N";
  pickle += "eq"s + '\0';
  for (int i = 0; i < 100; ++i) pickle += global("builtins", "set") + "h" + '\0' + "\x85R0";
  EXPECT_EQ(pickle_code(pickle + "."), "pt-limit");
}

TEST(PickleMachine, NestingAndMarksCostWhatTheyAre) {
  std::string deep = "N";
  for (int i = 0; i < 300'000; ++i) deep += '\x85';
  EXPECT_EQ(kind_of(deep + "."), ValueKind::tuple);
  EXPECT_EQ(pickle_code(std::string(200'000, '(') + "."), "pt-limit");
  EXPECT_EQ(pickle_code("N" + std::string(9'000'000, '2') + "."), "pt-limit");
}

}  // namespace
}  // namespace modelutils::pytorch
