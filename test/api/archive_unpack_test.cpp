// SPDX-License-Identifier: Apache-2.0
#include "api/archive_unpack.hpp"

#include "test/api/tar_file.hpp"
#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <filesystem>
#include <string>

using namespace tinkaf;
using test::TarFile;

namespace {

namespace fs = std::filesystem;

struct Fixture {
  test::TempFolder folder;
  fs::path content = folder.path() / "inside" / "content";

  Fixture() {
    fs::create_directories(content);
    test::write_text(folder.path() / "outside", "untouched");
  }

  Result<Unpacked> unpack(const std::string& bytes, const UnpackLimits& limits = {},
                          const std::stop_token& stop = {}) const {
    test::write_text(folder.path() / "archive", bytes);
    return unpack_archive(folder.path() / "archive", content, limits, stop);
  }

  /// The archive is refused, and nothing but the folder was touched.
  std::string refusal(TarFile& tar, const UnpackLimits& limits = {}) const {
    auto unpacked = unpack(tar.bytes(), limits);
    REQUIRE_FALSE(unpacked.has_value());
    CHECK(unpacked.error().code == Errc::protocol_error);
    CHECK(test::read_text(folder.path() / "outside") == "untouched");
    CHECK_FALSE(fs::exists(folder.path() / "evil"));
    CHECK_FALSE(fs::exists(folder.path() / "inside" / "evil"));
    return unpacked.error().message;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "An archive is unpacked with its folders", "[api][archive]") {
  auto packing = GENERATE(TarFile::Packing::plain, TarFile::Packing::gzip);
  TarFile tar{packing};
  tar.folder("./").file("./adapter_config.json", "{}").file("deep/down/weights", "0123456789");
  tar.file("empty", "");
  auto unpacked = unpack(tar.bytes());
  INFO((unpacked ? "" : to_string(unpacked.error())));
  REQUIRE(unpacked.has_value());
  CHECK(unpacked->files == 3);
  CHECK(unpacked->bytes == 12);
  CHECK(test::read_text(content / "adapter_config.json") == "{}");
  CHECK(test::read_text(content / "deep" / "down" / "weights") == "0123456789");
  CHECK(fs::file_size(content / "empty") == 0);
  auto rights = fs::status(content / "adapter_config.json").permissions();
  CHECK((rights & fs::perms::owner_exec) == fs::perms::none);
}

TEST_CASE_METHOD(Fixture, "An archive that reaches out of its folder is refused",
                 "[api][archive]") {
  TarFile tar;
  tar.file("good", "x");
  SECTION("by an absolute path") {
    tar.file((folder.path() / "evil").string(), "x");
    CHECK(refusal(tar).find("has an absolute path") != std::string::npos);
  }
  SECTION("by the folder above") {
    tar.file("../evil", "x");
    CHECK(refusal(tar) == "the archive's entry `../evil` leads out of the folder");
  }
  SECTION("by a detour") {
    tar.file("a/b/../../../../outside", "x");
    CHECK(refusal(tar).find("leads out of the folder") != std::string::npos);
  }
  SECTION("by a folder") {
    tar.folder("../evil/");
    CHECK(refusal(tar).find("leads out of the folder") != std::string::npos);
  }
  SECTION("by a symbolic link and what lies behind it") {
    tar.symbolic_link("link", "..").file("link/evil", "x");
    CHECK(refusal(tar) == "the archive's entry `link` is a link");
  }
  SECTION("by a hard link") {
    tar.hard_link("link", "../../outside");
    CHECK(refusal(tar) == "the archive's entry `link` is a link");
  }
}

TEST_CASE_METHOD(Fixture, "An archive with devices or pipes is refused", "[api][archive]") {
  for (auto type : {AE_IFIFO, AE_IFCHR, AE_IFBLK}) {
    TarFile tar;
    tar.special("thing", type);
    CHECK(refusal(tar) == "the archive's entry `thing` is neither a file nor a folder");
  }
}

TEST_CASE_METHOD(Fixture, "An archive beyond the limits is refused", "[api][archive]") {
  TarFile tar;
  tar.file("a", "0123456789").file("b", "0123456789");
  CHECK(refusal(tar, {.max_entries = 1}) == "the archive has more than 1 entries");
}

TEST_CASE_METHOD(Fixture, "An entry beyond the limits is refused", "[api][archive]") {
  TarFile tar{TarFile::Packing::gzip};
  tar.file("a", std::string(10'000, 'x')).file("b", std::string(10'000, 'x'));
  SECTION("by itself") {
    CHECK(refusal(tar, {.max_entry_bytes = 9'999}).find("`a` has 10000 bytes")
          != std::string::npos);
    CHECK(fs::is_empty(content));
  }
  SECTION("with those before it") {
    CHECK(refusal(tar, {.max_total_bytes = 19'999}).find("`b` makes the archive larger")
          != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "An archive that holds a name twice is refused", "[api][archive]") {
  SECTION("as files") {
    TarFile tar;
    tar.file("a", "1").file("./a", "2");
    CHECK(refusal(tar) == "the archive's entry `./a` comes twice");
  }
  SECTION("as file and folder") {
    TarFile tar;
    tar.file("a", "1").file("a/b", "2");
    CHECK(refusal(tar).find("a file") != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "A damaged archive is refused", "[api][archive]") {
  auto packing = GENERATE(TarFile::Packing::plain, TarFile::Packing::gzip);
  TarFile tar{packing};
  std::string noise;
  for (int i = 0; i < 3'000; ++i)
    noise += static_cast<char>((i * 7919 + i / 7) % 251);
  tar.file("a", noise);
  auto bytes = tar.bytes();
  for (auto cut : {bytes.size() / 2, std::size_t{700}, std::size_t{300}}) {
    INFO(cut);
    auto unpacked = unpack(bytes.substr(0, cut));
    CHECK_FALSE(unpacked.has_value());
    fs::remove(content / "a");
  }
  for (const auto* other : {"", "<html>Sorry</html>", "{}"})
    CHECK_FALSE(unpack(other).has_value());
}

TEST_CASE_METHOD(Fixture, "An archive of folders alone is refused", "[api][archive]") {
  TarFile tar;
  tar.folder("a/");
  CHECK(refusal(tar) == "the archive holds no file");
}

TEST_CASE_METHOD(Fixture, "Unpacking stops when it is asked to", "[api][archive]") {
  TarFile tar;
  tar.file("a", "1");
  std::stop_source stop;
  stop.request_stop();
  CHECK(unpack(tar.bytes(), {}, stop.get_token()).error().code == Errc::cancelled);
}
