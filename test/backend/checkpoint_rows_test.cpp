// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint_rows.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <fstream>

using namespace tinkaf;

namespace {

const std::string row
    = R"({"name":"000020","batch":20,"epoch":0,"state_path":"tinker://R/weights/000020",)"
      R"("sampler_path":"tinker://R/sampler_weights/000020"})";

std::vector<CheckpointEntry> parse(const std::string& text) {
  auto rows = parse_checkpoints(text, "c.jsonl");
  if (!rows)
    FAIL(rows.error().message);
  return *rows;
}

std::string error_of(const std::string& text) {
  auto rows = parse_checkpoints(text, "c.jsonl");
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code == Errc::invalid_argument);
  return rows.error().message;
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream{file, std::ios::binary} << text;
}

CheckpointEntry state(const std::string& name, std::int64_t batch = 0) {
  return {.name = name, .batch = batch, .state_path = "tinker://r/weights/" + name};
}

CheckpointEntry sampler(const std::string& name) {
  return {.name = name, .sampler_path = "tinker://r/sampler_weights/" + name};
}

} // namespace

TEST_CASE("A row is written as it was read, with fields that nobody knows", "[backend][rows]") {
  CHECK(to_json(parse(row).at(0)) == row);
  const std::string with_more = R"({"name":"a","batch":3,"final":true,"loss":{"x":[1,2.5]},)"
                                R"("rolling":true})";
  const auto entry = parse("\n" + with_more + "\n\n").at(0);
  CHECK(to_json(entry) == with_more);
  CHECK(entry.extra.at("loss") == R"({"x":[1,2.5]})");
  CHECK(entry.has("rolling"));
  CHECK(entry.has("final"));
  CHECK_FALSE(entry.has("epoch"));
  CHECK_FALSE(entry.has("state_path"));
}

TEST_CASE("An extra of a known name is dropped and told, one that is no JSON is text",
          "[backend][rows]") {
  std::vector<std::string> told;
  const CheckpointEntry entry{.name = "a", .extra = {{"batch", "7"}, {"note", "two words"}}};
  CHECK(to_json(entry, [&](const Notice& notice) { told.push_back(notice.text); })
        == R"({"name":"a","note":"two words"})");
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("`batch`") != std::string::npos);
}

TEST_CASE("A row that is not understood is named by file and line", "[backend][rows][errors]") {
  CHECK(error_of(row + "\n{\n" + row + "\n").find("c.jsonl:2") == 0);
  CHECK(error_of("[]\n") == "c.jsonl:1: is not a JSON object");
  CHECK(error_of("{}\n") == "c.jsonl:1: name is missing");
  CHECK(error_of(R"({"name":"a","batch":"x"})"
                 "\n")
        == R"(c.jsonl:1: batch is "x", which is of the wrong type)");
}

TEST_CASE("A last line that was cut off is told as such, a whole one is a row",
          "[backend][rows][errors]") {
  CHECK(parse(row).size() == 1);
  CHECK(error_of(row + "\n" + row.substr(0, 30))
        == "c.jsonl:2: the last line is cut off, as a crash leaves it; remove it to go on from "
           "checkpoint `000020`");
  CHECK(error_of("{").find("from the beginning") != std::string::npos);
}

TEST_CASE("A run goes on from its newest state, else from what it was given", "[backend][rows]") {
  const std::vector rows{state("a", 1), state("b", 2), sampler("c")};
  CHECK(last_checkpoint(rows)->name == "b");
  CHECK(last_checkpoint(rows, "sampler_path")->name == "c");
  CHECK(last_checkpoint({}) == nullptr);
  CHECK(run_origin(rows, "given")
        == RunOrigin{.resume_state_path = "tinker://r/weights/b", .batch = 2});
  CHECK(run_origin({sampler("c")}, "given") == RunOrigin{.init_weights_path = "given"});
  CHECK(run_origin({}) == RunOrigin{});
}

TEST_CASE("The checkpoint to use is the one named final, else the newest", "[backend][rows]") {
  CHECK(final_checkpoint({state("a"), sampler("final"), state("final"), state("b")})->sampler_path
        == "tinker://r/sampler_weights/final");
  CHECK(final_checkpoint({state("a"), {.name = "final"}, state("b"), {.name = "c"}})->name == "b");
  CHECK(final_checkpoint({{.name = "a"}}) == nullptr);
}

TEST_CASE("Rows are added behind those that are there", "[backend][rows]") {
  const test::TempFolder temp;
  const auto folder = temp.path() / "new" / "run";
  CHECK(read_checkpoints(folder / "checkpoints.jsonl")->empty());
  REQUIRE(CheckpointFile::open(folder)->append(state("a", 1)).has_value());
  auto file = CheckpointFile::open(folder);
  REQUIRE(file.has_value());
  REQUIRE(file->append(state("b", 2)).has_value());
  CHECK(file->rows() == std::vector{state("a", 1), state("b", 2)});
  CHECK(read_checkpoints(file->path()) == file->rows());
}

TEST_CASE("Nothing is added to a file that is not understood, and nothing is lost",
          "[backend][rows][errors]") {
  const test::TempFolder temp;
  const auto file = temp.path() / "checkpoints.jsonl";
  write(file, row + "\n" + row.substr(0, 30));
  const auto opened = CheckpointFile::open(temp.path());
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().message.find("checkpoints.jsonl:2") != std::string::npos);
  CHECK(test::read_text(file) == row + "\n" + row.substr(0, 30));

  write(file, row); // complete but for the end of its line
  REQUIRE(CheckpointFile::open(temp.path())->append(state("b")).has_value());
  CHECK(read_checkpoints(file)->size() == 2);
}
