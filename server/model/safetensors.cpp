// SPDX-License-Identifier: Apache-2.0
#include "server/model/safetensors.hpp"

#include "server/model/atomic_file.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

namespace tinkaf::model {

static_assert(std::endian::native == std::endian::little,
              "safetensors are little-endian and read without swapping");

namespace {

using Json = rapidjson::Value;

/// The format's own limit.
constexpr std::uint64_t longest_header = 100'000'000;
constexpr std::size_t length_bytes = 8;
constexpr std::size_t block = 1 << 16;

std::size_t width(StoredType type) {
  return type == StoredType::f32 ? 4 : 2;
}

const char* name_of(StoredType type) {
  switch (type) {
  case StoredType::f32:
    return "F32";
  case StoredType::f16:
    return "F16";
  case StoredType::bf16:
    return "BF16";
  }
  return "";
}

std::optional<StoredType> type_named(std::string_view name) {
  for (const auto type : {StoredType::f32, StoredType::f16, StoredType::bf16})
    if (name == name_of(type))
      return type;
  return std::nullopt;
}

std::string join(const std::vector<std::size_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Reads the entries of a header, checking each number against the size of the data.
class HeaderReader {
public:
  HeaderReader(const std::filesystem::path& path, std::uint64_t data_size)
      : path_(path), data_size_(data_size) {}

  tl::unexpected<Error> bad(std::string_view what) const {
    return fail(Errc::invalid_argument, fmt::format("{}: {}", path_.string(), what));
  }

  Result<SafetensorsReader::Entry> entry(const std::string& name, const Json& x) {
    const auto wrong = [&](const char* field, std::string_view what) {
      return bad(fmt::format("tensor \"{}\": {} {}", name, field, what));
    };
    if (!x.IsObject() || !x.HasMember("dtype") || !x.HasMember("shape")
        || !x.HasMember("data_offsets"))
      return wrong("entry", "must hold dtype, shape and data_offsets");
    const auto& dtype = x["dtype"];
    const auto type = dtype.IsString() ? type_named(dtype.GetString()) : std::nullopt;
    if (!type)
      return wrong("dtype", "must be F32, F16 or BF16");
    SafetensorsReader::Entry out;
    out.type = *type;
    const auto& shape = x["shape"];
    if (!shape.IsArray())
      return wrong("shape", "must be a list");
    std::uint64_t elements = 1;
    for (const auto& n : shape.GetArray()) {
      if (!n.IsUint64())
        return wrong("shape", "must hold integers from 0 on");
      const auto size = n.GetUint64();
      // More elements than bytes cannot be true; the check also keeps the product from wrapping.
      if (size != 0 && elements > data_size_ / size)
        return wrong("shape", fmt::format("is larger than the file's {} bytes", data_size_));
      elements *= size;
      out.shape.push_back(size);
    }
    const auto& offsets = x["data_offsets"];
    if (!offsets.IsArray() || offsets.Size() != 2 || !offsets[0].IsUint64()
        || !offsets[1].IsUint64())
      return wrong("data_offsets", "must be two integers from 0 on");
    const auto begin = offsets[0].GetUint64();
    const auto end = offsets[1].GetUint64();
    if (begin > end || end > data_size_)
      return wrong("data_offsets", fmt::format("[{}, {}] are not inside the {} bytes of data",
                                               begin, end, data_size_));
    if (end - begin != elements * width(*type))
      return wrong("data_offsets", fmt::format("[{}, {}] do not fit shape and dtype", begin, end));
    out.offset = begin;
    out.elements = elements;
    spans_.emplace_back(begin, end);
    return out;
  }

  /// Tensors must lie end to end and fill the file.
  Result<void> check_coverage() {
    std::sort(spans_.begin(), spans_.end());
    std::uint64_t at = 0;
    for (const auto& [begin, end] : spans_) {
      if (begin != at)
        return bad(fmt::format("tensors overlap or leave a hole at byte {} of the data",
                               std::min(begin, at)));
      at = end;
    }
    if (at != data_size_)
      return bad(fmt::format("{} bytes after the last tensor", data_size_ - at));
    return {};
  }

private:
  const std::filesystem::path& path_;
  std::uint64_t data_size_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_;
};

void widen(StoredType type, const unsigned char* from, std::span<float> out) {
  if (type == StoredType::f32) {
    std::memcpy(out.data(), from, out.size_bytes());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + 2 * i, 2);
    out[i] = type == StoredType::bf16 ? from_bf16(bits) : from_f16(bits);
  }
}

tl::unexpected<Error> ends_early(const std::filesystem::path& path, const std::string& name) {
  return fail(Errc::io_error,
              fmt::format("cannot read {}: tensor \"{}\" ends early", path.string(), name));
}

} // namespace

Result<SafetensorsReader> SafetensorsReader::open(const std::filesystem::path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream in{path, std::ios::binary};
  if (error || !in)
    return fail(Errc::io_error, fmt::format("cannot read {}: {}", path.string(),
                                            error ? error.message() : "permission denied"));
  HeaderReader early{path, 0};
  std::uint64_t header_size = 0;
  if (size < length_bytes || !in.read(reinterpret_cast<char*>(&header_size), sizeof header_size))
    return early.bad("is too short for a safetensors file");
  if (header_size > longest_header || header_size > size - length_bytes)
    return early.bad(fmt::format("header length {} is larger than the file", header_size));
  std::string header(header_size, '\0');
  if (!in.read(header.data(), static_cast<std::streamsize>(header_size)))
    return fail(Errc::io_error, fmt::format("cannot read {}", path.string()));

  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(header.data(), header.size());
  if (document.HasParseError() || !document.IsObject())
    return early.bad("header is not a JSON object");
  SafetensorsReader out;
  out.path_ = path;
  HeaderReader reader{path, size - length_bytes - header_size};
  for (const auto& member : std::as_const(document).GetObject()) {
    const std::string name{member.name.GetString(), member.name.GetStringLength()};
    if (name == "__metadata__") {
      if (!member.value.IsObject())
        return reader.bad("__metadata__ must be an object");
      for (const auto& x : member.value.GetObject()) {
        if (!x.value.IsString())
          return reader.bad("__metadata__ must hold strings");
        out.metadata_.emplace(x.name.GetString(), x.value.GetString());
      }
      continue;
    }
    auto entry = reader.entry(name, member.value);
    if (!entry)
      return fail(entry.error());
    entry->offset += length_bytes + header_size;
    if (!out.entries_.emplace(name, std::move(*entry)).second)
      return reader.bad(fmt::format("tensor \"{}\" is there twice", name));
  }
  if (auto covered = reader.check_coverage(); !covered)
    return fail(covered.error());
  return out;
}

Result<SafetensorsReader::Entry> SafetensorsReader::expect(const std::string& name,
                                                           const std::vector<std::size_t>& shape,
                                                           std::size_t elements) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    return fail(Errc::invalid_argument,
                fmt::format("{}: tensor \"{}\" is missing", path_.string(), name));
  const auto& entry = found->second;
  if (entry.shape != shape || entry.elements != elements)
    return fail(Errc::invalid_argument,
                fmt::format("{}: tensor \"{}\" has shape {}, expected {}", path_.string(), name,
                            join(entry.shape), join(shape)));
  return entry;
}

Result<void> SafetensorsReader::read(const std::string& name, const std::vector<std::size_t>& shape,
                                     std::span<float> out) const {
  const auto entry = expect(name, shape, out.size());
  if (!entry)
    return fail(entry.error());
  std::ifstream in{path_, std::ios::binary};
  in.seekg(static_cast<std::streamoff>(entry->offset));
  std::vector<unsigned char> bytes;
  for (std::size_t done = 0; done < out.size();) {
    const auto n = std::min(block, out.size() - done);
    bytes.resize(n * width(entry->type));
    if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
      return ends_early(path_, name);
    widen(entry->type, bytes.data(), out.subspan(done, n));
    done += n;
  }
  return {};
}

Result<void> SafetensorsReader::read_bf16(const std::string& name,
                                          const std::vector<std::size_t>& shape,
                                          std::span<std::uint16_t> out) const {
  const auto entry = expect(name, shape, out.size());
  if (!entry)
    return fail(entry.error());
  if (entry->type != StoredType::bf16)
    return fail(Errc::invalid_argument, fmt::format("{}: tensor \"{}\" is {}, expected BF16",
                                                    path_.string(), name, name_of(entry->type)));
  std::ifstream in{path_, std::ios::binary};
  in.seekg(static_cast<std::streamoff>(entry->offset));
  if (!in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size_bytes())))
    return ends_early(path_, name);
  return {};
}

Result<void> write_safetensors(const std::filesystem::path& path,
                               std::span<const TensorSource> tensors, StoredType type,
                               const std::map<std::string, std::string>& metadata) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json{buffer};
  json.StartObject();
  if (!metadata.empty()) {
    json.Key("__metadata__");
    json.StartObject();
    for (const auto& [key, value] : metadata) {
      json.Key(key.c_str());
      json.String(value.c_str());
    }
    json.EndObject();
  }
  std::uint64_t offset = 0;
  for (const auto& x : tensors) {
    json.Key(x.name.c_str());
    json.StartObject();
    json.Key("dtype");
    json.String(name_of(type));
    json.Key("shape");
    json.StartArray();
    for (const auto n : x.shape)
      json.Uint64(n);
    json.EndArray();
    json.Key("data_offsets");
    json.StartArray();
    json.Uint64(offset);
    offset += x.data.size() * width(type);
    json.Uint64(offset);
    json.EndArray();
    json.EndObject();
  }
  json.EndObject();
  std::string header{buffer.GetString(), buffer.GetSize()};
  header.resize((header.size() + 7) / 8 * 8, ' '); // data starts aligned

  auto file = AtomicFile::create(path);
  if (!file)
    return fail(file.error());
  const std::uint64_t header_size = header.size();
  auto done = file->write(&header_size, sizeof header_size);
  if (done)
    done = file->write(header);
  std::vector<std::uint16_t> narrow;
  for (const auto& x : tensors) {
    if (!done)
      return done;
    if (type == StoredType::f32) {
      done = file->write(x.data.data(), x.data.size_bytes());
      continue;
    }
    narrow.resize(x.data.size());
    std::transform(x.data.begin(), x.data.end(), narrow.begin(),
                   type == StoredType::bf16 ? to_bf16 : to_f16);
    done = file->write(narrow.data(), narrow.size() * 2);
  }
  return done ? file->commit() : done;
}

} // namespace tinkaf::model
