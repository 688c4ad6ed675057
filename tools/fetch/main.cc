// The only program that uses HTTP, with libcurl or the program curl. lib/io/fetch_helper.cc starts it with a socket
// as standard input and output. Commands (->) and answers (<-):
//
//   -> SECONDS PRIVATE                 once: the timeout; PRIVATE is 1 if a redirect may lead to a private address
//   -> open FILE \n ADDRESS \n TOKEN    FILE is a number chosen by the caller; the token may be empty
//   -> read FILE OFFSET SIZE           or
//   -> whole FILE MOST
//   <- again MESSAGE                   before each retry
//   <- part BYTES                      followed by the next bytes of a long range; finally
//   <- ok BYTES TOTAL|- COMMIT|- VERSION|-     followed by the last bytes, or
//   <- failed CODE MESSAGE             which makes the parts void
//   -> close FILE
//
// It ends at the end of its standard input.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>

#include "fetch/transfer.h"

namespace {

constexpr std::size_t longest_message = 1000;
constexpr std::size_t longest_word = 200;

// Returns `text`, sent by the server, as one word of an answer's line; "-" if it is not a single word.
std::string word(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  return text.empty() || text.size() > longest_word || !is_plain ? "-" : text;
}

void answer_part(const std::string& bytes) {
  std::cout << "part " << bytes.size() << '\n' << bytes << std::flush;
}

void answer(const fetch::File& file, const std::optional<fetch::Failure>& failed, const std::string& bytes) {
  if (failed) {
    std::cout << "failed " << failed->code << ' ' << failed->message.substr(0, longest_message) << std::endl;
    return;
  }
  std::string version = file.version();
  std::replace(version.begin(), version.end(), ' ', '_');  // a date contains spaces
  std::cout << "ok " << bytes.size() << ' ' << (file.total() ? std::to_string(*file.total()) : "-") << ' '
            << word(file.commit()) << ' ' << word(version) << '\n'
            << bytes << std::flush;
}

void serve(fetch::Session& session) {
  std::map<fetch::u64, std::unique_ptr<fetch::File>> files;
  std::string command;
  fetch::u64 number = 0;
  std::string bytes;
  while (std::cin >> command >> number) {
    std::unique_ptr<fetch::File>& file = files[number];
    if (command == "open") {
      std::string address;
      std::string token;
      std::cin.ignore();
      if (!std::getline(std::cin, address) || !std::getline(std::cin, token)) return;
      file = std::make_unique<fetch::File>(session, std::move(address), std::move(token));
      continue;
    }
    if (command == "close" || file == nullptr) {
      files.erase(number);
      continue;
    }
    fetch::u64 first = 0;
    fetch::u64 size = 0;
    if (!(std::cin >> first) || (command == "read" && !(std::cin >> size))) return;
    const auto failed = command == "read" ? file->read(first, size, bytes) : file->read_whole(first, bytes);
    answer(*file, failed, bytes);
  }
}

}  // namespace

int main(int, char**) {
  std::ios::sync_with_stdio(false);
  std::signal(SIGPIPE, SIG_IGN);  // a tool that has ended is noticed by poll()
  fetch::Session session;
  if (!(std::cin >> session.silence >> session.allow_private_redirect)) {
    std::cerr << "fetch: started by the modelutils tools to read addresses\n";
    return 2;
  }
  session.deliver = &answer_part;
  serve(session);
  // Skips libcurl's cleanup: the system does it faster, and the tool waits for us to end.
  ::_exit(0);
}
