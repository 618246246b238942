// What a shape is to Bullet: boxes, inertia, scale, rays, and what is refused.
#include "check.h"

#include <cstdio>

namespace
{
int told = 0;
void tell(const char*, void*) { told++; }

void boxes_and_inertia()
{
	const palpate::Data::Ptr data = cuboid(0.1, 0.2, 0.3, 0.02);
	palpate::MixedShape shape(data);
	btVector3 low, high, inertia;
	shape.getAabb(btTransform::getIdentity(), low, high);
	CHECK((high - btVector3(btScalar(0.1), btScalar(0.2), btScalar(0.3))).length() < btScalar(1e-4), "%g %g %g", double(high.x()), double(high.y()), double(high.z()));
	shape.calculateLocalInertia(3, inertia);
	const btVector3 exact(btScalar(0.13), btScalar(0.1), btScalar(0.05));
	CHECK((inertia - exact).length() < btScalar(1e-4), "%g %g %g", double(inertia.x()), double(inertia.y()), double(inertia.z()));
	// A ball is the tightest box of a body that has turned.
	shape.getAabb(btTransform(btQuaternion(btVector3(1, 1, 1).normalized(), 1)), low, high);
	CHECK((high - low).length() <= btScalar(2 * 0.375 * 1.8), "%g", double((high - low).length()));
	CHECK(shape.getContactBreakingThreshold(btScalar(0.02)) < btScalar(0.01), "%g", double(shape.getContactBreakingThreshold(btScalar(0.02))));
	CHECK(std::string(shape.getName()) == "palpate::Mixed" && shape.isConcave(), "%s", shape.getName());

	// Moved and turned data: the mass frame finds its middle and axes again.
	const palpate::MassFrame frame = palpate::massFrame(*data);
	btVector3 sorted = frame.inertia;
	CHECK(std::fabs(sorted.x() + sorted.y() + sorted.z() - btScalar(0.28 / 3)) < btScalar(1e-4), "%g", double(sorted.x()));
	CHECK(frame.body_from_data.getOrigin().length() < btScalar(1e-4), "%g", double(frame.body_from_data.getOrigin().length()));
	CHECK(std::fabs(frame.volume - 0.048) < 1e-6, "%g", frame.volume);
	palpate::MixedShape away(data, btTransform(btQuaternion::getIdentity(), btVector3(1, 0, 0)));
	away.calculateLocalInertia(3, inertia);
	CHECK(std::fabs(inertia.y() - btScalar(3.1)) < btScalar(1e-3), "%g", double(inertia.y()));

	const palpate::Data::Ptr gear = sample("torus-knot", 64);
	const palpate::MassFrame knot = palpate::massFrame(*gear);
	palpate::MixedShape centred(gear, knot.body_from_data);
	centred.calculateLocalInertia(1, inertia);
	CHECK((inertia - knot.inertia).length() < btScalar(1e-4) * knot.inertia.length(), "%g", double((inertia - knot.inertia).length()));
}

void scaling()
{
	const palpate::Data::Ptr data = cuboid(0.1, 0.1, 0.1, 0.02);
	palpate::MixedShape shape(data, btTransform(btQuaternion::getIdentity(), btVector3(0, 0, btScalar(0.1))));
	shape.setLocalScaling(btVector3(2, 2, 2));
	btVector3 low, high;
	shape.getAabb(btTransform::getIdentity(), low, high);
	CHECK(shape.getLocalScaling().x() == 2 && std::fabs(high.z() - btScalar(0.4)) < btScalar(1e-4), "%g", double(high.z()));
	CHECK(shape.data() != data && data->pointCount() > 0, "the first data changed");
	// Rests at twice the height.
	World world;
	btStaticPlaneShape plane(btVector3(0, 0, 1), 0);
	world.add(&plane, btVector3(0, 0, 0), 0);
	btRigidBody* body = world.add(&shape, btVector3(0, 0, btScalar(0.05)), 1);
	world.run(1);
	CHECK(std::fabs(body->getWorldTransform().getOrigin().z()) < btScalar(1e-3), "%g", double(body->getWorldTransform().getOrigin().z()));
	for (const btVector3& refused : {btVector3(1, 2, 1), btVector3(-1, -1, -1), btVector3(0, 0, 0), btVector3(NAN, NAN, NAN)})
	{
		told = 0;
		shape.setLocalScaling(refused);
		CHECK(told == 1 && shape.getLocalScaling().x() == 2, "%d errors, scale %g", told, double(shape.getLocalScaling().x()));
	}
	CHECK(palpate::lastError().find("refused") != std::string::npos, "%s", palpate::lastError().c_str());
	shape.setLocalScaling(btVector3(1, 1, 1));
	CHECK(shape.data() == data, "scale 1 is not the first data");
}

/// A part in another size has the same points in the same order: its tree, of whatever clusters, is kept.
void scaled_data()
{
	palpate::BuildParams params;
	params.resolution = 48;
	params.cluster = 4;
	params.spacing = 0.004;
	const palpate::Data::Ptr data = palpate::Data::sample("torus-knot", params);
	params.cluster = 0;
	const palpate::Data::Ptr other = palpate::Data::sample("torus-knot", params);
	const palpate::Data::Ptr large = data ? data->scaled(2) : nullptr;
	CHECK(data && other && large, "%s", palpate::lastError().c_str());
	if (!data || !other || !large)
		return;
	const std::vector<btVector3> before = data->points(), after = large->points(), others = other->points();
	CHECK(before.size() == after.size() && before.size() > 100, "%zu and %zu points", before.size(), after.size());
	std::size_t moved = 0, reordered = 0;
	for (std::size_t i = 0; i < before.size() && i < after.size() && i < others.size(); i++)
	{
		moved += !(before[i] * 2 == after[i]);
		reordered += !(before[i] == others[i]);
	}
	CHECK(moved == 0, "%zu points are not where they were, twice as far", moved);
	CHECK(reordered > 0, "clusters do not show in the order of points: %zu", reordered);
	CHECK(std::fabs(large->volume() - 8 * data->volume()) < 1e-9 && large->ballRadius() == 2 * data->ballRadius(), "%g", large->volume());
	for (double factor : {0.0, -1.0, double(NAN), double(INFINITY), 1e200})
	{
		told = 0;
		CHECK(!data->scaled(factor) && told == 1, "scaled by %g, %d errors", factor, told);
		CHECK(palpate::lastError().find("scale") != std::string::npos, "%s", palpate::lastError().c_str());
	}
}

/// A slope, given as an open sheet, is solid below its front, and straight down where that is said.
void sheets()
{
	const double positions[12] = {0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0}, up[3] = {0, 0, 3};
	const std::uint32_t triangles[6] = {0, 1, 2, 0, 2, 3};
	palpate::BuildParams params;
	params.voxel = 0.05;
	const palpate::Data::Ptr straight = palpate::Data::fromSheet(positions, 4, triangles, 2, up, 0.5, params);
	const palpate::Data::Ptr along = palpate::Data::fromSheet(positions, 4, triangles, 2, nullptr, 0.5, params);
	CHECK(straight && along, "%s", palpate::lastError().c_str());
	if (straight && along)
	{
		CHECK(std::fabs(straight->volume() - 0.5) < 1e-6 && std::fabs(straight->aabbMin()[2] + 0.5) < 1e-6, "%g", straight->volume());
		CHECK(std::fabs(along->volume() - 0.5 * std::sqrt(2.0)) < 1e-6 && along->aabbMax()[0] > 1.3, "%g", along->volume());
	}
	CHECK(!palpate::Data::fromSheet(positions, 4, triangles, 2, up, -1, params), "%s", "a thickness of -1 m was taken");
	CHECK(palpate::lastError().find("thickness") != std::string::npos, "%s", palpate::lastError().c_str());
}

void rays()
{
	const palpate::Data::Ptr data = cuboid(0.1, 0.1, 0.1, 0.02);
	palpate::MixedShape shape(data);
	World world;
	world.add(&shape, btVector3(1, 0, 0), 0);
	const btVector3 from(1, btScalar(0.05), 2), to(1, btScalar(0.05), -2);
	btCollisionWorld::ClosestRayResultCallback hit(from, to);
	world.world.rayTest(from, to, hit);
	CHECK(hit.hasHit() && std::fabs(hit.m_hitPointWorld.z() - btScalar(0.1)) < btScalar(1e-3), "hit at %g", double(hit.m_hitPointWorld.z()));
	const btVector3 aside(btScalar(1.2), 0, 2), below(btScalar(1.2), 0, -2);
	btCollisionWorld::ClosestRayResultCallback miss(aside, below);
	world.world.rayTest(aside, below, miss);
	CHECK(!miss.hasHit(), "a ray beside the part hits it");
}

/// A pair that cannot collide: no contact, one error, no crash.
void refused(const char* name, btCollisionShape* a, btCollisionShape* b, const char* says)
{
	World world;
	world.add(a, btVector3(0, 0, 0), 0);
	world.add(b, btVector3(0, 0, btScalar(0.05)), 1);
	told = 0;
	world.run(0.05);
	CHECK(told == 1, "%s: %d errors in 12 steps", name, told);
	CHECK(palpate::lastError().find(says) != std::string::npos, "%s: %s", name, palpate::lastError().c_str());
	CHECK(world.contacts() == 0, "%s: %d contacts", name, world.contacts());
}

void errors()
{
	const palpate::Data::Ptr data = cuboid(0.1, 0.1, 0.1, 0.02);
	palpate::PointshellShape points(data), more_points(data);
	palpate::VoxelmapShape field(data), other_field(data);
	btBoxShape box(btVector3(btScalar(0.1), btScalar(0.1), btScalar(0.1)));
	refused("two shells", &points, &more_points, "points only");
	refused("two fields", &field, &other_field, "field only");
	refused("a field and a box", &field, &box, "field only");
	told = 0;
	palpate::MixedShape none(nullptr);
	CHECK(told == 1, "%d errors", told);
	refused("no data", &none, &box, "no data");
	btVector3 low, high, inertia;
	none.getAabb(btTransform::getIdentity(), low, high);
	none.calculateLocalInertia(1, inertia);
	none.setLocalScaling(btVector3(2, 2, 2));

	palpate::BuildParams params;
	CHECK(!palpate::Data::open("there-is-no-such-file.palp") && !palpate::lastError().empty(), "opened");
	CHECK(!palpate::Data::fromFile("there-is-no-such-file.obj", 1, params), "loaded");
	CHECK(!palpate::Data::sample("no such part", params), "made");
	CHECK(!palpate::Data::sample("gear", params) && palpate::lastError().find("resolution") != std::string::npos, "%s", palpate::lastError().c_str());
	CHECK(!palpate::Data::fromMesh(nullptr, 5, nullptr, 7, params), "built from nothing");
	const double positions[3] = {0, 0, 0};
	const std::uint32_t triangles[3] = {0, 1, 2};
	CHECK(!palpate::Data::fromMesh(positions, 1, triangles, 1, params), "built from a vertex");
	CHECK(!data->scaled(-1) && !data->scaled(NAN), "scaled");
	btEmptyShape empty;
	btTriangleMesh nothing;
	std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("damaged.palp", "w"), std::fclose);
	std::fputs("not a palp file", file.get());
	file.reset();
	CHECK(!palpate::Data::open("damaged.palp"), "opened");
	std::remove("damaged.palp");
}

/// Shapes and data may go in any order; a body may get another shape.
void freeing()
{
	World world;
	btStaticPlaneShape plane(btVector3(0, 0, 1), 0);
	world.add(&plane, btVector3(0, 0, 0), 0);
	palpate::Data::Ptr data = cuboid(0.05, 0.05, 0.05, 0.01);
	std::unique_ptr<palpate::MixedShape> shape(new palpate::MixedShape(data));
	btRigidBody* body = world.add(shape.get(), btVector3(0, 0, btScalar(0.06)), 1);
	world.run(0.5);
	data.reset();
	world.run(0.1);
	CHECK(world.contacts() > 0, "no contacts after the data's pointer went");
	// Another shape, perhaps at the same place in memory, in a body that touches.
	body->setCollisionShape(&plane);
	shape.reset();
	shape.reset(new palpate::MixedShape(cuboid(0.05, 0.05, 0.1, 0.01)));
	body->setCollisionShape(shape.get());
	body->setWorldTransform(btTransform(btQuaternion::getIdentity(), btVector3(0, 0, btScalar(0.12))));
	world.run(1);
	CHECK(std::fabs(body->getWorldTransform().getOrigin().z() - btScalar(0.1)) < btScalar(1e-3), "%g", double(body->getWorldTransform().getOrigin().z()));
}

/// A .palp file as cache.
void files()
{
	const char* mesh = "palpate-test.obj";
	const char* cache = "palpate-test.palp";
	std::FILE* file = std::fopen(mesh, "w");
	std::fputs("v 0 0 0\nv 100 0 0\nv 0 100 0\nv 0 0 100\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", file);
	std::fclose(file);
	palpate::BuildParams params;
	params.resolution = 32;
	const palpate::Data::Ptr built = palpate::Data::fromFile(mesh, 1e-3, params, cache);
	const palpate::Data::Ptr kept = palpate::Data::fromFile(mesh, 1e-3, params, cache);
	const palpate::Data::Ptr opened = palpate::Data::open(cache);
	CHECK(built && kept && opened, "%s", palpate::lastError().c_str());
	if (built && kept && opened)
	{
		CHECK(built->pointCount() == opened->pointCount() && kept->pointCount() == built->pointCount(), "%zu and %zu points", built->pointCount(), opened->pointCount());
		CHECK(std::fabs(opened->aabbMax()[0] - 0.1) < 1e-6, "%g", opened->aabbMax()[0]);
	}
	std::remove(mesh);
	std::remove(cache);
}
}  // namespace

int main()
{
	palpate::setErrorCallback(tell, nullptr);
	boxes_and_inertia();
	scaling();
	scaled_data();
	sheets();
	rays();
	errors();
	freeing();
	files();
	palpate::setErrorCallback(nullptr, nullptr);
	return finish("shapes");
}
