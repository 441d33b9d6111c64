// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint_rows.hpp"

#include "api/wire/json_reader.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace tinkaf {

namespace {

using Json = rapidjson::Value;
using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr std::array known_fields{"name", "batch", "epoch", "final", "state_path", "sampler_path"};

bool is_known(std::string_view field) {
  return std::find(known_fields.begin(), known_fields.end(), field) != known_fields.end();
}

tl::unexpected<Error> bad(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

void write(Writer& writer, std::string_view text) {
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void key(Writer& writer, std::string_view name) {
  writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

void write_extra(Writer& writer, const std::string& json) {
  auto document = wire::parse_json(json, "", Errc::invalid_argument);
  if (document)
    document->Accept(writer);
  else
    write(writer, json);
}

/// Reads one field; false if it has another type.
bool read(const Json& json, std::optional<std::int64_t>& x) {
  if (json.IsInt64())
    x = json.GetInt64();
  return json.IsInt64();
}

bool read(const Json& json, std::optional<bool>& x) {
  if (json.IsBool())
    x = json.GetBool();
  return json.IsBool();
}

bool read(const Json& json, std::optional<std::string>& x) {
  if (json.IsString())
    x = std::string{wire::text_of(json)};
  return json.IsString();
}

bool read_known(std::string_view field, const Json& json, CheckpointEntry& entry) {
  if (json.IsNull())
    return true;
  if (field == "batch")
    return read(json, entry.batch);
  if (field == "epoch")
    return read(json, entry.epoch);
  if (field == "final")
    return read(json, entry.final);
  if (field == "state_path")
    return read(json, entry.state_path);
  if (field == "sampler_path")
    return read(json, entry.sampler_path);
  std::optional<std::string> name;
  const auto is_text = read(json, name);
  entry.name = std::move(name).value_or("");
  return is_text;
}

Result<CheckpointEntry> read_row(std::string_view line, const std::string& where) {
  auto document = wire::parse_json(line, where, Errc::invalid_argument);
  if (!document)
    return fail(std::move(document.error()));
  const Json& row = *document;
  if (!row.IsObject())
    return bad(where + ": is not a JSON object");
  CheckpointEntry entry;
  for (const auto& member : row.GetObject()) {
    std::string field{wire::text_of(member.name)};
    if (!is_known(field))
      entry.extra.insert_or_assign(std::move(field), wire::dump(member.value));
    else if (!read_known(field, member.value, entry))
      return bad(fmt::format("{}: {} is {}, which is of the wrong type", where, field,
                             wire::dump(member.value)));
  }
  if (entry.name.empty())
    return bad(where + ": name is missing");
  return entry;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// The content of a file; nothing if it is not there.
Result<std::optional<std::string>> read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return std::nullopt;
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  if (in && in.peek() != std::ifstream::traits_type::eof())
    text << in.rdbuf();
  if (in.bad() || (!in && !in.eof()))
    return fail(Errc::io_error, fmt::format("cannot read {}", file.string()));
  return text.str();
}

bool has_path(const CheckpointEntry& row) {
  return row.has("state_path") || row.has("sampler_path");
}

} // namespace

bool CheckpointEntry::has(std::string_view field) const {
  if (field == "name")
    return !name.empty();
  if (field == "batch")
    return batch.has_value();
  if (field == "epoch")
    return epoch.has_value();
  if (field == "final")
    return final.has_value();
  if (field == "state_path")
    return state_path.has_value();
  if (field == "sampler_path")
    return sampler_path.has_value();
  return extra.contains(std::string{field});
}

std::string to_json(const CheckpointEntry& entry, const NoticeSink& notices) {
  rapidjson::StringBuffer text;
  Writer writer{text};
  writer.StartObject();
  key(writer, "name");
  write(writer, entry.name);
  for (const auto& [field, value] : {std::pair{"batch", entry.batch}, {"epoch", entry.epoch}})
    if (value) {
      key(writer, field);
      writer.Int64(*value);
    }
  if (entry.final) {
    key(writer, "final");
    writer.Bool(*entry.final);
  }
  for (const auto* path : {&entry.state_path, &entry.sampler_path})
    if (*path) {
      key(writer, path == &entry.state_path ? "state_path" : "sampler_path");
      write(writer, **path);
    }
  for (const auto& [field, json] : entry.extra) {
    if (is_known(field)) {
      if (notices)
        notices(
            {Severity::warning, fmt::format("an extra field of checkpoint `{}` is dropped: `{}` "
                                            "is a field of its own",
                                            entry.name, field)});
      continue;
    }
    key(writer, field);
    write_extra(writer, json);
  }
  writer.EndObject();
  return {text.GetString(), text.GetSize()};
}

Result<std::vector<CheckpointEntry>> parse_checkpoints(std::string_view text,
                                                       const std::string& name) {
  std::vector<CheckpointEntry> rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    const auto is_whole = end != std::string_view::npos;
    text.remove_prefix(is_whole ? end + 1 : text.size());
    if (is_blank(line))
      continue;
    auto row = read_row(line, fmt::format("{}:{}", name, number));
    if (!row && !is_whole)
      return bad(fmt::format(
          "{}:{}: the last line is cut off, as a crash leaves it; remove it to go "
          "on from {}",
          name, number,
          rows.empty() ? std::string{"the beginning"} : "checkpoint `" + rows.back().name + "`"));
    if (!row)
      return fail(std::move(row.error()));
    rows.push_back(std::move(*row));
  }
  return rows;
}

Result<std::vector<CheckpointEntry>> read_checkpoints(const std::filesystem::path& file) {
  auto text = read_text(file);
  if (!text)
    return fail(std::move(text.error()));
  return parse_checkpoints(text->value_or(""), file.string());
}

const CheckpointEntry* last_checkpoint(const std::vector<CheckpointEntry>& rows,
                                       std::string_view required) {
  const auto found = std::find_if(rows.rbegin(), rows.rend(),
                                  [required](const auto& row) { return row.has(required); });
  return found == rows.rend() ? nullptr : &*found;
}

const CheckpointEntry* final_checkpoint(const std::vector<CheckpointEntry>& rows) {
  const auto named = std::find_if(rows.begin(), rows.end(), [](const auto& row) {
    return row.name == "final" && has_path(row);
  });
  if (named != rows.end())
    return &*named;
  const auto newest = std::find_if(rows.rbegin(), rows.rend(), has_path);
  return newest == rows.rend() ? nullptr : &*newest;
}

RunOrigin run_origin(const std::vector<CheckpointEntry>& rows, const std::string& load_path) {
  const auto* row = last_checkpoint(rows);
  if (row == nullptr)
    return {.resume_state_path = {}, .init_weights_path = load_path};
  return {.resume_state_path = *row->state_path,
          .init_weights_path = {},
          .batch = row->batch.value_or(0),
          .epoch = row->epoch.value_or(0)};
}

CheckpointFile::CheckpointFile(std::filesystem::path path, std::vector<CheckpointEntry> rows,
                               train::LineFile file, NoticeSink notices)
    : path_(std::move(path)), rows_(std::move(rows)), file_(std::move(file)),
      notices_(std::move(notices)) {}

Result<CheckpointFile> CheckpointFile::open(const std::filesystem::path& folder,
                                            NoticeSink notices) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Errc::io_error,
                fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  auto path = folder / "checkpoints.jsonl";
  auto text = read_text(path);
  if (!text)
    return fail(std::move(text.error()));
  auto rows = parse_checkpoints(text->value_or(""), path.string());
  if (!rows)
    return fail(std::move(rows.error()));
  // A last row that lacks nothing but the end of its line is a row.
  if (*text && !(*text)->empty() && (*text)->back() != '\n')
    if (auto ended = train::write_file(path, **text + '\n'); !ended)
      return fail(std::move(ended.error()));
  auto file = train::LineFile::open(path);
  if (!file)
    return fail(std::move(file.error()));
  return CheckpointFile{std::move(path), std::move(*rows), std::move(*file), std::move(notices)};
}

Result<void> CheckpointFile::append(CheckpointEntry entry) {
  if (auto written = file_.append(to_json(entry, notices_)); !written)
    return written;
  rows_.push_back(std::move(entry));
  return file_.sync();
}

} // namespace tinkaf
