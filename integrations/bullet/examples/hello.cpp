// A gear falls on a box, a torus knot on hills: detailed parts among Bullet's own shapes.
#include <btBulletDynamicsCommon.h>
#include <BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h>
#include <palpate/bullet.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

int main()
{
	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher(&configuration);
	btDbvtBroadphase broadphase;
	btSequentialImpulseConstraintSolver solver;
	btDiscreteDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
	world.setGravity(btVector3(0, 0, btScalar(-9.81)));
	palpate::registerWith(dispatcher);  // the one call

	// The ground: a box, and beside it hills of 41 x 41 heights, 2 cm apart.
	btBoxShape box(btVector3(btScalar(0.4), btScalar(0.4), btScalar(0.1)));
	std::vector<btScalar> heights;
	for (int j = 0; j < 41; j++)
		for (int i = 0; i < 41; i++)
			heights.push_back(btScalar(0.02 * std::sin(0.3 * i) * std::cos(0.25 * j)));
	btHeightfieldTerrainShape hills(41, 41, heights.data(), 1, btScalar(-0.02), btScalar(0.02), 2, PHY_FLOAT, false);
	hills.setLocalScaling(btVector3(btScalar(0.02), btScalar(0.02), 1));
	if (!palpate::prepareStatic(hills, 0.005, 0.05))
		return std::printf("%s\n", palpate::lastError().c_str()), 1;

	std::vector<std::unique_ptr<btCollisionShape>> shapes;
	std::vector<std::unique_ptr<btRigidBody>> bodies;
	auto add = [&](btCollisionShape* shape, const btVector3& at, btScalar mass) {
		btVector3 inertia(0, 0, 0);
		if (mass > 0)
			shape->calculateLocalInertia(mass, inertia);
		btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shape, inertia);
		info.m_startWorldTransform.setOrigin(at);
		bodies.emplace_back(new btRigidBody(info));
		world.addRigidBody(bodies.back().get());
		return bodies.back().get();
	};
	auto part = [&](const char* name, const btVector3& at) -> btRigidBody* {
		palpate::BuildParams how;
		how.resolution = 96;
		palpate::Data::Ptr data = palpate::Data::sample(name, how);
		if (!data)
			return nullptr;
		shapes.emplace_back(new palpate::MixedShape(data, palpate::massFrame(*data).body_from_data));
		return add(shapes.back().get(), at, btScalar(0.2));
	};
	add(&box, btVector3(-1, 0, btScalar(-0.1)), 0);
	add(&hills, btVector3(1, 0, 0), 0);
	btRigidBody* gear = part("gear", btVector3(-1, 0, btScalar(0.2)));
	btRigidBody* knot = part("torus-knot", btVector3(1, 0, btScalar(0.2)));
	if (!gear || !knot)
		return std::printf("%s\n", palpate::lastError().c_str()), 1;

	for (int step = 0; step < 480; step++)
	{
		world.stepSimulation(btScalar(1.0 / 240), 0);
		if (step % 80 == 79)
			std::printf("%.2f s  gear at %+.4f m  knot at %+.4f m\n", (step + 1) / 240.0, double(gear->getWorldTransform().getOrigin().z()),
						double(knot->getWorldTransform().getOrigin().z()));
	}
	const bool lie = gear->getWorldTransform().getOrigin().z() > 0 && knot->getWorldTransform().getOrigin().z() > btScalar(-0.02);
	for (auto& body : bodies)
		world.removeRigidBody(body.get());
	return lie ? 0 : 1;
}
