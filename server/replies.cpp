// SPDX-License-Identifier: Apache-2.0
#include "server/replies.hpp"

#include "api/wire/json_writer.hpp"

#include <map>
#include <utility>

namespace tinkaf::server {

namespace {

int status_of(const Error& error) {
  if (error.http_status != 0)
    return error.http_status;
  switch (error.code) {
  case Errc::invalid_argument:
    return 400;
  case Errc::permission_denied:
    return 403;
  case Errc::not_found:
    return 404;
  case Errc::conflict:
    return 409;
  case Errc::rate_limited:
    return 429;
  default:
    return 500;
  }
}

} // namespace

HttpReply error_reply(int status, std::string_view detail) {
  auto reply = HttpReply::json(status, wire::write_json(std::map<std::string, std::string>{
                                           {"detail", std::string{detail}},
                                           {"category", status < 500 ? "user" : "server"}}));
  // Repeating a call that conflicts with an earlier one does not help.
  if (status == 409)
    reply.headers.emplace_back("x-should-retry", "false");
  if (status == 429)
    reply.headers.emplace_back("retry-after", "1");
  return reply;
}

HttpReply error_reply(const Error& error) {
  return error_reply(status_of(error), error.message);
}

tl::unexpected<Error> fail_with(int status, std::string message) {
  return fail(Error{.code = errc_from_http_status(status),
                    .message = std::move(message),
                    .category = status < 500 ? ErrorCategory::user : ErrorCategory::server,
                    .http_status = status});
}

} // namespace tinkaf::server
