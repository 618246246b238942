// What the tests share: checks that count, a world, simple parts.
#pragma once

#include <btBulletDynamicsCommon.h>
#include <palpate/bullet.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

static int failures = 0;

#define CHECK(condition, ...)                                                                      \
	do                                                                                             \
	{                                                                                              \
		if (!(condition))                                                                          \
		{                                                                                          \
			std::fprintf(stderr, "%s:%d: %s is not so: ", __FILE__, __LINE__, #condition);         \
			std::fprintf(stderr, __VA_ARGS__);                                                     \
			std::fprintf(stderr, "\n");                                                            \
			failures++;                                                                            \
		}                                                                                          \
	} while (0)

/// A stock world that knows our shapes; z is up.
struct World
{
	explicit World(const palpate::Options& options = palpate::Options())
		: dispatcher(&configuration), world(&dispatcher, &broadphase, &solver, &configuration)
	{
		palpate::registerWith(dispatcher, options);
		world.setGravity(btVector3(0, 0, btScalar(-9.81)));
	}
	~World()
	{
		for (auto& body : bodies)
			world.removeRigidBody(body.get());
	}
	World(const World&) = delete;
	World& operator=(const World&) = delete;

	btRigidBody* add(btCollisionShape* shape, const btVector3& at, double mass, double restitution = 0,
					 const btQuaternion& rotation = btQuaternion::getIdentity())
	{
		btVector3 inertia(0, 0, 0);
		if (mass > 0)
			shape->calculateLocalInertia(btScalar(mass), inertia);
		btRigidBody::btRigidBodyConstructionInfo info(btScalar(mass), nullptr, shape, inertia);
		info.m_startWorldTransform = btTransform(rotation, at);
		info.m_restitution = btScalar(restitution);
		info.m_rollingFriction = btScalar(0.01);
		bodies.emplace_back(new btRigidBody(info));
		bodies.back()->setActivationState(DISABLE_DEACTIVATION);
		world.addRigidBody(bodies.back().get());
		return bodies.back().get();
	}
	void run(double seconds, double rate = 240)
	{
		for (int i = 0; i < int(seconds * rate); i++)
			world.stepSimulation(btScalar(1 / rate), 0);
	}
	int contacts()
	{
		int count = 0;
		for (int i = 0; i < dispatcher.getNumManifolds(); i++)
			count += dispatcher.getManifoldByIndexInternal(i)->getNumContacts();
		return count;
	}

	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher;
	btDbvtBroadphase broadphase;
	btSequentialImpulseConstraintSolver solver;
	btDiscreteDynamicsWorld world;
	std::vector<std::unique_ptr<btRigidBody>> bodies;
};

/// A box of these half extents about the origin.
inline palpate::Data::Ptr cuboid(double x, double y, double z, double voxel, double spacing = 0)
{
	std::vector<double> positions;
	for (int i = 0; i < 8; i++)
		positions.insert(positions.end(), {i & 1 ? x : -x, i & 2 ? y : -y, i & 4 ? z : -z});
	const std::vector<std::uint32_t> triangles = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
												  2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
	palpate::BuildParams params;
	params.voxel = voxel;
	params.spacing = spacing;
	palpate::Data::Ptr data = palpate::Data::fromMesh(positions.data(), 8, triangles.data(), 12, params);
	if (!data)
	{
		std::fprintf(stderr, "a cuboid cannot be built: %s\n", palpate::lastError().c_str());
		std::exit(1);
	}
	return data;
}

inline palpate::Data::Ptr sample(const char* name, std::uint32_t resolution)
{
	palpate::BuildParams params;
	params.resolution = resolution;
	palpate::Data::Ptr data = palpate::Data::sample(name, params);
	if (!data)
	{
		std::fprintf(stderr, "%s cannot be built: %s\n", name, palpate::lastError().c_str());
		std::exit(1);
	}
	return data;
}

inline int finish(const char* name)
{
	std::printf("%s: %d failed\n", name, failures);
	return failures == 0 ? 0 : 1;
}
