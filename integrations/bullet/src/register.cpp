// One call that makes a dispatcher know our shapes.
#include "algorithm.h"
#include "palpate/bullet.h"

#include <map>
#include <mutex>

namespace palpate
{
namespace
{
struct Registered
{
	std::mutex lock;
	std::map<const btCollisionDispatcher*, std::unique_ptr<VoxPtsCollisionAlgorithm::CreateFunc>> makers;
};

Registered& registered()
{
	static Registered all;
	return all;
}

/// Compounds go through Bullet's own algorithm, which asks again for each child; soft bodies and the rest are not rigid.
bool collides(int type)
{
	return (type < CONCAVE_SHAPES_END_HERE && type != IMPLICIT_CONVEX_SHAPES_START_HERE && type != CONCAVE_SHAPES_START_HERE &&
			type != EMPTY_SHAPE_PROXYTYPE);
}
}  // namespace

void registerWith(btCollisionDispatcher& dispatcher, const Options& options)
{
	Registered& all = registered();
	std::lock_guard<std::mutex> guard(all.lock);
	auto& maker = all.makers[&dispatcher];
	maker.reset(new VoxPtsCollisionAlgorithm::CreateFunc(std::make_shared<const Options>(options)));
	for (int type = 0; type < MAX_BROADPHASE_COLLISION_TYPES; type++)
	{
		if (!collides(type))
			continue;
		// Both orders, and both tables: contactPairTest asks only the second one.
		dispatcher.registerCollisionCreateFunc(FAST_CONCAVE_MESH_PROXYTYPE, type, maker.get());
		dispatcher.registerCollisionCreateFunc(type, FAST_CONCAVE_MESH_PROXYTYPE, maker.get());
		dispatcher.registerClosestPointsCreateFunc(FAST_CONCAVE_MESH_PROXYTYPE, type, maker.get());
		dispatcher.registerClosestPointsCreateFunc(type, FAST_CONCAVE_MESH_PROXYTYPE, maker.get());
	}
}
}  // namespace palpate
