#include "lab.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lab
{
double Mesh::volume(btVector3& centre) const
{
	double six = 0, sum[3] = {0, 0, 0};
	for (std::size_t i = 0; i + 2 < corners.size(); i += 3)
	{
		const btVector3 &a = vertices[corners[i]], &b = vertices[corners[i + 1]], &c = vertices[corners[i + 2]];
		const double part = a.dot(b.cross(c));
		six += part;
		for (int k = 0; k < 3; k++)
			sum[k] += part * (a[k] + b[k] + c[k]) / 4;
	}
	centre = btVector3(btScalar(sum[0] / six), btScalar(sum[1] / six), btScalar(sum[2] / six));
	return six / 6;
}

Mass Mesh::mass() const
{
	btVector3 centre;
	const double volume = this->volume(centre);
	// Second moments about the centre, tetrahedron by tetrahedron.
	double second[3][3] = {};
	for (std::size_t i = 0; i + 2 < corners.size(); i += 3)
	{
		const btVector3 p[3] = {vertices[corners[i]] - centre, vertices[corners[i + 1]] - centre, vertices[corners[i + 2]] - centre};
		const double six = p[0].dot(p[1].cross(p[2]));
		for (int r = 0; r < 3; r++)
			for (int c = 0; c < 3; c++)
			{
				const double sr = p[0][r] + p[1][r] + p[2][r], sc = p[0][c] + p[1][c] + p[2][c];
				const double own = p[0][r] * p[0][c] + p[1][r] * p[1][c] + p[2][r] * p[2][c];
				second[r][c] += six * (sr * sc + own) / 120;
			}
	}
	const double trace = second[0][0] + second[1][1] + second[2][2];
	btMatrix3x3 inertia;
	for (int r = 0; r < 3; r++)
		for (int c = 0; c < 3; c++)
			inertia[r][c] = btScalar(((r == c ? trace : 0) - second[r][c]) / volume);
	btMatrix3x3 rotation;
	inertia.diagonalize(rotation, btScalar(1e-6), 50);
	Mass mass;
	mass.file_from_principal = btTransform(rotation, centre);
	mass.principal = btVector3(inertia[0][0], inertia[1][1], inertia[2][2]);
	return mass;
}

void Mesh::place(const btVector3& centre, btScalar scale)
{
	for (btVector3& p : vertices)
		p = (p - centre) * scale;
}

btScalar Mesh::lowest(const btTransform& w_from_body) const
{
	const btVector3 row = w_from_body.getBasis()[2];
	btScalar least = BT_LARGE_FLOAT;
	for (const btVector3& p : vertices)
		least = std::min(least, row.dot(p));
	return least + w_from_body.getOrigin().z();
}

std::vector<Mesh> loadObj(const std::string& path)
{
	std::ifstream file(path);
	if (!file)
		throw std::runtime_error(path + ": cannot be opened");
	std::vector<btVector3> all;
	std::vector<Mesh> groups(1);
	std::vector<std::map<int, int>> own(1);
	std::string line, word;
	while (std::getline(file, line))
	{
		std::istringstream words(line);
		words >> word;
		if (!words && word.empty())
			continue;
		if (word == "v")
		{
			double x, y, z;
			if (!(words >> x >> y >> z))
				throw std::runtime_error(path + ": a vertex is not three numbers: " + line);
			all.emplace_back(btScalar(x), btScalar(y), btScalar(z));
		}
		else if ((word == "g" || word == "o") && !groups.back().corners.empty())
		{
			groups.emplace_back();
			own.emplace_back();
		}
		else if (word == "f")
		{
			std::vector<int> face;
			while (words >> word)
			{
				long index = std::strtol(word.c_str(), nullptr, 10);
				index = index < 0 ? long(all.size()) + index : index - 1;
				if (index < 0 || index >= long(all.size()))
					throw std::runtime_error(path + ": a face uses a vertex that is not there: " + line);
				auto& map = own.back();
				const auto at = map.emplace(int(index), int(groups.back().vertices.size()));
				if (at.second)
					groups.back().vertices.push_back(all[index]);
				face.push_back(at.first->second);
			}
			for (std::size_t k = 2; k < face.size(); k++)
				groups.back().corners.insert(groups.back().corners.end(), {face[0], face[k - 1], face[k]});
		}
		word.clear();
	}
	if (groups.back().corners.empty())
		groups.pop_back();
	if (groups.empty())
		throw std::runtime_error(path + ": has no faces");
	return groups;
}

Mesh loadMesh(const std::string& path)
{
	Mesh all;
	for (const Mesh& group : loadObj(path))
	{
		const int first = int(all.vertices.size());
		all.vertices.insert(all.vertices.end(), group.vertices.begin(), group.vertices.end());
		for (int corner : group.corners)
			all.corners.push_back(first + corner);
	}
	return all;
}

double Random::uniform()
{
	// splitmix64
	std::uint64_t z = (m_state += 0x9E3779B97F4A7C15ull);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return double((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

btQuaternion Random::rotation()
{
	// Shoemake: uniform over all rotations.
	const double u = uniform(), v = uniform() * SIMD_2_PI, w = uniform() * SIMD_2_PI;
	const double a = std::sqrt(1 - u), b = std::sqrt(u);
	return btQuaternion(btScalar(a * std::sin(v)), btScalar(a * std::cos(v)), btScalar(b * std::sin(w)), btScalar(b * std::cos(w)));
}

double quantile(std::vector<double>& values, double share)
{
	if (values.empty())
		return 0;
	std::sort(values.begin(), values.end());
	return values[std::min(values.size() - 1, std::size_t(share * double(values.size())))];
}

double mean(const std::vector<double>& values)
{
	double sum = 0;
	for (double value : values)
		sum += value;
	return values.empty() ? 0 : sum / double(values.size());
}

World::World(const Args& args, double gravity)
	: dispatcher(&configuration), world(&dispatcher, &broadphase, &solver, &configuration)
{
	btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
	registerPlugin(dispatcher, args);
	world.setGravity(btVector3(0, 0, btScalar(-gravity)));
}

World::~World()
{
	for (auto& body : bodies)
		world.removeRigidBody(body.get());
}

btRigidBody* World::add(btCollisionShape* shape, const btTransform& pose, double mass, const btVector3& inertia, double friction,
						double restitution)
{
	btRigidBody::btRigidBodyConstructionInfo info(btScalar(mass), nullptr, shape, inertia);
	info.m_startWorldTransform = pose;
	info.m_friction = btScalar(friction);
	info.m_restitution = btScalar(restitution);
	bodies.emplace_back(new btRigidBody(info));
	bodies.back()->setActivationState(DISABLE_DEACTIVATION);
	world.addRigidBody(bodies.back().get());
	return bodies.back().get();
}

int World::contacts() const
{
	int count = 0;
	for (int i = 0; i < dispatcher.getNumManifolds(); i++)
		count += const_cast<TimedDispatcher&>(dispatcher).getManifoldByIndexInternal(i)->getNumContacts();
	return count;
}

double World::depth() const
{
	double depth = 0;
	for (int i = 0; i < dispatcher.getNumManifolds(); i++)
	{
		const btPersistentManifold* manifold = const_cast<TimedDispatcher&>(dispatcher).getManifoldByIndexInternal(i);
		for (int k = 0; k < manifold->getNumContacts(); k++)
			depth = std::max(depth, -double(manifold->getContactPoint(k).getDistance()));
	}
	return depth;
}
}  // namespace lab
