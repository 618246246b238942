// palpate-bullet: experiments with Bullet, its own shapes and ours. `palpate-bullet help` says how.
#include "lab.h"

#include <cstdio>
#include <exception>

int main(int count, char** words)
{
	const std::vector<std::string> given(words + 1, words + count);
	for (const std::string& word : given)
		if (word == "--help" || word == "-h" || (word == "help" && word == given[0]))
		{
			std::printf("%s", lab::help().c_str());
			return 0;
		}
	if (given.empty())
	{
		std::fprintf(stderr, "%s", lab::help().c_str());
		return 2;
	}
	try
	{
		const unsigned which = lab::experiment(given[0]);
		const lab::Args args(which, {given.begin() + 1, given.end()});
		switch (which)
		{
			case lab::BALL:
				return lab::ball(args);
			case lab::DROP:
				return lab::drop(args);
			default:
				return lab::scene(args);
		}
	}
	catch (const std::exception& error)
	{
		std::fprintf(stderr, "palpate-bullet: %s\n", error.what());
	}
	return 2;
}
