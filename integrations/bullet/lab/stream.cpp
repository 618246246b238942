// Every step of a scene to standard output, for a program that shows or keeps it.
#include "lab.h"

#include <cstdio>

namespace lab
{
namespace
{
void put(std::vector<double>& out, const btVector3& v) { out.insert(out.end(), {double(v.x()), double(v.y()), double(v.z())}); }
}  // namespace

bool stream(const World& world, const std::vector<btTransform>& body_from_file, double step_micros)
{
	std::vector<double> out = {step_micros, world.dispatcher.micros, world.depth()};
	for (std::size_t i = 0; i < body_from_file.size(); i++)
	{
		const btRigidBody& body = *world.bodies[i];
		const btTransform pose = body.getWorldTransform() * body_from_file[i];
		const btQuaternion q = pose.getRotation();
		put(out, pose.getOrigin());
		out.insert(out.end(), {double(q.x()), double(q.y()), double(q.z()), double(q.w())});
		put(out, body.getLinearVelocity());
		put(out, body.getAngularVelocity());
	}
	const std::size_t count = out.size();
	out.push_back(0);
	for (int m = 0; m < world.dispatcher.getNumManifolds(); m++)
	{
		const btPersistentManifold& manifold = *const_cast<TimedDispatcher&>(world.dispatcher).getManifoldByIndexInternal(m);
		const int first = manifold.getBody0()->getUserIndex(), second = manifold.getBody1()->getUserIndex();
		for (int k = 0; k < manifold.getNumContacts(); k++)
		{
			const btManifoldPoint& p = manifold.getContactPoint(k);
			// Bullet's normal pushes the first body; wanted is the push on the later one.
			put(out, p.getPositionWorldOnB());
			put(out, p.m_normalWorldOnB * btScalar(first > second ? 1 : -1));
			out.insert(out.end(), {-double(p.getDistance()), double(std::min(first, second)), double(std::max(first, second))});
			out[count]++;
		}
	}
	return std::fwrite(out.data(), sizeof(double), out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
}
}  // namespace lab
