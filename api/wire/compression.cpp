// SPDX-License-Identifier: Apache-2.0
#include "api/wire/compression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include <zlib.h>
#include <zstd.h>

namespace tinkaf::wire {

namespace {

constexpr std::size_t block_bytes = 262'144;

/// What zlib is told to expect or to write.
constexpr int window_bits_gzip = 15 + 16;
constexpr int window_bits_zlib = 15;
constexpr int window_bits_raw = -15;

tl::unexpected<Error> damaged(std::string_view encoding, std::string_view why) {
  return fail(Errc::invalid_argument, fmt::format("the body is not valid {}: {}", encoding, why));
}

tl::unexpected<Error> too_large(std::size_t max_bytes) {
  constexpr int payload_too_large = 413;
  return fail(Error{.code = Errc::invalid_argument,
                    .message = fmt::format("the unpacked body is larger than {} bytes", max_bytes),
                    .category = ErrorCategory::user,
                    .http_status = payload_too_large});
}

tl::unexpected<Error> no_memory(std::string_view encoding) {
  return fail(Errc::internal, fmt::format("{} cannot be set up: out of memory", encoding));
}

/// zlib takes 32-bit lengths, so bodies are fed in steps.
uInt step(std::size_t left) {
  return static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
}

Bytef* as_input(std::string_view bytes) {
  // zlib's interface lacks a const; it does not write there.
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

Result<std::string> inflate_all(std::string_view encoding, int window_bits, std::string_view bytes,
                                std::size_t max_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK)
    return no_memory(encoding);
  auto guard = std::unique_ptr<z_stream, int (*)(z_stream*)>{&stream, inflateEnd};
  std::string out;
  std::string block(block_bytes, '\0');
  while (true) {
    if (stream.avail_in == 0) {
      stream.next_in = as_input(bytes);
      stream.avail_in = step(bytes.size());
      bytes.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = block_bytes;
    auto status = inflate(&stream, Z_NO_FLUSH);
    auto made = block_bytes - stream.avail_out;
    if (made > max_bytes - out.size())
      return too_large(max_bytes);
    out.append(block, 0, made);
    if (status == Z_STREAM_END)
      break;
    if (status == Z_BUF_ERROR && stream.avail_in == 0 && bytes.empty())
      return damaged(encoding, "it is cut off");
    if (status != Z_OK && status != Z_BUF_ERROR)
      return damaged(encoding, stream.msg != nullptr ? stream.msg : "damaged data");
  }
  if (stream.avail_in != 0 || !bytes.empty())
    return damaged(encoding, "there is more after its end");
  return out;
}

/// "deflate" means the zlib format, but some peers send the bare stream.
bool has_zlib_header(std::string_view bytes) {
  if (bytes.size() < 2)
    return false;
  auto first = static_cast<unsigned char>(bytes[0]);
  auto second = static_cast<unsigned char>(bytes[1]);
  return (first & 0x0F) == Z_DEFLATED && (first * 256U + second) % 31 == 0;
}

Result<std::string> unzstd(std::string_view bytes, std::size_t max_bytes) {
  auto stream = std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)>{ZSTD_createDStream(),
                                                                              ZSTD_freeDStream};
  if (!stream)
    return no_memory("zstd");
  std::string out;
  std::string block(block_bytes, '\0');
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  while (true) {
    ZSTD_outBuffer output{block.data(), block_bytes, 0};
    auto hint = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(hint) != 0U)
      return damaged("zstd", ZSTD_getErrorName(hint));
    if (output.pos > max_bytes - out.size())
      return too_large(max_bytes);
    out.append(block, 0, output.pos);
    if (hint == 0 && input.pos == input.size)
      return out;
    if (input.pos == input.size && output.pos < output.size)
      return damaged("zstd", "it is cut off");
  }
}

} // namespace

Result<std::string> zstd_compress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  auto size
      = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(size) != 0U)
    return fail(Errc::internal, fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  out.resize(size);
  return out;
}

Result<std::string> gzip_compress(std::string_view bytes) {
  constexpr int default_memory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits_gzip, default_memory,
                   Z_DEFAULT_STRATEGY)
      != Z_OK)
    return no_memory("gzip");
  auto guard = std::unique_ptr<z_stream, int (*)(z_stream*)>{&stream, deflateEnd};
  std::string out;
  std::string block(block_bytes, '\0');
  auto status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.next_in = as_input(bytes);
      stream.avail_in = step(bytes.size());
      bytes.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = block_bytes;
    status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    if (status == Z_STREAM_ERROR)
      return fail(Errc::internal, "gzip: the packer's state is broken");
    out.append(block, 0, block_bytes - stream.avail_out);
  }
  return out;
}

Result<std::string> decompress(std::string_view encoding, std::string_view bytes,
                               std::size_t max_bytes) {
  if (encoding.empty() || encoding == "identity") {
    if (bytes.size() > max_bytes)
      return too_large(max_bytes);
    return std::string{bytes};
  }
  if (encoding == "zstd")
    return unzstd(bytes, max_bytes);
  if (encoding == "gzip" || encoding == "x-gzip")
    return inflate_all("gzip", window_bits_gzip, bytes, max_bytes);
  if (encoding == "deflate")
    return inflate_all("deflate", has_zlib_header(bytes) ? window_bits_zlib : window_bits_raw,
                       bytes, max_bytes);
  return fail(Errc::invalid_argument,
              fmt::format("content encoding `{}` is not known; there are zstd, gzip and deflate",
                          encoding));
}

} // namespace tinkaf::wire
