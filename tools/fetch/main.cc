// The only program that uses HTTP, with libcurl or the program curl. lib/io/fetch_helper.cc starts it with a socket
// as standard input and output. Commands (->) and answers (<-):
//
//   -> SECONDS PRIVATE                 once: the timeout; PRIVATE is 1 if a redirect may lead to a private address
//   -> open FILE \n ADDRESS \n TOKEN    FILE is a number chosen by the caller; the token may be empty
//   -> read FILE OFFSET SIZE           or
//   -> whole FILE MOST
//   <- note MESSAGE                    before each retry, and when the server is slow
//   <- part BYTES                      followed by the next bytes of a long range; finally
//   <- ok BYTES TOTAL|- COMMIT|- VERSION|-     followed by the last bytes, or
//   <- failed CODE MESSAGE             which makes the parts void
//   -> close FILE
//
// It ends at the end of its standard input. `fetch addresses HOST` prints the addresses of a host, where
// os::resolves_hosts().
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "base/os/process.h"
#include "base/os/programs.h"
#include "fetch/transfer.h"

namespace os = modelutils::os;

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

int main(int argc, char** argv) {
  os::prepare_process();
  os::ignore_closed_pipes();  // is_abandoned() notices a tool that has ended
  std::ios::sync_with_stdio(false);
  if (argc == 3 && argv[1] == std::string_view("addresses")) {
    for (const std::string& address : os::host_addresses(argv[2])) std::cout << address << '\n';
    return 0;
  }
  fetch::Session session;
  if (!(std::cin >> session.silence >> session.allow_private_redirect)) {
    std::cerr << "fetch: started by the modelutils tools to read addresses\n";
    return 2;
  }
  session.deliver = &answer_part;
  serve(session);
  // Skips libcurl's cleanup: the system does it faster, and the tool waits for us to end.
  os::exit_now(0);
}
