// The unit and property tests, in one program. `unit_tests --in PLACE` runs the tests whose source file is PLACE or
// lies directly in the folder PLACE, named from tests/ on: `unit_tests --in unit/formats/gguf`, `unit_tests --in
// property/diff_test.cc`. `unit_tests --partner WORD…` is what the tests of os::Partner start.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/os/files.h"
#include "base/os/process.h"

namespace {

/// Prints the words, each on a line, and then what comes in.
int answer_as_partner(int argc, char** argv) {
  using namespace modelutils;
  os::prepare_process();
  const auto say = [](std::string_view text) { os::write(os::standard_output, text.data(), text.size()); };
  for (int i = 2; i < argc; ++i) say(std::string(argv[i]) + "\n");
  char bytes[4096];
  for (i64 got = 0; (got = os::read(os::standard_input, bytes, sizeof bytes)) > 0;) {
    say(std::string_view(bytes, static_cast<std::size_t>(got)));
  }
  return 7;
}

/// True if `file`, a source file named from the project on, is tests/`place` or lies directly in that folder.
bool is_in(std::string_view file, std::string_view place) {
  const auto start = file.rfind("tests/" + std::string(place));
  if (start == std::string_view::npos) return false;
  const std::string_view rest = file.substr(start + 6 + place.size());
  return rest.empty() || (rest.front() == '/' && rest.find('/', 1) == std::string_view::npos);
}

/// Returns the filter that selects the tests of `place`; empty if there are none.
std::string filter_of(std::string_view place) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (is_in(test.file(), place))
        filter += std::string(filter.empty() ? "" : ":") + suite.name() + "." + test.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  modelutils::os::take_arguments(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "--partner") return answer_as_partner(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  if (argc == 1) return RUN_ALL_TESTS();
  const std::string filter = argc == 3 && std::string_view(argv[1]) == "--in" ? filter_of(argv[2]) : "";
  if (filter.empty()) {
    std::fprintf(stderr, "usage: unit_tests [--in PLACE] [--gtest_filter=PATTERN]; no test is in '%s'\n",
                 argv[argc - 1]);
    return 2;
  }
  testing::GTEST_FLAG(filter) = filter;
  return RUN_ALL_TESTS();
}
