// SPDX-License-Identifier: Apache-2.0
#include "api/wire/http_date.hpp"
#include "api/wire/json_rest.hpp"
#include "api/wire/json_time.hpp"
#include "api/wire/json_writer.hpp"
#include "server/calls.hpp"
#include "server/digest.hpp"
#include "server/http/byte_range.hpp"
#include "server/replies.hpp"
#include "server/request_checks.hpp"
#include "server/tar.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

// Checkpoints as archives: a link, and what is behind it.

namespace tinkaf::server::calls {

namespace {

/// Packs weights into a file that has no name, so that it goes with its last reader.
Result<std::shared_ptr<const OpenFile>> pack(const ServiceCore& core,
                                             const ServiceCore::FoundCheckpoint& from) {
  const auto path = core.state->scratch_file();
  auto out = write_tar(*from.weights, from.info.created, path).and_then([&] {
    return OpenFile::open(path);
  });
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return out;
}

/// Tells this checkpoint from others that had its path.
std::string version_of(const ServiceCore::FoundCheckpoint& found) {
  // A version that is not noted is as good as the time for those that were made before.
  return fmt::format("{} {}", found.path.str(),
                     found.info.version.empty()
                         ? fmt::format("{}", found.info.created.time_since_epoch().count())
                         : found.info.version);
}

std::chrono::sys_seconds link_expiry(const ServiceCore& core) {
  return std::chrono::floor<std::chrono::seconds>(core.wall_now())
         + core.options.limits.archive_link;
}

/// The address under which the caller sees this server; a relative one will do for a redirect.
std::string link_of(const HttpCall& call, const std::string& secret) {
  const auto host = header(call.headers, "host");
  return fmt::format("{}{}/api/v1/archives/{}", host.empty() ? "" : "http://", host, secret);
}

struct ExternalUrls {
  std::map<std::string, std::string> urls;
  Timestamp expires;
};

void describe(wire::JsonWriter& v, const ExternalUrls& x) {
  v.field("urls", x.urls);
  wire::visit_time(v, "expires", x.expires);
}

} // namespace

HttpReply checkpoint_archive(ServiceCore& core, const HttpCall& call) {
  const auto path = named_checkpoint(call);
  if (!path)
    return error_reply(path.error());
  const auto found = core.checkpoint(*path);
  if (!found)
    return error_reply(found.error());
  const auto expires = link_expiry(core);
  const auto secret
      = core.archives.add(version_of(*found), expires, [&] { return pack(core, *found); });
  if (!secret)
    return error_reply(secret.error());
  const auto url = link_of(call, *secret);
  HttpReply reply;
  if (core.options.archive_answer == ServerOptions::ArchiveAnswer::json) {
    reply = HttpReply::json(200, wire::to_json(CheckpointArchiveUrlResponse{url, expires}));
  } else {
    reply.status = 302;
    reply.headers = {{"location", url}, {"expires", wire::to_http_date(expires)}};
  }
  reply.headers.emplace_back("cache-control", "no-store"); // the link is a credential
  return reply;
}

HttpReply external_weights_urls(ServiceCore& core, const HttpCall& call) {
  const auto path = named_checkpoint(call);
  if (!path)
    return error_reply(path.error());
  if (path->kind != CheckpointKind::external)
    return error_reply(400, fmt::format("{} is no checkpoint to take elsewhere; save one with "
                                        "save_weights_external, or ask for its archive",
                                        path->str()));
  const auto found = core.checkpoint(*path);
  if (!found)
    return error_reply(found.error());
  const auto expires = link_expiry(core);
  ExternalUrls out{.urls = {}, .expires = expires};
  std::error_code unreadable;
  for (auto it = std::filesystem::directory_iterator{*found->weights, unreadable};
       !unreadable && it != std::filesystem::directory_iterator{}; it.increment(unreadable)) {
    const auto name = it->path().filename().string();
    const auto secret = core.archives.add(
        version_of(*found) + ' ' + name, expires, [&] { return OpenFile::open(it->path()); },
        "application/octet-stream");
    if (!secret)
      return error_reply(secret.error());
    out.urls[name] = link_of(call, *secret);
  }
  if (unreadable)
    return error_reply(500,
                       fmt::format("{} cannot be read: {}", path->str(), unreadable.message()));
  auto reply = HttpReply::json(200, wire::write_json(out));
  reply.headers.emplace_back("cache-control", "no-store"); // as above
  return reply;
}

HttpReply fetch_archive(ServiceCore& core, const HttpCall& call) {
  const auto archive = core.archives.find(call.arguments.at(0), core.wall_now());
  if (!archive)
    return error_reply(archive.error());
  const auto size = archive->file->size();
  const auto etag = fmt::format("\"{}\"", digest_of(archive->etag));
  const auto if_range = header(call.headers, "if-range");
  const auto range
      = read_range(if_range.empty() || if_range == etag ? header(call.headers, "range") : "", size);
  HttpReply reply{.content_type = archive->content_type,
                  .headers = {{"accept-ranges", "bytes"}, {"etag", etag}}};
  switch (range.kind) {
  case ByteRange::Kind::outside:
    reply = error_reply(416, fmt::format("range: the archive has {} bytes", size));
    reply.headers.emplace_back("content-range", fmt::format("bytes */{}", size));
    return reply;
  case ByteRange::Kind::part:
    reply.status = 206;
    reply.headers.emplace_back("content-range", fmt::format("bytes {}-{}/{}", range.first,
                                                            range.first + range.size - 1, size));
    break;
  case ByteRange::Kind::whole:
    break;
  }
  reply.file = FilePart{archive->file, range.first, range.size};
  return reply;
}

} // namespace tinkaf::server::calls
