// From the engine's manifolds to Bullet's: the same point keeps its place and its impulses.
#include "algorithm.h"

#include <BulletCollision/CollisionDispatch/btCollisionObjectWrapper.h>
#include <BulletDynamics/Dynamics/btRigidBody.h>
#include <palpate.h>

#include <algorithm>
#include <cmath>

namespace palpate
{
namespace
{
btVector3 vector(const double* v) { return btVector3(btScalar(v[0]), btScalar(v[1]), btScalar(v[2])); }

/// What bodies have in common at all their points.
btManifoldPoint combined(const btCollisionObject* a, const btCollisionObject* b)
{
	btManifoldPoint p(btVector3(0, 0, 0), btVector3(0, 0, 0), btVector3(0, 0, 1), 0);
	p.m_combinedFriction = btManifoldResult::calculateCombinedFriction(a, b);
	p.m_combinedRestitution = btManifoldResult::calculateCombinedRestitution(a, b);
	p.m_combinedRollingFriction = btManifoldResult::calculateCombinedRollingFriction(a, b);
	p.m_combinedSpinningFriction = btManifoldResult::calculateCombinedSpinningFriction(a, b);
	const int flags = a->getCollisionFlags() | b->getCollisionFlags();
	if (flags & btCollisionObject::CF_HAS_CONTACT_STIFFNESS_DAMPING)
	{
		p.m_combinedContactDamping1 = btManifoldResult::calculateCombinedContactDamping(a, b);
		p.m_combinedContactStiffness1 = btManifoldResult::calculateCombinedContactStiffness(a, b);
		p.m_contactPointFlags |= BT_CONTACT_FLAG_CONTACT_STIFFNESS_DAMPING;
	}
	if (flags & btCollisionObject::CF_HAS_FRICTION_ANCHOR)
		p.m_contactPointFlags |= BT_CONTACT_FLAG_FRICTION_ANCHOR;
	return p;
}

/// Velocity of a body at a place, and what known forces do to it [m/s, m/s2].
void motion(const btCollisionObject* object, const btVector3& place, btVector3& velocity, btVector3& acceleration)
{
	velocity.setZero();
	acceleration.setZero();
	if (const btRigidBody* body = btRigidBody::upcast(object))
	{
		velocity = body->getVelocityInLocalPoint(place - body->getCenterOfMassPosition());
		acceleration = body->getTotalForce() * body->getInvMass();
	}
}
}  // namespace

void Contacts::write(const palp_manifolds& found, const btCollisionObjectWrapper* body0, const btCollisionObjectWrapper* body1, double step)
{
	m_bounce.begin(step, m_options->bounce_threshold, m_options->erp);
	m_next.clear();
	// Both lists are in the order of keys.
	std::size_t old = 0;
	for (std::size_t i = 0; i < found.count; i++)
	{
		const palp_manifold& manifold = found.list[i];
		while (old < m_slots.size() && m_slots[old].key < manifold.key)
			m_dispatcher->releaseManifold(m_slots[old++].manifold);
		Slot slot;
		if (old < m_slots.size() && m_slots[old].key == manifold.key)
			slot = m_slots[old++];
		else
			slot = Slot{manifold.key, m_dispatcher->getNewManifold(body0->getCollisionObject(), body1->getCollisionObject()), {}};
		fill(slot, found.points + manifold.first, std::min<std::uint32_t>(manifold.count, MANIFOLD_CACHE_SIZE), body0, body1, step);
		m_next.push_back(slot);
	}
	while (old < m_slots.size())
		m_dispatcher->releaseManifold(m_slots[old++].manifold);
	m_slots.swap(m_next);
	m_bounce.end();
}

void Contacts::fill(Slot& slot, const palp_manifold_point* points, std::uint32_t count, const btCollisionObjectWrapper* body0,
					const btCollisionObjectWrapper* body1, double step)
{
	const btCollisionObject *a = body0->getCollisionObject(), *b = body1->getCollisionObject();
	const btTransform w_from_a = body0->getWorldTransform() * m_sides[0].body_from_data;
	const btTransform w_from_b = body1->getWorldTransform() * m_sides[1].body_from_data;
	btPersistentManifold& manifold = *slot.manifold;
	const btManifoldPoint blank = combined(a, b);
	// A compound's algorithm looks at this between steps.
	double farthest = gContactBreakingThreshold;
	for (std::uint32_t i = 0; i < count; i++)
		farthest = std::max(farthest, points[i].distance);
	manifold.setContactBreakingThreshold(btScalar(farthest));

	// New points first; a segment gives one a step, and its manifold has room for those of the steps before, as Bullet's own.
	struct Entry
	{
		btVector3 on_a, on_b, normal;
		double distance;
		std::uint32_t id;
		int from;
	};
	Entry entries[MANIFOLD_CACHE_SIZE];
	for (std::uint32_t i = 0; i < count; i++)
		entries[i] = {w_from_a * vector(points[i].point_a), w_from_b * vector(points[i].point_b),
					  -(w_from_a.getBasis() * vector(points[i].normal)), points[i].distance, points[i].id, -1};

	const int before = manifold.getNumContacts();
	btManifoldPoint old[MANIFOLD_CACHE_SIZE];
	std::uint32_t old_ids[MANIFOLD_CACHE_SIZE];
	for (int k = 0; k < before; k++)
	{
		old[k] = manifold.getContactPoint(k);
		old_ids[k] = slot.ids[k];
	}
	// Points that are gone take what the user attached to them along.
	bool kept[MANIFOLD_CACHE_SIZE] = {};
	for (std::uint32_t i = 0; i < count; i++)
		for (int k = 0; k < before; k++)
			if (!kept[k] && old_ids[k] == entries[i].id)
			{
				entries[i].from = k;
				kept[k] = true;
				break;
			}
	for (int k = 0; k < before; k++)
	{
		if (kept[k])
			continue;
		const btVector3 on_a = a->getWorldTransform() * old[k].m_localPointA, on_b = b->getWorldTransform() * old[k].m_localPointB;
		const btVector3 normal = old[k].m_normalWorldOnB, apart = on_a - on_b;
		const btScalar distance = normal.dot(apart), drift = (apart - normal * distance).length();
		if (m_options->choice == Choice::Segmented && count < MANIFOLD_CACHE_SIZE && distance <= m_far && drift <= m_drift)
			entries[count++] = {on_a, on_b, normal, distance, old_ids[k], k};
		else
			manifold.clearUserCache(old[k]);
	}

	manifold.setNumContacts(int(count));
	for (std::uint32_t i = 0; i < count; i++)
	{
		const Entry& found = entries[i];
		btManifoldPoint& p = manifold.getContactPoint(int(i));
		p = blank;
		p.m_normalWorldOnB = found.normal;
		p.m_positionWorldOnA = found.on_a;
		p.m_positionWorldOnB = found.on_b;
		p.m_localPointA = a->getWorldTransform().invXform(p.m_positionWorldOnA);
		p.m_localPointB = b->getWorldTransform().invXform(p.m_positionWorldOnB);
		double distance = found.distance;
		if (m_options->depenetration > 0 && step > 0 && m_options->erp > 0)
			distance = std::max(distance, -m_options->depenetration * step / m_options->erp);
		p.m_distance1 = btScalar(distance);
		btPlaneSpace1(p.m_normalWorldOnB, p.m_lateralFrictionDir1, p.m_lateralFrictionDir2);
		if (found.from >= 0)
		{
			const btManifoldPoint& last = old[found.from];
			p.m_appliedImpulse = last.m_appliedImpulse;
			p.m_appliedImpulseLateral1 = last.m_appliedImpulseLateral1;
			p.m_appliedImpulseLateral2 = last.m_appliedImpulseLateral2;
			p.m_prevRHS = last.m_prevRHS;
			p.m_lifeTime = last.m_lifeTime + 1;
			p.m_userPersistentData = last.m_userPersistentData;
			p.m_lateralFrictionDir1 = last.m_lateralFrictionDir1;
			p.m_lateralFrictionDir2 = last.m_lateralFrictionDir2;
		}
		slot.ids[i] = found.id;

		if (p.m_combinedRestitution > 0)
		{
			btVector3 velocity_a, velocity_b, acceleration_a, acceleration_b;
			motion(a, p.m_positionWorldOnA, velocity_a, acceleration_a);
			motion(b, p.m_positionWorldOnB, velocity_b, acceleration_b);
			Approach approach;
			approach.id = found.id;
			approach.place = p.m_localPointB;
			approach.distance = distance;
			approach.velocity = p.m_normalWorldOnB.dot(velocity_a - velocity_b);
			approach.acceleration = p.m_normalWorldOnB.dot(acceleration_a - acceleration_b);
			p.m_combinedRestitution = btScalar(m_bounce.restitution(approach, p.m_combinedRestitution));
		}
		const bool custom = ((a->getCollisionFlags() | b->getCollisionFlags()) & btCollisionObject::CF_CUSTOM_MATERIAL_CALLBACK) != 0;
		if (gContactAddedCallback && custom && found.from < 0)
			(*gContactAddedCallback)(p, body0, p.m_partId0, p.m_index0, body1, p.m_partId1, p.m_index1);
		if (gContactProcessedCallback && found.from >= 0)
			(*gContactProcessedCallback)(p, const_cast<btCollisionObject*>(a), const_cast<btCollisionObject*>(b));
	}
	if (gContactStartedCallback && before == 0 && count > 0)
	{
		btPersistentManifold* const started = &manifold;
		gContactStartedCallback(started);
	}
}
}  // namespace palpate
