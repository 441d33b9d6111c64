// SPDX-License-Identifier: Apache-2.0
#include "train/step_samples.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace tinkaf::train {

namespace {

using Json = rapidjson::Value;
using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr auto file_name = "samples.jsonl";

/// Numbers stay text: by way of a double, a float may become its neighbour.
constexpr auto parse_flags = rapidjson::kParseNumbersAsStringsFlag;

bool write_floats(Writer& out, const std::vector<float>& values) {
  out.StartArray();
  for (const auto value : values) {
    if (!std::isfinite(value))
      return false;
    const auto digits = fmt::format("{}", value);
    out.RawValue(digits.data(), digits.size(), rapidjson::kNumberType);
  }
  out.EndArray();
  return true;
}

bool write_answer(Writer& out, const SampledSequence& answer) {
  if (!answer.logprobs)
    return false;
  out.StartObject();
  out.Key("tokens");
  out.StartArray();
  for (const auto token : answer.tokens)
    out.Int(token);
  out.EndArray();
  out.Key("logprobs");
  if (!write_floats(out, *answer.logprobs))
    return false;
  out.Key("stop_reason");
  out.String(to_string(answer.stop_reason));
  out.EndObject();
  return true;
}

/// The line of a step; nothing if a number cannot be written.
std::optional<std::string> to_line(const StepSamples& samples) {
  auto buffer = rapidjson::StringBuffer{};
  auto out = Writer{buffer};
  out.StartObject();
  out.Key("step");
  out.Uint64(samples.step);
  out.Key("answers");
  out.StartArray();
  for (const auto& group : samples.answers) {
    out.StartArray();
    for (const auto& answer : group)
      if (!write_answer(out, answer))
        return std::nullopt;
    out.EndArray();
  }
  out.EndArray();
  out.Key("scores");
  out.StartArray();
  for (const auto& scores : samples.scores)
    if (!write_floats(out, scores))
      return std::nullopt;
  out.EndArray();
  out.EndObject();
  return std::string{buffer.GetString(), buffer.GetSize()};
}

bool read(const Json& json, SampledSequence& answer);

template <class T>
bool read(const Json& json, T& value) {
  if (!json.IsString())
    return false;
  const auto* const end = json.GetString() + json.GetStringLength();
  const auto done = std::from_chars(json.GetString(), end, value);
  return done.ec == std::errc{} && done.ptr == end;
}

template <class T>
bool read(const Json& json, std::vector<T>& values) {
  if (!json.IsArray())
    return false;
  for (const auto& one : json.GetArray())
    if (!read(one, values.emplace_back()))
      return false;
  return true;
}

bool read(const Json& json, SampledSequence& answer) {
  if (!json.IsObject() || !json.HasMember("tokens") || !json.HasMember("logprobs")
      || !json.HasMember("stop_reason") || !json["stop_reason"].IsString())
    return false;
  answer.stop_reason = std::string_view{json["stop_reason"].GetString()} == "stop"
                           ? StopReason::stop
                           : StopReason::length;
  return read(json["tokens"], answer.tokens) && read(json["logprobs"], answer.logprobs.emplace());
}

std::optional<StepSamples> from_line(const std::string& line) {
  auto json = rapidjson::Document{};
  json.Parse<parse_flags>(line.data(), line.size());
  auto result = StepSamples{};
  if (json.HasParseError() || !json.IsObject() || !json.HasMember("step")
      || !json.HasMember("answers") || !json.HasMember("scores") || !read(json["step"], result.step)
      || !read(json["answers"], result.answers) || !read(json["scores"], result.scores))
    return std::nullopt;
  return result;
}

/// The step of a line, which stands at its head.
std::optional<std::size_t> step_of(std::string_view line) {
  constexpr std::string_view head = R"({"step":)";
  auto step = std::size_t{0};
  if (!line.starts_with(head)
      || std::from_chars(line.data() + head.size(), line.data() + line.size(), step).ec
             != std::errc{})
    return std::nullopt;
  return step;
}

} // namespace

Result<void> forget_samples(const std::filesystem::path& folder, std::size_t from) {
  const auto path = folder / file_name;
  auto stream = std::ifstream{path, std::ios::binary};
  auto kept = std::string{};
  auto drops = false;
  for (auto line = std::string{}; std::getline(stream, line);) {
    const auto step = step_of(line);
    if ((step && *step >= from) || stream.eof()) // or one that a crash left unfinished
      drops = true;
    else
      kept += line + '\n';
  }
  if (stream.bad())
    return fail(Errc::io_error, fmt::format("cannot read {}", path.string()));
  return drops ? write_file(path, kept) : Result<void>{};
}

SampleFile::SampleFile(std::filesystem::path path, LineFile file)
    : path_(std::move(path)), file_(std::move(file)) {}

Result<SampleFile> SampleFile::open(const std::filesystem::path& folder) {
  const auto path = folder / file_name;
  auto file = LineFile::open(path);
  if (!file)
    return fail(std::move(file.error()));
  auto result = SampleFile{path, std::move(*file)};
  auto stream = std::ifstream{path, std::ios::binary};
  for (auto line = std::string{}; std::getline(stream, line);) {
    const auto step = step_of(line);
    if (!step)
      return fail(Errc::io_error, fmt::format("{} holds a line that is no step's samples: {:.40}",
                                              path.string(), line));
    result.lines_[*step] = result.size_;
    result.size_ += static_cast<std::int64_t>(line.size()) + 1;
  }
  if (stream.bad())
    return fail(Errc::io_error, fmt::format("cannot read {}", path.string()));
  return result;
}

Result<std::optional<StepSamples>> SampleFile::find(std::size_t step) const {
  const auto found = lines_.find(step);
  if (found == lines_.end())
    return std::nullopt;
  auto stream = std::ifstream{path_, std::ios::binary};
  stream.seekg(found->second);
  auto line = std::string{};
  std::getline(stream, line);
  auto result = from_line(line);
  if (!stream || !result || result->step != step)
    return fail(Errc::io_error,
                fmt::format("cannot read the samples of step {} in {}", step, path_.string()));
  return result;
}

Result<void> SampleFile::add(const StepSamples& samples) {
  const auto line = to_line(samples);
  if (!line)
    return fail(
        Errc::protocol_error,
        fmt::format("step {}: a log-probability came back that is not finite", samples.step));
  if (auto added = file_.append(*line); !added)
    return added;
  lines_[samples.step] = size_;
  size_ += static_cast<std::int64_t>(line->size()) + 1;
  return file_.sync();
}

} // namespace tinkaf::train
