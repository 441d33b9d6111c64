// SPDX-License-Identifier: Apache-2.0
#include "api/archive_download.hpp"

#include "api/checkpoint_folder.hpp"
#include "test/api/http_fixture.hpp"
#include "test/api/tar_file.hpp"
#include "test/train/temp_folder.hpp"

#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;
using test::PeerReply;
using test::TarFile;

namespace {

namespace fs = std::filesystem;

/// A store that plays a script, and a folder to download into.
struct Fixture {
  test::TempFolder folder;
  test::ScriptedPeer store{{}};
  std::unique_ptr<HttpClient> client = test::make_client("http://127.0.0.1:1");
  std::vector<DownloadProgress> seen;
  ArchiveDownloadOptions options{
      .retry = {.first_delay = 1ms, .max_delay = 2ms, .jitter = 0.0, .max_attempts = 3},
      .progress = [this](const DownloadProgress& x) { seen.push_back(x); }};
  int urls = 0;
  std::stop_source stop;
  DownloadCheckpoint request{
      {"run", "weights/a"}, folder.path() / "made" / "too" / "target", false, {}};

  Result<CheckpointArchiveUrlResponse> next_url() {
    return CheckpointArchiveUrlResponse{store.url() + "/a.tar?sig=" + std::to_string(++urls),
                                        Timestamp{} + std::chrono::days{365 * 200}};
  }

  Result<std::int64_t> fetch() {
    return download_archive(
        *client, [this] { return next_url(); }, folder.path() / "file", options, stop.get_token());
  }

  Result<DownloadedCheckpoint> download() {
    return download_checkpoint(
        *client, [this] { return next_url(); }, request, options, {}, stop.get_token());
  }

  [[nodiscard]] std::string file() const {
    return test::read_text(folder.path() / "file");
  }

  [[nodiscard]] std::size_t left_behind() const {
    return static_cast<std::size_t>(
        std::distance(fs::recursive_directory_iterator{folder.path()}, {}));
  }
};

std::string archive() {
  TarFile tar;
  return tar.file("adapter_config.json", "{}").file("adapter_model.safetensors", "weights").bytes();
}

PeerReply whole(std::string body, test::PeerHeaders headers = {{"ETag", "\"v1\""}}) {
  return {.body = std::move(body), .headers = std::move(headers)};
}

PeerReply cut(std::string body, test::PeerHeaders headers = {{"ETag", "\"v1\""}}) {
  return {
      .body = std::move(body), .headers = std::move(headers), .kind = PeerReply::Kind::truncated};
}

PeerReply rest(std::string body, const std::string& range) {
  return {.status = 206,
          .body = std::move(body),
          .headers = {{"ETag", "\"v1\""}, {"Content-Range", "bytes " + range}}};
}

} // namespace

TEST_CASE_METHOD(Fixture, "An archive is fetched without a credential, uncompressed",
                 "[api][download]") {
  store.add(whole("0123456789"));
  CHECK(fetch() == 10);
  CHECK(file() == "0123456789");
  CHECK(seen == std::vector<DownloadProgress>{{0, 10}, {10, 10}});
  auto request_seen = store.requests().at(0);
  CHECK(request_seen.target == "/a.tar?sig=1");
  CHECK(request_seen.header("x-api-key") == nullptr);
  CHECK(request_seen.header("range") == nullptr);
  REQUIRE(request_seen.header("accept-encoding") != nullptr);
  CHECK(*request_seen.header("accept-encoding") == "identity");
}

TEST_CASE_METHOD(Fixture, "A download that breaks off goes on where it was", "[api][download]") {
  store.add(cut("0123456789"));
  store.add(rest("56789", "5-9/10"));
  CHECK(fetch() == 10);
  CHECK(file() == "0123456789");
  auto second = store.requests().at(1);
  REQUIRE(second.header("range") != nullptr);
  CHECK(*second.header("range") == "bytes=5-");
  CHECK(*second.header("if-range") == "\"v1\"");
}

TEST_CASE_METHOD(Fixture, "A server that gives no parts is asked for the whole again",
                 "[api][download]") {
  store.add(cut("0123456789"));
  store.add(whole("abcdefghij"));
  CHECK(fetch() == 10);
  CHECK(file() == "abcdefghij"); // another version: not a byte of the old one
}

TEST_CASE_METHOD(Fixture, "What cannot be told from other versions is not continued",
                 "[api][download]") {
  auto headers = GENERATE(test::PeerHeaders{}, test::PeerHeaders{{"ETag", "W/\"v1\""}});
  store.add(cut("0123456789", headers));
  store.add(whole("0123456789", headers));
  CHECK(fetch() == 10);
  CHECK(store.requests().at(1).header("range") == nullptr);
}

TEST_CASE_METHOD(Fixture, "Parts that do not fit are thrown away", "[api][download]") {
  auto range = GENERATE("4-9/10", "5-9/11", "nonsense", "5-9/*x");
  store.add(cut("0123456789"));
  store.add(rest("56789", range));
  store.add(whole("0123456789"));
  CHECK(fetch() == 10);
  CHECK(file() == "0123456789");
  CHECK(store.requests().at(2).header("range") == nullptr);
}

TEST_CASE_METHOD(Fixture, "A part that ends too early is no archive", "[api][download]") {
  store.add(cut("0123456789"));
  store.add(rest("567", "5-7/10"));
  store.add(rest("89", "8-9/10"));
  CHECK(fetch() == 10);
  CHECK(file() == "0123456789");
}

TEST_CASE_METHOD(Fixture, "A download that never gets further is given up", "[api][download]") {
  for (int i = 0; i < 10; ++i)
    store.add(cut("0123456789", {}));
  auto result = fetch();
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Errc::connection);
  CHECK(store.requests().size() == 3); // the first try brought something, and two in a row nothing
}

TEST_CASE_METHOD(Fixture, "A length that is too large is noticed", "[api][download]") {
  for (int i = 0; i < 10; ++i)
    store.add(PeerReply::raw("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"));
  CHECK(fetch().error().code == Errc::connection);
}

TEST_CASE_METHOD(Fixture, "An address that has ended to work is replaced", "[api][download]") {
  store.add(cut("0123456789"));
  store.add({.status = 403, .body = "<Error>Request has expired: sig=1</Error>"});
  store.add(rest("56789", "5-9/10"));
  CHECK(fetch() == 10);
  CHECK(file() == "0123456789");
  CHECK(store.requests().at(2).target == "/a.tar?sig=2");
  CHECK(*store.requests().at(2).header("range") == "bytes=5-");
}

TEST_CASE_METHOD(Fixture, "A store that refuses every address is believed", "[api][download]") {
  for (int i = 0; i < 10; ++i)
    store.add({.status = 403, .body = "<StringToSign>hush</StringToSign>"});
  auto result = fetch();
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Errc::permission_denied);
  CHECK(result.error().message.find("hush") == std::string::npos);
  CHECK(result.error().message.find("sig=") == std::string::npos);
  CHECK(urls == 3);
  CHECK(file().empty()); // an error's body is no archive
}

TEST_CASE_METHOD(Fixture, "A store that is busy is asked again", "[api][download]") {
  store.add({.status = 503, .body = "busy"});
  store.add({.status = 302, .body = "", .headers = {{"Location", "/other"}}});
  store.add(whole("0123456789"));
  CHECK(fetch() == 10);
  CHECK(store.requests().at(2).target == "/other");
}

TEST_CASE_METHOD(Fixture, "A range behind the end starts the download afresh", "[api][download]") {
  store.add(cut("0123456789"));
  store.add({.status = 416, .body = ""});
  store.add(whole("abc"));
  CHECK(fetch() == 3);
  CHECK(file() == "abc");
}

TEST_CASE_METHOD(Fixture, "An archive that is too large or empty is refused", "[api][download]") {
  SECTION("too large, as announced") {
    options.max_bytes = 9;
    store.add(whole("0123456789"));
    CHECK(fetch().error().code == Errc::invalid_argument);
  }
  SECTION("too large without a word") {
    options.max_bytes = 9;
    store.add(PeerReply::raw("HTTP/1.1 200 OK\r\n\r\n0123456789"));
    CHECK(fetch().error().code == Errc::invalid_argument);
  }
  SECTION("empty") {
    store.add(whole(""));
    CHECK(fetch().error().message == "the archive is empty");
  }
}

TEST_CASE_METHOD(Fixture, "A download is given up at once", "[api][download][shutdown]") {
  store.add({.kind = PeerReply::Kind::stall});
  std::thread stopper{[this] {
    (void)store.wait_for_requests(1);
    stop.request_stop();
  }};
  CHECK(fetch().error().code == Errc::cancelled);
  stopper.join();
}

TEST_CASE_METHOD(Fixture, "A checkpoint appears whole", "[api][download]") {
  store.add(cut(archive()));
  store.add(whole(archive()));
  auto done = download();
  INFO((done ? "" : to_string(done.error())));
  REQUIRE(done.has_value());
  CHECK(done->files == 2);
  CHECK(done->file_bytes == 9);
  CHECK(done->archive_bytes == static_cast<std::int64_t>(archive().size()));
  CHECK(test::read_text(request.destination / "adapter_model.safetensors") == "weights");
  CHECK(left_behind() == 5); // three folders, two files
}

TEST_CASE_METHOD(Fixture, "A failure leaves nothing behind", "[api][download]") {
  SECTION("of the store") {
    for (int i = 0; i < 3; ++i)
      store.add({.status = 403, .body = "no"});
    CHECK(download().error().code == Errc::permission_denied);
  }
  SECTION("of the archive") {
    TarFile tar;
    store.add(whole(tar.file("good", "x").file("../evil", "x").bytes()));
    CHECK(download().error().message.find("leads out of the folder") != std::string::npos);
  }
  SECTION("of what is no archive") {
    store.add(whole("<html>Sorry</html>"));
    CHECK(download().error().code == Errc::protocol_error);
  }
  CHECK(left_behind() == 0);
}

TEST_CASE_METHOD(Fixture, "A folder that is there is kept until the new one is complete",
                 "[api][download]") {
  fs::create_directories(request.destination);
  test::write_text(request.destination / "old", "old");
  SECTION("without force nothing is asked for") {
    auto done = download();
    CHECK(done.error().code == Errc::invalid_argument);
    CHECK(urls == 0);
  }
  SECTION("a failure changes nothing") {
    request.force = true;
    store.add(whole("no archive"));
    CHECK_FALSE(download().has_value());
  }
  SECTION("with force it is replaced") {
    request.force = true;
    store.add(whole(archive()));
    CHECK(download().has_value());
    CHECK_FALSE(fs::exists(request.destination / "old"));
    CHECK(fs::exists(request.destination / "adapter_config.json"));
    CHECK(left_behind() == 5);
    return;
  }
  CHECK(test::read_text(request.destination / "old") == "old");
  CHECK(left_behind() == 4);
}

TEST_CASE_METHOD(Fixture, "A destination that is a file is not replaced, even with force",
                 "[api][download]") {
  request.destination = folder.path() / "target";
  request.force = true;
  test::write_text(request.destination, "mine");
  CHECK(download().error().code == Errc::invalid_argument);
  CHECK(test::read_text(request.destination) == "mine");
}
