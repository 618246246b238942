// What the experiments share: command line, meshes, worlds, timed narrow phase, parts by name.
//
// Metres, kilograms, seconds; z is up; the ground's surface is z = 0.
#pragma once

#include <btBulletDynamicsCommon.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lab
{
/// Where an option counts; several together.
enum Experiment : unsigned
{
	BALL = 1,
	DROP = 2,
	SCENE = 4,
	BODY = 8  // a body of a scene's file
};
/// The experiment of this name. Throws std::runtime_error with those there are.
unsigned experiment(const std::string& name);
std::string experimentName(unsigned where);
/// What `palpate-bullet help` prints: every experiment and option.
std::string help();

/// `--key value` pairs of a command line: options.cpp has the table of them all.
class Args
{
public:
	/// Throws std::runtime_error with a reason, and what was probably meant, for an option that does not count there.
	Args(unsigned where, const std::vector<std::string>& words);
	std::string text(const std::string& key, const std::string& otherwise) const;
	double number(const std::string& key, double otherwise) const;
	bool has(const std::string& key) const { return find(key) != nullptr; }
	/// Takes what others say where this says nothing.
	void fill(const Args& others) { m_values.insert(others.m_values.begin(), others.m_values.end()); }

private:
	const std::string* find(const std::string& key) const;
	std::map<std::string, std::string> m_values;
};

/// Of a closed mesh with uniform density.
struct Mass
{
	btTransform file_from_principal;  // origin at the centre of mass, axes along the principal ones
	btVector3 principal;              // moments of inertia for 1 kg [m2]
};

/// A triangle mesh, or one group of an OBJ file.
struct Mesh
{
	std::vector<btVector3> vertices;
	std::vector<int> corners;  // three a triangle

	/// Volume [m3] and its centre [m] of a closed mesh.
	double volume(btVector3& centre) const;
	Mass mass() const;
	/// Moves and scales: p -> (p - centre) * scale.
	void place(const btVector3& centre, btScalar scale);
	/// The least z of a vertex under a pose [m].
	btScalar lowest(const btTransform& w_from_body) const;
};

/// The groups of an OBJ file: one mesh for each `g` or `o` that has faces. Throws std::runtime_error with the file's name.
std::vector<Mesh> loadObj(const std::string& path);
/// All groups of an OBJ file in one mesh.
Mesh loadMesh(const std::string& path);

/// Shapes with everything they refer to; destroyed in reverse order.
class Keep
{
public:
	template <typename T>
	T* own(T* thing)
	{
		m_things.emplace_back(thing, [](void* p) { delete static_cast<T*>(p); });
		return thing;
	}
	~Keep()
	{
		while (!m_things.empty())
			m_things.pop_back();
	}
	Keep() = default;
	Keep(const Keep&) = delete;
	Keep& operator=(const Keep&) = delete;

private:
	std::vector<std::shared_ptr<void>> m_things;
};

/// Times what the narrow phase takes.
class TimedDispatcher : public btCollisionDispatcher
{
public:
	using btCollisionDispatcher::btCollisionDispatcher;
	void dispatchAllCollisionPairs(btOverlappingPairCache* pairs, const btDispatcherInfo& info, btDispatcher* dispatcher) override
	{
		const auto begin = std::chrono::steady_clock::now();
		btCollisionDispatcher::dispatchAllCollisionPairs(pairs, info, dispatcher);
		micros = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
	}
	double micros = 0;  // of the last step
};

/// A stock dynamics world with a timed dispatcher; plug-ins registered.
struct World
{
	explicit World(const Args& args, double gravity);
	~World();
	World(const World&) = delete;
	World& operator=(const World&) = delete;

	/// Adds a body; mass 0 is static. The body never sleeps.
	btRigidBody* add(btCollisionShape* shape, const btTransform& pose, double mass, const btVector3& inertia, double friction, double restitution);
	/// One step of exactly this length.
	void step(double seconds) { world.stepSimulation(btScalar(seconds), 0); }
	/// Live contact points.
	int contacts() const;
	/// Deepest point now, as a positive depth [m].
	double depth() const;

	btDefaultCollisionConfiguration configuration;
	TimedDispatcher dispatcher;
	btDbvtBroadphase broadphase;
	btSequentialImpulseConstraintSolver solver;
	btDiscreteDynamicsWorld world;
	std::vector<std::unique_ptr<btRigidBody>> bodies;
};

/// A ground of this name with its surface at z = 0: plane, box, mesh2, mesh20k (flat, 4 cm), terrain (bumps, 20,000 triangles).
btCollisionShape* ground(const std::string& name, const Args& args, Keep& keep, btTransform& pose);

/// A body's shape of this kind from a mesh: hull, hull42, hulls (groups of `--hulls FILE`), gimpact, static, and ours.
/// `mesh` is centred already; `move` takes a point of the file to it. `args` gives margins and resolutions.
btCollisionShape* part(const std::string& kind, const Mesh& mesh, const std::function<btVector3(const btVector3&)>& move, const Args& args,
					   Keep& keep);

/// Writes a step to standard output, numbers as f64: times of the step and of the narrow phase [us], greatest depth [m]; position,
/// rotation (x y z w), velocity of the centre of mass and spin of each body; number of contacts, and of each the point, the push on the
/// later body, the depth (positive inside) and the two bodies. False when nobody reads.
bool stream(const World& world, const std::vector<btTransform>& body_from_file, double step_micros);

/// Orders from standard input, numbers as f64: 0 steps; 1, a body, force and torque about its centre of mass push it in every step from then
/// on; 2, a body, position and rotation (x y z w) of the file's frame put it there, at rest. First the number of bodies is told, once the scene is built.
class Orders
{
public:
	explicit Orders(std::size_t bodies) : m_push(bodies, {btVector3(0, 0, 0), btVector3(0, 0, 0)}) {}
	/// Says that the scene is built, by its number of bodies. False when nobody reads.
	bool ready() const;
	/// Does what it is told until it is to step, and pushes bodies for that step. False when nobody speaks any more; throws at what is no order.
	bool next(World& world, const std::vector<btTransform>& body_from_file);

private:
	std::vector<std::pair<btVector3, btVector3>> m_push;
};

/// Registers palpate with a dispatcher, with the options of the command line.
void registerPlugin(btCollisionDispatcher& dispatcher, const Args& args);
/// A shape of ours of this kind, or null where the kind is not ours.
btCollisionShape* pluginPart(const std::string& kind, const Mesh& mesh, const Args& args, Keep& keep);
/// A shape of ours from a .palp file: for a mass its centre is the body's origin, and `inertia` is for 1 kg.
btCollisionShape* pluginFile(const std::string& path, bool moves, Keep& keep, btTransform& body_from_file, btVector3& inertia);
/// The points a shape of ours is made of, in its frame; the vertices of the mesh for other shapes.
std::vector<btVector3> shellPoints(const btCollisionShape* shape, const Mesh& mesh);
/// The names of our kinds, each with a space before it.
std::string pluginKinds();

/// Numbers with a fixed seed: uniform in [0, 1), and rotations.
class Random
{
public:
	explicit Random(std::uint64_t seed) : m_state(seed * 0x9E3779B97F4A7C15ull + 0x632BE59BD9B4E019ull) {}
	double uniform();
	btQuaternion rotation();

private:
	std::uint64_t m_state;
};

/// Value below which this share of the numbers is; sorts them.
double quantile(std::vector<double>& values, double share);
double mean(const std::vector<double>& values);

int ball(const Args& args);
int drop(const Args& args);
int scene(const Args& args);
}  // namespace lab
