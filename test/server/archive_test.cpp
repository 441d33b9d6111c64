// SPDX-License-Identifier: Apache-2.0
#include "api/wire/http_date.hpp"
#include "test/server/clock_fixture.hpp"
#include "test/server/tar_reader.hpp"

#include <cstddef>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct Fixture : ClockFixture {
  HttpAnswer ask(const std::string& checkpoint) {
    return api.get(at(checkpoint + "/archive"));
  }

  /// The path that an archive is under, told to a client that calls this server `here`.
  std::string link(const std::string& checkpoint) {
    const auto answer = api.http.call("GET", "/api/v1/" + at(checkpoint + "/archive"), {},
                                      {{"X-API-Key", "tml-key"}});
    INFO(answer.body);
    REQUIRE(answer.status == 302);
    const std::string here = "http://localhost";
    const auto& location = answer.headers.at("location");
    REQUIRE(location.starts_with(here + "/api/v1/archives/"));
    return location.substr(here.size());
  }

  HttpAnswer fetch(const std::string& path,
                   const std::map<std::string, std::string>& headers = {}) {
    return api.http.call("GET", path, {}, headers);
  }

  [[nodiscard]] std::size_t scratch_files() const {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator{options.state_dir / ".tinkaf-scratch"})
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A checkpoint is fetched as a tar through a link without a key",
                 "[server][archive]") {
  learn(5);
  (void)save("a");
  learn(6);
  (void)save_sampler("a");
  options.api_key = "tml-key";
  restart();
  api = client();
  CHECK(ask("weights/a").status == 401);
  api = client(); // a refusal ends the connection
  const auto path = link("weights/a");
  const auto answer = fetch(path);
  CHECK(answer.status == 200);
  CHECK(answer.headers.at("content-type") == "application/x-tar");
  CHECK(answer.headers.at("accept-ranges") == "bytes");
  CHECK(read_tar(answer.body)
        == std::map<std::string, std::string>{{"checkpoint_complete", ""}, {"learned", "4 5"}});
  CHECK(read_tar(fetch(link("sampler_weights/a")).body).at("learned") == "4 5 6");
  CHECK(scratch_files() == 0);
}

TEST_CASE_METHOD(Fixture, "A link tells when it ends", "[server][archive]") {
  options.limits.archive_link = 100s;
  begin();
  (void)save("a");
  const auto answer = ask("weights/a");
  CHECK(answer.status == 302);
  CHECK(answer.body.empty());
  CHECK(answer.headers.at("cache-control") == "no-store");
  CHECK(wire::parse_http_date(answer.headers.at("expires"))
        == std::chrono::system_clock::from_time_t(1'900'000'100));

  options.archive_answer = ServerOptions::ArchiveAnswer::json;
  restart();
  api = client();
  const auto told
      = wire::from_json<CheckpointArchiveUrlResponse>(check(ask("weights/a"), 200)).value();
  CHECK(told.expires == Timestamp{1'900'000'100s});
  const auto path = told.url.substr(std::string{"http://localhost"}.size());
  CHECK(fetch(path).status == 200);
  wait(99s);
  CHECK(fetch(path).status == 200);
  wait(1s);
  CHECK(refusal(fetch(path), 403) == "this link has expired; ask for the archive again");
  (void)api.get("checkpoints"); // sweeps
  CHECK(fetch(path).status == 403);
  auto forged = path;
  forged.back() = forged.back() == '0' ? '1' : '0';
  CHECK(refusal(fetch(forged), 404) == "there is no archive under this link");
  CHECK(api.http.call("POST", path, "").status == 405);
}

TEST_CASE_METHOD(Fixture, "A part of an archive is fetched, so that a download can be resumed",
                 "[server][archive]") {
  learn(5);
  (void)save("a");
  const auto path = link("weights/a");
  const auto whole = fetch(path);
  const auto size = whole.body.size();
  const auto etag = whole.headers.at("etag");

  const auto part = fetch(path, {{"Range", "bytes=100-1499"}});
  CHECK(part.status == 206);
  CHECK(part.headers.at("content-range") == "bytes 100-1499/" + std::to_string(size));
  CHECK(part.body == whole.body.substr(100, 1400));
  CHECK(fetch(path, {{"Range", "bytes=-10"}}).body == whole.body.substr(size - 10));

  const auto outside = fetch(path, {{"Range", "bytes=" + std::to_string(size) + "-"}});
  CHECK(refusal(outside, 416) == "range: the archive has " + std::to_string(size) + " bytes");
  CHECK(outside.headers.at("content-range") == "bytes */" + std::to_string(size));

  // Another link to the same bytes does as well; one to others is answered with the whole.
  const auto again = link("weights/a");
  CHECK(again != path);
  const std::map<std::string, std::string> rest{{"Range", "bytes=512-"}, {"If-Range", etag}};
  CHECK(fetch(again, rest).body == whole.body.substr(512));
  (void)save("a", {}, true);
  CHECK(fetch(link("weights/a"), rest).status == 200);
  CHECK(fetch(path, rest).status == 206); // what was packed stays

  const auto head = api.http.call("HEAD", path);
  CHECK(head.status == 200);
  CHECK(head.headers.at("content-length") == std::to_string(size));
  CHECK(head.headers.at("etag") == etag);
  CHECK(fetch(path).body == whole.body); // the connection is in order
}

TEST_CASE_METHOD(Fixture, "A large archive comes whole", "[server][archive]") {
  (void)save("a");
  std::string bytes(3'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * i % 251);
  write_text(options.state_dir / "checkpoints" / model / "weights/a/learned", bytes);
  const auto path = link("weights/a");
  CHECK(read_tar(fetch(path).body).at("learned") == bytes);
  CHECK(fetch(path, {{"Range", "bytes=512-3000511"}}).body == bytes);
}

TEST_CASE_METHOD(Fixture, "There is an archive only of what is there", "[server][archive]") {
  const auto path = save("a", 10);
  CHECK(refusal(ask("weights/b"), 404)
        == "path: the checkpoint tinker://" + model + "/weights/b does not exist");
  CHECK(refusal(ask("sampler_weights/a"), 404).find("does not exist") != std::string::npos);
  CHECK(refusal(ask("heights/a"), 400).starts_with("Invalid checkpoint identifier"));
  wait(10s);
  CHECK(refusal(ask("weights/a"), 404) == "path: the checkpoint " + path + " has expired");
}
