// SPDX-License-Identifier: Apache-2.0
#include "server/archive_links.hpp"

#include "server/ids.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tinkaf::server {

namespace {

/// How long an expired link is remembered as such.
constexpr auto memory = std::chrono::hours{24};

} // namespace

Result<std::string>
ArchiveLinks::add(const std::string& version, Timestamp expires,
                  const std::function<Result<std::shared_ptr<const OpenFile>>()>& make,
                  const char* content_type) {
  std::shared_ptr<const OpenFile> file;
  {
    const std::lock_guard lock{mutex_};
    const auto found = std::find_if(links_.begin(), links_.end(), [&](const auto& entry) {
      return entry.second.archive.file && entry.second.archive.etag == version;
    });
    if (found != links_.end())
      file = found->second.archive.file;
  }
  if (!file) {
    auto made = make();
    if (!made)
      return fail(std::move(made.error()));
    file = std::move(*made);
  }
  auto secret = make_secret();
  const std::lock_guard lock{mutex_};
  links_[secret] = {{std::move(file), version, content_type}, expires};
  return secret;
}

Result<ArchiveLinks::Archive> ArchiveLinks::find(const std::string& secret, Timestamp now) const {
  const std::lock_guard lock{mutex_};
  const auto found = links_.find(secret);
  if (found == links_.end())
    return fail(Errc::not_found, "there is no archive under this link");
  if (found->second.expires <= now)
    return fail(Errc::permission_denied, "this link has expired; ask for the archive again");
  return found->second.archive;
}

void ArchiveLinks::expire(Timestamp now) {
  const std::lock_guard lock{mutex_};
  for (auto& [secret, link] : links_)
    if (link.expires <= now)
      link.archive.file.reset();
  std::erase_if(links_, [now](const auto& x) { return x.second.expires + memory <= now; });
}

} // namespace tinkaf::server
