// What palpate-bullet says: its help, and what it makes of options it does not know. The program is the first argument.
#include "check.h"

#include <sys/wait.h>

namespace
{
std::string program;

/// Exit code, and what was said on both channels.
int run(const std::string& words, std::string& said)
{
	said.clear();
	std::FILE* pipe = popen(("'" + program + "' " + words + " 2>&1").c_str(), "r");
	if (!pipe)
		return -1;
	char part[256];
	while (std::fgets(part, sizeof part, pipe))
		said += part;
	const int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Refused, with each of these words in the reason, on one line.
void refused(const std::string& words, const std::vector<std::string>& says)
{
	std::string said;
	const int code = run(words, said);
	CHECK(code == 2, "%s: exit code %d", words.c_str(), code);
	for (const std::string& say : says)
		CHECK(said.find(say) != std::string::npos, "%s: '%s' is not in: %s", words.c_str(), say.c_str(), said.c_str());
	CHECK(!said.empty() && said.find('\n') == said.size() - 1, "%s: %s", words.c_str(), said.c_str());
}
}  // namespace

int main(int count, char** words)
{
	if (count != 2)
		return 2;
	program = words[1];
	std::string help, said;
	CHECK(run("help", help) == 0, "%s", help.c_str());
	CHECK(run("--help", said) == 0 && said == help && run("drop --help", said) == 0 && said == help, "%s", said.c_str());
	CHECK(run("", said) == 2 && said == help, "%s", said.c_str());
	// One column for what options do; no line wider than a screen of 132.
	std::size_t column = 0, lines = 0, options = 0;
	for (std::size_t at = 0; at < help.size(); lines++)
	{
		const std::size_t end = help.find('\n', at);
		const std::string line = help.substr(at, end - at);
		CHECK(line.size() <= 132, "%zu letters: %s", line.size(), line.c_str());
		if (line.compare(0, 4, "  --") == 0)
		{
			const std::size_t text = line.find_first_not_of(' ', line.find("  ", 4));
			column = column ? column : text;
			CHECK(text == column, "%s", line.c_str());
			options++;
		}
		at = end + 1;
	}
	CHECK(options > 40, "%zu options", options);
	for (const char* option : {"spread", "depenetration", "every", "static-voxel", "iterations", "divisions", "first"})
		CHECK(help.find(std::string("  --") + option + " ") != std::string::npos, "--%s is not in the help", option);

	refused("drop --spraed 1", {"drop has no option --spraed", "did you mean --spread?"});
	refused("ball --budget 1", {"--budget-"});
	refused("scene --xyzzy 1", {"scene has no option --xyzzy", "help"});
	refused("ball --every 2", {"--every is an option of scene, not of ball"});
	refused("drop --rate", {"--rate needs a value", "HZ"});
	refused("drop --rate fast", {"--rate needs a number, not 'fast'"});
	refused("drop bunny.obj", {"'bunny.obj' is not an option"});
	refused("blal", {"no experiment is called blal", "did you mean ball?"});
	refused("scene --file there-is-no-such.scene", {"there-is-no-such.scene"});

	// Keys of bodies are options too, and named with their line.
	std::FILE* file = std::fopen("program-test.scene", "w");
	std::fputs("seconds 0.1\nbody floor\nkind plane 0 0 1 0\nresolutoin 32\n", file);
	std::fclose(file);
	refused("scene --file program-test.scene", {"program-test.scene:4: a body has no option resolutoin", "did you mean resolution?"});
	file = std::fopen("program-test.scene", "w");
	std::fputs("seconds 0.1\nbody floor\nkind plane 0 0 1 0\nmargin 0.01\nbody ball\nkind sphere 0.1\npose 0 0 1 0 0 0 1\nmass 1\n", file);
	std::fclose(file);
	CHECK(run("scene --file program-test.scene --every 2 --spread 0.01 --depenetration 1 --both", said) == 0, "%s", said.c_str());
	std::remove("program-test.scene");
	CHECK(run("ball --count 1 --rate 100", said) == 0 && said.compare(0, 1, "{") == 0, "%s", said.c_str());
	return finish("program");
}
