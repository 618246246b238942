// Where errors go.
#pragma once

#include <string>

namespace palpate
{
/// Keeps an error for lastError() and tells the callback.
void fail(const std::string& message);
}  // namespace palpate
