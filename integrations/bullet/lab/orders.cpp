// What another program wants before a step: pushes, places, and the step itself.
#include "lab.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace lab
{
namespace
{
/// So many numbers; false at the end of the input.
bool read(double* numbers, std::size_t count) { return std::fread(numbers, sizeof(double), count, stdin) == count; }

btVector3 three(const double* v) { return btVector3(btScalar(v[0]), btScalar(v[1]), btScalar(v[2])); }

void place(World& world, btRigidBody& body, const btTransform& pose)
{
	body.setWorldTransform(pose);
	body.setInterpolationWorldTransform(pose);
	for (auto set : {&btRigidBody::setLinearVelocity, &btRigidBody::setAngularVelocity})
		(body.*set)(btVector3(0, 0, 0));
	body.setInterpolationLinearVelocity(btVector3(0, 0, 0));
	body.setInterpolationAngularVelocity(btVector3(0, 0, 0));
	// Contacts are where it was.
	world.broadphase.getOverlappingPairCache()->cleanProxyFromPairs(body.getBroadphaseHandle(), &world.dispatcher);
	world.world.updateSingleAabb(&body);
}
}  // namespace

bool Orders::ready() const
{
	const double count = double(m_push.size());
	return std::fwrite(&count, sizeof count, 1, stdout) == 1 && std::fflush(stdout) == 0;
}

bool Orders::next(World& world, const std::vector<btTransform>& body_from_file)
{
	double order, v[8];
	while (read(&order, 1))
	{
		if (order == 0)
		{
			for (std::size_t i = 0; i < m_push.size(); i++)
			{
				world.bodies[i]->applyCentralForce(m_push[i].first);
				world.bodies[i]->applyTorque(m_push[i].second);
			}
			return true;
		}
		if (order != 1 && order != 2)
			throw std::runtime_error("an order is 0, 1 or 2, not " + std::to_string(order));
		const std::size_t count = order == 1 ? 7 : 8;
		if (!read(v, count))
			return false;
		bool good = v[0] >= 0 && v[0] < double(m_push.size());
		for (std::size_t i = 0; i < count; i++)
			good = good && std::isfinite(v[i]);
		if (!good)
			throw std::runtime_error("an order names a body that is not there, or a number is not finite");
		const std::size_t at = std::size_t(v[0]);
		if (order == 1)
		{
			m_push[at] = {three(v + 1), three(v + 4)};
			continue;
		}
		const btQuaternion rotation{btScalar(v[4]), btScalar(v[5]), btScalar(v[6]), btScalar(v[7])};
		if (!(rotation.length2() > 0))
			throw std::runtime_error("an order places a body with a rotation of zero; none is 0 0 0 1");
		place(world, *world.bodies[at], btTransform(rotation.normalized(), three(v + 1)) * body_from_file[at].inverse());
	}
	return false;
}
}  // namespace lab
