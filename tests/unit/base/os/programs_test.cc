#include "base/os/programs.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/os/process.h"

namespace modelutils::os {

namespace {

Partner::Command partner(std::vector<std::string> words) {
  words.insert(words.begin(), {"unit_tests", "--partner"});
  return {.program = own_program(), .words = std::move(words)};
}

std::string all_output(Partner& program) {
  std::string text;
  char bytes[100];
  while (true) {
    const auto got = program.receive_some(bytes, sizeof bytes, 10'000);
    if (!got || *got == 0) return text + (got ? "" : "nothing came");
    text.append(bytes, *got);
  }
}

TEST(Partner, IsToldAndAsked) {
  Partner program;
  ASSERT_EQ(program.start(partner({})), 0);
  char bytes[10];
  EXPECT_FALSE(program.receive_some(bytes, sizeof bytes, 20)) << "it waits for us";
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(program.send("0123456\r\n\x1A"));
    ASSERT_TRUE(program.receive(bytes, sizeof bytes));
    ASSERT_EQ(std::string(bytes, sizeof bytes), "0123456\r\n\x1A");
  }
  EXPECT_TRUE(program.send("rest"));
  program.end_input();
  EXPECT_EQ(all_output(program), "rest");
  EXPECT_EQ(program.status(), 7);
  EXPECT_FALSE(program.status());
}

TEST(Partner, GetsItsWords) {
  const std::vector<std::string> words = {"a b", "",       "c\"d", "e\\",    "f\\\"g h\\",
                                          "\"",  "ü 模型", "*?",   "tab\tx", "\\\\s\\"};
  std::string expected;
  for (const std::string& word : words) expected += word + "\n";
  Partner program;
  ASSERT_EQ(program.start(partner(words)), 0);
  program.end_input();
  EXPECT_EQ(all_output(program), expected);
}

TEST(Partner, IsKilled) {
  Partner program;
  ASSERT_EQ(program.start(partner({})), 0);
  program.kill();
  EXPECT_FALSE(program.status());
  ASSERT_EQ(program.start(partner({"again"})), 0);
  char bytes[6];
  EXPECT_TRUE(program.receive(bytes, sizeof bytes));
  ASSERT_EQ(program.start(partner({"and again"})), 0) << "the one before is killed";
  program.end_input();
  EXPECT_EQ(all_output(program), "and again\n");
}

TEST(Partner, MayBeMissing) {
  Partner program;
  EXPECT_EQ(program.start({.program = "no-program-of-this-name", .words = {"x"}}), ENOENT);
  EXPECT_EQ(program.start({.program = own_program() + "-no", .words = {"x"}}), ENOENT);
  EXPECT_FALSE(program.status());
}

TEST(Network, AddressesAreRead) {
  const auto four = address_bytes("192.0.2.7");
  ASSERT_TRUE(four);
  EXPECT_EQ(*four, (std::array<u8, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 7}));
  const auto six = address_bytes("2001:db8::a:b");
  ASSERT_TRUE(six);
  EXPECT_EQ(*six, (std::array<u8, 16>{0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 11}));
  for (const char* text : {"", "127.1", "1.2.3.256", "localhost", "::g", "[::1]", "0x7f000001", "2130706433"}) {
    EXPECT_FALSE(address_bytes(text)) << text;
  }
  if (resolves_hosts()) {
    EXPECT_FALSE(host_addresses("127.0.0.1").empty());
  }
}

}  // namespace

}  // namespace modelutils::os
