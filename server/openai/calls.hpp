// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"

// OpenAI's calls, below `/oai/api/v1/`: for programs that evaluate models through that API. They
// draw from a sampler checkpoint or a base model, without a session, and nothing of them is kept.

namespace tinkaf::server {

class ServiceCore;

namespace openai {

void completions(ServiceCore& core, const HttpCall& call, const Responder& responder);
void chat_completions(ServiceCore& core, const HttpCall& call, const Responder& responder);

/// The base models.
HttpReply models(ServiceCore& core, const HttpCall& call);

} // namespace openai

} // namespace tinkaf::server
