// What the files of this module share: the activities. guest-sdk/conformance/README.md says what each does.
#ifndef CONFORMANCE_HPP
#define CONFORMANCE_HPP

#include "reprise.hpp"

reprise::result<std::int64_t> twice(std::int64_t v); // named double to the host
reprise::result<reprise::bytes> echo(reprise::bytes input);
reprise::result<std::string> repeat(std::size_t n);
reprise::result<std::size_t> length(std::string text);
reprise::task<reprise::json> hang();
reprise::result<reprise::json> decline(std::string message);
reprise::result<int> flaky();

#endif
