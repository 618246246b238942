// Each of Bullet's shapes on the other side: bodies come to rest where they should, in both orders, and can be asked about.
#include "check.h"

#include <BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>

namespace
{
/// A body of Bullet dropped on a slab of ours: where it rests, and how far it may be off.
void on_our_slab(const char* name, btCollisionShape* shape, btScalar rests_at, bool ours_first)
{
	static const palpate::Data::Ptr data = cuboid(0.5, 0.5, 0.1, 0.02);
	palpate::MixedShape slab(data);
	World world;
	if (ours_first)
		world.add(&slab, btVector3(0, 0, btScalar(-0.1)), 0);
	btRigidBody* body = world.add(shape, btVector3(btScalar(0.01), btScalar(0.013), rests_at + btScalar(0.05)), 1);
	if (!ours_first)
		world.add(&slab, btVector3(0, 0, btScalar(-0.1)), 0);
	double lowest = 1e9;
	for (int i = 0; i < 480; i++)
	{
		world.run(1.0 / 240);
		lowest = std::min(lowest, double(body->getWorldTransform().getOrigin().z()));
	}
	const double z = body->getWorldTransform().getOrigin().z();
	// The slab's points are 4 cm apart: a ball of 10 cm sinks 2 mm between them.
	CHECK(std::fabs(z - rests_at) < 3e-3, "%s rests at %g, not %g", name, z, double(rests_at));
	CHECK(lowest > rests_at - 0.004, "%s sank to %g", name, lowest);
	CHECK(body->getLinearVelocity().length() < 0.05, "%s moves at %g", name, double(body->getLinearVelocity().length()));
	CHECK(world.contacts() > 0, "%s", name);
}

/// A part of ours dropped on a static shape of Bullet whose surface is z = 0.
void our_part_on(const char* name, btCollisionShape* ground, const btVector3& at, bool ours_first)
{
	static const palpate::Data::Ptr data = cuboid(0.05, 0.06, 0.04, 0.005);
	palpate::MixedShape part(data);
	World world;
	btRigidBody* body = nullptr;
	const btVector3 start(btScalar(0.01), btScalar(0.02), btScalar(0.14));
	if (ours_first)
		body = world.add(&part, start, 1);
	world.add(ground, at, 0);
	if (!ours_first)
		body = world.add(&part, start, 1);
	double lowest = 1e9;
	for (int i = 0; i < 480; i++)
	{
		world.run(1.0 / 240);
		lowest = std::min(lowest, double(body->getWorldTransform().getOrigin().z()));
	}
	const double z = body->getWorldTransform().getOrigin().z();
	CHECK(std::fabs(z - 0.04) < 1e-3, "%s: rests at %g, not 0.04", name, z);
	CHECK(lowest > 0.038, "%s: sank to %g", name, lowest);
	CHECK(body->getLinearVelocity().length() < 0.01, "%s: moves at %g", name, double(body->getLinearVelocity().length()));
}

struct Asked : btCollisionWorld::ContactResultCallback
{
	int count = 0;
	btScalar least = 1;
	btVector3 normal{0, 0, 0};
	btScalar addSingleResult(btManifoldPoint& p, const btCollisionObjectWrapper* body0, int, int, const btCollisionObjectWrapper*, int,
							 int) override
	{
		count++;
		if (p.getDistance() < least)
		{
			least = p.getDistance();
			// On the second body of the two that are told, which need not be in the order that was asked.
			normal = p.m_normalWorldOnB * btScalar(body0->getCollisionObject()->isStaticObject() ? -1 : 1);
		}
		return 0;
	}
};

/// contactPairTest and contactTest, with a box and with a compound of a box.
void asking(btCollisionShape* other)
{
	const palpate::Data::Ptr data = cuboid(0.05, 0.05, 0.05, 0.01);
	palpate::MixedShape part(data);
	World world;
	btRigidBody* a = world.add(&part, btVector3(0, 0, btScalar(0.149)), 1);
	btRigidBody* b = world.add(other, btVector3(0, 0, 0), 0);
	Asked ab, ba, all;
	world.world.contactPairTest(a, b, ab);
	world.world.contactPairTest(b, a, ba);
	world.world.contactTest(a, all);
	CHECK(ab.count >= 3 && std::fabs(ab.least + btScalar(0.001)) < btScalar(2e-4), "%d contacts, deepest %g", ab.count, double(ab.least));
	CHECK(ba.count >= 3 && all.count >= 3, "%d and %d contacts", ba.count, all.count);
	CHECK(ab.normal.z() > btScalar(0.99) && ba.normal.z() > btScalar(0.99), "normals %g and %g", double(ab.normal.z()), double(ba.normal.z()));
	a->setWorldTransform(btTransform(btQuaternion::getIdentity(), btVector3(0, 0, btScalar(0.2))));
	Asked apart;
	world.world.contactPairTest(a, b, apart);
	CHECK(apart.count == 0, "%d contacts of bodies that are apart", apart.count);
	Asked near;
	near.m_closestDistanceThreshold = btScalar(0.1);
	world.world.contactPairTest(a, b, near);
	CHECK(near.count > 0 && std::fabs(near.least - btScalar(0.05)) < btScalar(1e-3), "%d near, at %g", near.count, double(near.least));
}
}  // namespace

int main()
{
	btSphereShape sphere(btScalar(0.1));
	btBoxShape box(btVector3(btScalar(0.1), btScalar(0.08), btScalar(0.06)));
	btCapsuleShapeX capsule_x(btScalar(0.08), btScalar(0.2));
	btCapsuleShape capsule_y(btScalar(0.08), btScalar(0.2));
	btCylinderShapeZ cylinder_z(btVector3(btScalar(0.1), btScalar(0.1), btScalar(0.06)));
	btCylinderShapeX cylinder_x(btVector3(btScalar(0.1), btScalar(0.08), btScalar(0.08)));
	btConeShapeZ cone(btScalar(0.1), btScalar(0.12));
	btConvexHullShape hull;
	for (int i = 0; i < 8; i++)
		hull.addPoint(btVector3(i & 1 ? btScalar(0.1) : btScalar(-0.1), i & 2 ? btScalar(0.1) : btScalar(-0.1), i & 4 ? btScalar(0.05) : btScalar(-0.05)));
	hull.setMargin(0);
	btCompoundShape two;
	two.addChildShape(btTransform(btQuaternion::getIdentity(), btVector3(btScalar(0.12), 0, 0)), &sphere);
	two.addChildShape(btTransform(btQuaternion::getIdentity(), btVector3(btScalar(-0.12), 0, 0)), &box);
	two.addChildShape(btTransform(btQuaternion::getIdentity(), btVector3(0, btScalar(0.12), 0)), &sphere);
	two.addChildShape(btTransform(btQuaternion::getIdentity(), btVector3(0, btScalar(-0.12), 0)), &sphere);
	for (bool first : {false, true})
	{
		on_our_slab("sphere", &sphere, btScalar(0.1), first);
		on_our_slab("box", &box, btScalar(0.06), first);
		on_our_slab("capsule x", &capsule_x, btScalar(0.08), first);
		on_our_slab("capsule y", &capsule_y, btScalar(0.08), first);
		on_our_slab("cylinder z", &cylinder_z, btScalar(0.06), first);
		on_our_slab("cylinder x", &cylinder_x, btScalar(0.08), first);
		on_our_slab("cone", &cone, btScalar(0.06), first);
		on_our_slab("hull", &hull, btScalar(0.05), first);
		on_our_slab("compound", &two, btScalar(0.1), first);
	}

	btStaticPlaneShape plane(btVector3(0, 0, 1), 0);
	btBoxShape floor(btVector3(1, 1, btScalar(0.5)));
	btCompoundShape floors;
	floors.addChildShape(btTransform(btQuaternion::getIdentity(), btVector3(0, 0, btScalar(-0.5))), &floor);
	btTriangleMesh triangles;
	triangles.addTriangle(btVector3(-1, -1, 0), btVector3(1, -1, 0), btVector3(1, 1, 0));
	triangles.addTriangle(btVector3(-1, -1, 0), btVector3(1, 1, 0), btVector3(-1, 1, 0));
	btBvhTriangleMeshShape mesh(&triangles, true);
	btScaledBvhTriangleMeshShape scaled(&mesh, btVector3(btScalar(0.5), btScalar(0.5), 1));
	btGImpactMeshShape gimpact(&triangles);
	gimpact.updateBound();
	// To Bullet PHY_FLOAT is btScalar.
	std::vector<btScalar> heights(21 * 21, btScalar(0.5));
	btHeightfieldTerrainShape terrain(21, 21, heights.data(), 1, 0, 1, 2, PHY_FLOAT, false);
	terrain.setLocalScaling(btVector3(btScalar(0.1), btScalar(0.1), 1));
	btHeightfieldTerrainShape flipped(21, 21, heights.data(), 1, 0, 1, 2, PHY_FLOAT, true);
	flipped.setLocalScaling(btVector3(btScalar(0.1), btScalar(0.1), 1));
	const palpate::Data::Ptr ours = cuboid(0.3, 0.3, 0.1, 0.01);
	palpate::MixedShape mixed(ours);
	palpate::VoxelmapShape voxelmap(ours);
	CHECK(palpate::prepareStatic(mesh, 0.02, 0.2), "%s", palpate::lastError().c_str());
	for (bool first : {false, true})
	{
		our_part_on("plane", &plane, btVector3(0, 0, 0), first);
		our_part_on("box", &floor, btVector3(0, 0, btScalar(-0.5)), first);
		our_part_on("compound", &floors, btVector3(0, 0, 0), first);
		our_part_on("triangle mesh", &mesh, btVector3(0, 0, 0), first);
		our_part_on("scaled triangle mesh", &scaled, btVector3(0, 0, 0), first);
		our_part_on("GImpact", &gimpact, btVector3(0, 0, 0), first);
		our_part_on("height field", &terrain, btVector3(0, 0, 0), first);
		our_part_on("flipped height field", &flipped, btVector3(0, 0, 0), first);
		our_part_on("Mixed", &mixed, btVector3(0, 0, btScalar(-0.1)), first);
		our_part_on("Voxelmap", &voxelmap, btVector3(0, 0, btScalar(-0.1)), first);
	}
	btBoxShape hundred(btVector3(btScalar(0.1), btScalar(0.1), btScalar(0.1)));
	btCompoundShape wrapped;
	wrapped.addChildShape(btTransform::getIdentity(), &hundred);
	asking(&hundred);
	asking(&wrapped);
	return finish("pairs");
}
