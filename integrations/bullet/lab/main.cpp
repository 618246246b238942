// palpate-bullet: experiments with Bullet, its own shapes and ours. `palpate-bullet help` says how.
#include "lab.h"

#include <cstdio>
#include <cstring>
#include <exception>

namespace
{
const char* const HELP =
	"palpate-bullet EXPERIMENT [--key value]...   results as JSON lines on standard output\n"
	"\n"
	"  ball   --shape sphere|KIND --ground GROUND --rate 200 --restitution 0.5 --from 0.95 --to 1.05 --count 101 [--each] [--trace]\n"
	"  drop   --mesh FILE.obj --scale 1.7354 --shape KIND --ground GROUND --rate 500 --rotations 10 --steps 600 --seed 1 [--csv FILE]\n"
	"  scene  --file SCENE [--poses FILE.csv] [--binary FILE] [--stream] [--iterations N]  see README.md for the format of a scene\n"
	"\n"
	"KIND: hull hull42 hulls (with --hulls FILE.obj, one group a hull) gimpact static";
const char* const MORE =
	"\n"
	"GROUND: plane box mesh2 mesh20k terrain\n"
	"all: --margin 0.001 (of Bullet's shapes)\n"
	"ours: --resolution 128 or --voxel METRES, --spacing METRES, --cluster K, --choice patches|regular|segmented, --manifolds 8 or\n"
	"  --level L, --threshold METRES, --both, --budget-points N, --budget-micros US, --static-voxel, --static-thickness METRES\n";
}  // namespace

int main(int count, char** words)
{
	if (count < 2 || std::strcmp(words[1], "help") == 0 || std::strcmp(words[1], "--help") == 0)
	{
		std::printf("%s%s%s", HELP, lab::pluginKinds().c_str(), MORE);
		return count < 2 ? 2 : 0;
	}
	try
	{
		const lab::Args args(count - 2, words + 2);
		const std::string name = words[1];
		if (name == "ball")
			return lab::ball(args);
		if (name == "drop")
			return lab::drop(args);
		if (name == "scene")
			return lab::scene(args);
		std::fprintf(stderr, "no experiment is called %s; there are: ball drop scene\n", words[1]);
	}
	catch (const std::exception& error)
	{
		std::fprintf(stderr, "palpate-bullet: %s\n", error.what());
	}
	return 2;
}
