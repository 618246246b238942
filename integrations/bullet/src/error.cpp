#include "error.h"

#include "palpate/bullet.h"

#include <mutex>

namespace palpate
{
namespace
{
struct Errors
{
	std::mutex lock;
	std::string last;
	void (*callback)(const char*, void*) = nullptr;
	void* user = nullptr;
};

Errors& errors()
{
	static Errors all;
	return all;
}
}  // namespace

void fail(const std::string& message)
{
	void (*callback)(const char*, void*);
	void* user;
	{
		Errors& all = errors();
		std::lock_guard<std::mutex> guard(all.lock);
		all.last = message;
		callback = all.callback;
		user = all.user;
	}
	if (callback)
		callback(message.c_str(), user);
}

std::string lastError()
{
	Errors& all = errors();
	std::lock_guard<std::mutex> guard(all.lock);
	return all.last;
}

void setErrorCallback(void (*callback)(const char* message, void* user), void* user)
{
	Errors& all = errors();
	std::lock_guard<std::mutex> guard(all.lock);
	all.callback = callback;
	all.user = user;
}
}  // namespace palpate
