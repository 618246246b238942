// Every option of the command line: what it means, where it counts, and what was probably meant.
#include "lab.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace lab
{
namespace
{
struct Option
{
	const char* name;
	const char* value;    // what follows; null: nothing has to
	const char* text;     // with its default
};

/// Options that are told together.
struct Group
{
	unsigned where;       // Experiment
	const char* title;
	std::vector<Option> options;
};

const std::vector<Group>& groups()
{
	static const std::vector<Group> all = {
		{BALL,
		 "ball: a sphere of radius 0.5 m dropped and let bounce, from one height or many (Table 1 of the 2014 paper)",
		 {{"shape", "sphere|KIND", "Bullet's own sphere, or one of KIND made of triangles; sphere"},
		  {"ground", "GROUND", "what it falls on; box"},
		  {"rate", "HZ", "steps a second; 200"},
		  {"restitution", "E", "of both [1]; 0.5"},
		  {"from", "METRES", "lowest drop height; 1"},
		  {"to", "METRES", "highest drop height; as --from"},
		  {"count", "N", "heights between them; 101, or 1 where they are the same"},
		  {"divisions", "N", "of an edge of the octahedron the triangles are made from; 100"},
		  {"each", nullptr, "a line for each height, besides the summary"},
		  {"trace", nullptr, "a line for each step"}}},
		{DROP,
		 "drop: a mesh dropped in random rotations, and what its contacts cost (Figures 8 to 10)",
		 {{"mesh", "FILE.obj", "what falls; bunny.obj"},
		  {"scale", "FACTOR", "of the mesh [1]; 1.7354, which gives the scanned bunny the inertia of the paper"},
		  {"shape", "KIND", "what Bullet is given; hull42"},
		  {"ground", "GROUND", "what it falls on; box"},
		  {"rate", "HZ", "steps a second; 500"},
		  {"rotations", "N", "how often; 10"},
		  {"steps", "N", "of each fall; 600"},
		  {"first", "STEP", "where times begin to count; 200"},
		  {"height", "METRES", "of the lowest point at the start; 0.5"},
		  {"mass", "KG", "1"},
		  {"friction", "MU", "[1]; 0.5"},
		  {"restitution", "E", "[1]; 0"},
		  {"seed", "N", "of the rotations; 1"},
		  {"csv", "FILE", "a line for each step"}}},
		{SCENE,
		 "scene: bodies of a file; README.md has the format",
		 {{"file", "SCENE", "needed"},
		  {"poses", "FILE.csv", "where every body is in each step"},
		  {"binary", "FILE", "the same as little-endian f32"},
		  {"every", "N", "keep every Nth step in both; 1"},
		  {"stream", nullptr, "write steps to standard output instead of a summary, as lab/lab.h says"},
		  {"listen", nullptr, "take each step only when standard input says so, with pushes and places, as lab/lab.h says"},
		  {"pressed", nullptr, "for bodies pressed with many times their weight: no speed from depth, friction beside each normal"},
		  {"iterations", "N", "of the solver; Bullet's 10, or 50 with --pressed"}}},
		{BALL | DROP | SCENE | BODY,
		 "all, also as keys of a body in a scene: what a part is made of",
		 {{"margin", "METRES", "of Bullet's shapes; 0.001"},
		  {"hulls", "FILE.obj", "the hulls of KIND hulls, one group each"},
		  {"resolution", "N", "ours: voxels along the largest extent; 128"},
		  {"voxel", "METRES", "ours: edge of a voxel, instead of --resolution"},
		  {"spacing", "METRES", "ours: distance between points; two voxels"},
		  {"cluster", "K", "ours: points of a cluster of the tree, 2 to 64; 8"}}},
		{BALL | DROP | SCENE,
		 "all: contacts of our parts (palpate/bullet.h says more)",
		 {{"choice", "HOW", "patches, regular or segmented; patches"},
		  {"manifolds", "N", "of patches: manifolds of a pair at most; 8"},
		  {"level", "L", "of segmented: level of the tree, 1 being its root; 1"},
		  {"threshold", "METRES", "how far outside points are told; a 200th of the smaller radius"},
		  {"spread", "METRES", "how much farther than the nearest a point can be chosen; a 100th of the radius"},
		  {"depenetration", "M/S", "how fast bodies in overlap are pushed apart at most; 3, 0: no limit"},
		  {"both", nullptr, "ask both parts for points, where both have some"},
		  {"budget-points", "N", "points and balls tested for a pair in a step; 0: all that are needed"},
		  {"budget-micros", "US", "time of a pair in a step; 0: as long as needed"},
		  {"static-voxel", "METRES", "edge of a voxel of static meshes; a 200th of the largest extent"},
		  {"static-thickness", "METRES", "how far below its front a static sheet is solid; a 20th of that"}}},
	};
	return all;
}

const char* const EXPERIMENTS[] = {"ball", "drop", "scene"};

/// Letters to add, leave out or change to make one word of another.
std::size_t edits(const std::string& a, const std::string& b)
{
	std::vector<std::size_t> row(b.size() + 1);
	for (std::size_t j = 0; j <= b.size(); j++)
		row[j] = j;
	for (std::size_t i = 1; i <= a.size(); i++)
	{
		std::size_t corner = row[0];
		row[0] = i;
		for (std::size_t j = 1; j <= b.size(); j++)
		{
			const std::size_t changed = corner + (a[i - 1] != b[j - 1]);
			corner = row[j];
			row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
		}
	}
	return row[b.size()];
}

/// The known word that is most like another, or empty if none is: a third of its letters may differ, or its beginning is all there is.
std::string nearest(const std::string& word, const std::vector<std::string>& known)
{
	std::string best;
	std::size_t least = word.size() / 3 + 1;
	for (const std::string& one : known)
	{
		const bool begins = word.size() >= 3 && one.compare(0, word.size(), word) == 0;
		const std::size_t far = begins ? 1 : edits(word, one);
		if (far < least || (far == least && best.empty()))
		{
			least = far;
			best = one;
		}
	}
	return best;
}

std::vector<std::string> names(unsigned where)
{
	std::vector<std::string> all;
	for (const Group& group : groups())
		if (group.where & where)
			for (const Option& option : group.options)
				all.emplace_back(option.name);
	return all;
}

/// The option of this name there, or null.
const Option* known(const std::string& name, unsigned where)
{
	for (const Group& group : groups())
		if (group.where & where)
			for (const Option& option : group.options)
				if (name == option.name)
					return &option;
	return nullptr;
}

const std::string SEE_HELP = "`palpate-bullet help` lists them all";

std::string unknown(const std::string& name, unsigned where)
{
	const std::string dashes = where == BODY ? "" : "--";
	const std::string word = dashes + name, here = where == BODY ? "a body" : experimentName(where);
	if (known(name, ~0u))
	{
		std::string owners;
		for (const Group& group : groups())
			for (const Option& option : group.options)
				if (name == option.name)
					for (unsigned i = 0; i < 3; i++)
						if (group.where >> i & 1)
							owners += std::string(owners.empty() ? "" : " and ") + EXPERIMENTS[i];
		return word + " is an option of " + owners + ", not of " + here + "; " + SEE_HELP;
	}
	const std::string meant = nearest(name, names(where));
	const std::string no_option = here + " has no option " + word;
	return no_option + (meant.empty() ? "; " + SEE_HELP : ": did you mean " + dashes + meant + "? " + SEE_HELP);
}
}  // namespace

Args::Args(unsigned where, const std::vector<std::string>& words)
{
	for (std::size_t i = 0; i < words.size(); i++)
	{
		const std::string& word = words[i];
		if (word.compare(0, 2, "--") != 0)
			throw std::runtime_error("'" + word + "' is not an option: options are --key value; " + SEE_HELP);
		const std::string name = word.substr(2);
		const Option* option = known(name, where);
		if (!option)
			throw std::runtime_error(unknown(name, where));
		const bool has_value = i + 1 < words.size() && words[i + 1].compare(0, 2, "--") != 0;
		if (!has_value && option->value)
			throw std::runtime_error(word + " needs a value: " + word + " " + option->value + ", " + option->text);
		m_values[name] = has_value ? words[++i] : "1";
	}
}

const std::string* Args::find(const std::string& key) const
{
	if (!known(key, ~0u))
		throw std::logic_error("--" + key + " is read, but not in the table of options");
	const auto found = m_values.find(key);
	return found == m_values.end() ? nullptr : &found->second;
}

std::string Args::text(const std::string& key, const std::string& otherwise) const
{
	const std::string* found = find(key);
	return found ? *found : otherwise;
}

double Args::number(const std::string& key, double otherwise) const
{
	const std::string* found = find(key);
	if (!found)
		return otherwise;
	char* end = nullptr;
	const double value = std::strtod(found->c_str(), &end);
	if (end == found->c_str() || *end != '\0' || !std::isfinite(value))
		throw std::runtime_error("--" + key + " needs a number, not '" + *found + "'");
	return value;
}

unsigned experiment(const std::string& name)
{
	for (unsigned i = 0; i < 3; i++)
		if (name == EXPERIMENTS[i])
			return 1u << i;
	const std::string meant = nearest(name, {std::begin(EXPERIMENTS), std::end(EXPERIMENTS)});
	throw std::runtime_error("no experiment is called " + name + "; there are: ball drop scene" +
							 (meant.empty() ? "" : "; did you mean " + meant + "?"));
}

std::string experimentName(unsigned where)
{
	for (unsigned i = 0; i < 3; i++)
		if (where == 1u << i)
			return EXPERIMENTS[i];
	return "palpate-bullet";
}

std::string help()
{
	std::string text =
		"palpate-bullet EXPERIMENT [--option value]...\n"
		"  Experiments in Bullet, with its own shapes and with palpate's. Results are lines of JSON on standard output; exit code 0: done,\n"
		"  2: bad input. Lengths in metres; z is up; the ground's top is at height 0. Of an option is told what follows it, what it does,\n"
		"  and what holds without it.\n"
		"\n"
		"  palpate-bullet ball --shape mixed --voxel 0.01 --from 0.95 --to 1.05\n"
		"  palpate-bullet drop --mesh bunny.obj --shape mixed --ground terrain --rotations 3\n"
		"  palpate-bullet scene --file nut.scene --poses nut.csv --every 4\n";
	std::size_t wide = 0;
	for (const Group& group : groups())
		for (const Option& option : group.options)
			wide = std::max(wide, std::strlen(option.name) + (option.value ? std::strlen(option.value) + 1 : 0));
	for (const Group& group : groups())
	{
		text += "\n" + std::string(group.title) + "\n";
		for (const Option& option : group.options)
		{
			std::string left = option.name + (option.value ? std::string(" ") + option.value : "");
			left.resize(wide + 2, ' ');
			text += "  --" + left + option.text + "\n";
		}
	}
	const std::string ours = pluginKinds();
	return text +
		   "\nKIND\n"
		   "  Bullet's: hull (of all vertices), hull42 (of 42 of them), hulls (of --hulls), gimpact, static (triangles that do not move)\n"
		   "  ours:    " + ours + "\n"
		   "GROUND\n"
		   "  plane, box, mesh2 (two triangles), mesh20k (flat, 20,000), terrain (hills, 20,000)\n";
}
}  // namespace lab
