// SPDX-License-Identifier: Apache-2.0
#include "client/rest_client.hpp"
#include "test/api/tar_file.hpp"
#include "test/support/scripted_peer.hpp"
#include "test/train/temp_folder.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;
using test::PeerReply;

// Downloads of a client, from a store that does not do its part.

namespace {

/// Below the minute that a download may stall where nobody says otherwise.
constexpr auto limit = 40s;

struct Fixture {
  Fixture() {
    auto tar = test::TarFile{};
    archive = tar.file("adapter_config.json", "{}").bytes();
    peer.add({}); // the client's configuration
    peer.add({.body = R"({"url":")" + peer.url() + R"(/file","expires":"2099-01-01T00:00:00Z"})"});
  }

  /// What the store answers with the first half of the archive.
  [[nodiscard]] PeerReply stalled() const {
    return {.body = archive, .headers = etag, .kind = PeerReply::Kind::stall_halfway};
  }

  Future<DownloadedCheckpoint> download(std::uint32_t tries) {
    auto options = ClientOptions{};
    options.base_url = peer.url();
    options.api_key = "tml-key";
    options.telemetry = false;
    options.request_timeout = 1s;
    options.retry = {.first_delay = 1ms, .max_delay = 2ms, .max_attempts = tries};
    auto connected = RestClient::connect(options);
    REQUIRE(connected.has_value());
    client.emplace(std::move(*connected));
    return client->download_checkpoint(
        {.checkpoint = {"run", "weights/a"}, .destination = folder.path() / "out"});
  }

  test::TempFolder folder;
  test::PeerHeaders etag = {{"ETag", "\"v1\""}};
  std::string archive;
  test::ScriptedPeer peer{{}};
  std::optional<RestClient> client;
};

} // namespace

TEST_CASE_METHOD(Fixture,
                 "A download in which nothing comes for the time of a call goes on where it was",
                 "[client][rest][download]") {
  const auto half = archive.size() / 2;
  peer.add(stalled());
  peer.add({.status = 206,
            .body = archive.substr(half),
            .headers = {{"ETag", "\"v1\""},
                        {"Content-Range", "bytes " + std::to_string(half) + "-"
                                              + std::to_string(archive.size() - 1) + "/"
                                              + std::to_string(archive.size())}}});
  const auto done = download(2).get(limit);
  INFO((done ? "" : to_string(done.error())));
  REQUIRE(done.has_value());
  CHECK(done->files == 1);
  CHECK(test::read_text(folder.path() / "out" / "adapter_config.json") == "{}");
  const auto asked = peer.requests();
  REQUIRE(asked.size() == 4);
  REQUIRE(asked[3].header("range") != nullptr);
  CHECK(*asked[3].header("range") == "bytes=" + std::to_string(half) + "-");
}

TEST_CASE_METHOD(Fixture, "A download that stalls again and again ends as timed out",
                 "[client][rest][download]") {
  peer.add(stalled());
  peer.add({.kind = PeerReply::Kind::stall});
  const auto done = download(2).get(limit);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().code == Errc::timeout);
  CHECK(done.error().attempts == 2);
  CHECK(peer.requests().size() == 4);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "out"));
}
