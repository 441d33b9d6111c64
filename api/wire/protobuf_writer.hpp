// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

// Writes protobuf messages straight into one string: large buffers are copied once, where the
// library's objects would copy them twice.
//
// `body(sink)` names the fields of a message in ascending order; it is run once to count the bytes
// and once to write them. Source: protobuf.dev, "Encoding".

namespace tinkaf::wire {

/// The elements as they lie in memory.
template <class T>
[[nodiscard]] std::string_view view_of(std::span<const T> values) {
  static_assert(std::is_arithmetic_v<T> && std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

[[nodiscard]] constexpr std::size_t varint_size(std::uint64_t x) noexcept {
  return (static_cast<std::size_t>(std::bit_width(x | 1U)) + 6) / 7;
}

/// Counts the bytes of a message.
class ProtobufSize {
public:
  void varint(std::uint32_t field, std::uint64_t x) {
    size_ += tag_size(field) + varint_size(x);
  }
  void number(std::uint32_t field, double /*x*/) {
    size_ += tag_size(field) + sizeof(double);
  }
  void bytes(std::uint32_t field, std::string_view x) {
    length_delimited(field, x.size());
  }
  void packed(std::uint32_t field, std::span<const std::int64_t> values) {
    length_delimited(field, packed_size(values));
  }
  template <class Body>
  void message(std::uint32_t field, Body body) {
    length_delimited(field, of(body));
  }

  template <class Body>
  [[nodiscard]] static std::size_t of(Body body) {
    ProtobufSize counter;
    body(counter);
    return counter.size_;
  }

  [[nodiscard]] static std::size_t packed_size(std::span<const std::int64_t> values) {
    std::size_t out = 0;
    for (const auto x : values)
      out += varint_size(static_cast<std::uint64_t>(x));
    return out;
  }

private:
  static std::size_t tag_size(std::uint32_t field) {
    return varint_size(std::uint64_t{field} << 3);
  }
  void length_delimited(std::uint32_t field, std::size_t length) {
    size_ += tag_size(field) + varint_size(length) + length;
  }

  std::size_t size_ = 0;
};

/// Writes the bytes of a message at the end of a string.
class ProtobufWriter {
public:
  explicit ProtobufWriter(std::string& out) : out_(out) {}

  void varint(std::uint32_t field, std::uint64_t x) {
    put(std::uint64_t{field} << 3);
    put(x);
  }
  void number(std::uint32_t field, double x) {
    put((std::uint64_t{field} << 3) | 1U);
    out_.append(reinterpret_cast<const char*>(&x), sizeof(x));
  }
  void bytes(std::uint32_t field, std::string_view x) {
    length_delimited(field, x.size());
    out_.append(x);
  }
  void packed(std::uint32_t field, std::span<const std::int64_t> values) {
    length_delimited(field, ProtobufSize::packed_size(values));
    for (const auto x : values)
      put(static_cast<std::uint64_t>(x));
  }
  template <class Body>
  void message(std::uint32_t field, Body body) {
    length_delimited(field, ProtobufSize::of(body));
    body(*this);
  }

private:
  void put(std::uint64_t x) {
    while (x >= 0x80) {
      out_.push_back(static_cast<char>(x | 0x80));
      x >>= 7;
    }
    out_.push_back(static_cast<char>(x));
  }
  void length_delimited(std::uint32_t field, std::size_t length) {
    put((std::uint64_t{field} << 3) | 2U);
    put(length);
  }

  std::string& out_;
};

} // namespace tinkaf::wire
