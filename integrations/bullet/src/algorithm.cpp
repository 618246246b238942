#include "algorithm.h"

#include "error.h"

#include <BulletCollision/CollisionDispatch/btCollisionDispatcher.h>
#include <BulletCollision/CollisionDispatch/btCollisionObjectWrapper.h>
#include <BulletDynamics/Dynamics/btRigidBody.h>
#include <LinearMath/btTransformUtil.h>
#include <palpate.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <typeinfo>

namespace palpate
{
namespace
{
/// Share of the smaller body's radius that is reported beyond the approach of a step, unless the options say otherwise [1]. Larger: more
/// points to look at (four times as many: a third slower). Smaller: bodies at rest lose points to rounding, and creep.
const double THRESHOLD = 0.005;
/// Share of the same that the two sides of a point of an earlier step may drift apart [1]: Bullet's own.
const double KEEP = 0.02;
/// Share of the radius that the engine takes as a spread by itself [1].
const double SPREAD = 0.006;

/// The relative pose of two frames, in double precision.
palp_pose relative(const btTransform& w_from_a, const btTransform& w_from_b)
{
	const btMatrix3x3 &a = w_from_a.getBasis(), &b = w_from_b.getBasis();
	double m[3][3], t[3];
	for (int r = 0; r < 3; r++)
	{
		t[r] = 0;
		for (int k = 0; k < 3; k++)
			t[r] += double(a[k][r]) * (double(w_from_b.getOrigin()[k]) - double(w_from_a.getOrigin()[k]));
		for (int c = 0; c < 3; c++)
		{
			m[r][c] = 0;
			for (int k = 0; k < 3; k++)
				m[r][c] += double(a[k][r]) * double(b[k][c]);
		}
	}
	// Shepperd: the largest of w, x, y, z first.
	double q[4];
	const double trace = m[0][0] + m[1][1] + m[2][2];
	if (trace > 0)
	{
		const double s = std::sqrt(trace + 1) * 2;
		q[3] = s / 4;
		q[0] = (m[2][1] - m[1][2]) / s;
		q[1] = (m[0][2] - m[2][0]) / s;
		q[2] = (m[1][0] - m[0][1]) / s;
	}
	else
	{
		int i = m[1][1] > m[0][0] ? 1 : 0;
		if (m[2][2] > m[i][i])
			i = 2;
		const int j = (i + 1) % 3, k = (i + 2) % 3;
		const double s = std::sqrt(std::max(0.0, 1 + m[i][i] - m[j][j] - m[k][k])) * 2;
		q[i] = s / 4;
		q[3] = (m[k][j] - m[j][k]) / s;
		q[j] = (m[j][i] + m[i][j]) / s;
		q[k] = (m[k][i] + m[i][k]) / s;
	}
	palp_pose pose;
	std::copy(q, q + 4, pose.rotation);
	std::copy(t, t + 3, pose.translation);
	return pose;
}

/// Where an object is after a step, if nothing is in its way; the same place for what does not move by itself.
btTransform after(const btCollisionObject* object, const btTransform& now, double step)
{
	const btRigidBody* body = btRigidBody::upcast(object);
	if (!body)
		return now;
	const btVector3 velocity = body->getLinearVelocity() + body->getTotalForce() * (body->getInvMass() * btScalar(step));
	btTransform next;
	btTransformUtil::integrateTransform(body->getWorldTransform(), velocity, body->getAngularVelocity(), btScalar(step), next);
	// What is asked about may be a part of the body.
	return next * body->getWorldTransform().inverseTimes(now);
}

/// Why two sides cannot collide; empty if they can.
std::string trouble(const Side& a, const Side& b)
{
	if (!a.trouble.empty())
		return a.trouble;
	if (!b.trouble.empty())
		return b.trouble;
	if ((a.ours && a.points && b.field) || (b.ours && b.points && a.field))
		return "";
	if (!a.field && !b.field)
		return "two shapes that give points only (palpate::Pointshell) do not collide: one of them needs a field; use palpate::Mixed";
	return "two shapes that give a field only do not collide: one of them needs points; use palpate::Mixed";
}
}  // namespace

btCollisionAlgorithm* VoxPtsCollisionAlgorithm::CreateFunc::CreateCollisionAlgorithm(btCollisionAlgorithmConstructionInfo& info,
																					 const btCollisionObjectWrapper* body0,
																					 const btCollisionObjectWrapper* body1)
{
	void* memory = info.m_dispatcher1->allocateCollisionAlgorithm(sizeof(VoxPtsCollisionAlgorithm));
	return new (memory) VoxPtsCollisionAlgorithm(info, body0, body1, options);
}

Contacts::Contacts(btDispatcher* dispatcher, std::shared_ptr<const Options> options)
	: m_dispatcher(dispatcher), m_default(std::move(options)), m_options(m_default)
{
}

Contacts::~Contacts()
{
	clear();
	palp_pair_free(palp_pair{m_pair}, nullptr);
}

void Contacts::clear()
{
	for (Slot& slot : m_slots)
		m_dispatcher->releaseManifold(slot.manifold);
	m_slots.clear();
}

void Contacts::list(btManifoldArray& manifolds) const
{
	for (const Slot& slot : m_slots)
		manifolds.push_back(slot.manifold);
}

bool Contacts::ready(const btCollisionObjectWrapper* body0, const btCollisionObjectWrapper* body1)
{
	const btCollisionShape* shapes[2] = {body0->getCollisionShape(), body1->getCollisionShape()};
	if (m_sides[0].is(*shapes[0]) && m_sides[1].is(*shapes[1]))
		return m_usable;
	for (int i = 0; i < 2; i++)
		m_sides[i] = sideOf(*shapes[i], *m_default);
	m_options = m_sides[0].options ? m_sides[0].options : m_sides[1].options ? m_sides[1].options : m_default;
	const Side &a = m_sides[0], &b = m_sides[1];
	palp_pair_free(palp_pair{m_pair}, nullptr);
	m_pair = 0;
	std::string why = trouble(a, b);
	palp_pair pair;
	palp_error error;
	if (why.empty() && palp_pair_create(palp_collider{a.collider}, palp_collider{b.collider}, &pair, &error) != PALP_OK)
		why = error.message;
	m_usable = why.empty();
	if (!m_usable)
	{
		fail(why);
		std::fprintf(stderr, "palpate: %s\n", why.c_str());  // Bullet 2 has no other channel
		clear();
		return false;
	}
	m_pair = pair.id;
	const bool by_a = a.ours && a.points && b.field, by_b = b.ours && b.points && a.field;
	m_roles = by_a && by_b ? PALP_FEWER : by_a ? PALP_POINTS_OF_A : PALP_POINTS_OF_B;
	m_both = m_options->both && a.points && a.field && b.points && b.field;
	return true;
}

double Contacts::margin(const btCollisionObject* body0, const btCollisionObject* body1, double step, double& way)
{
	const btScalar r0 = m_sides[0].radius, r1 = m_sides[1].radius;
	const double radius = r0 > 0 && r1 > 0 ? std::min(r0, r1) : std::max(r0, r1);
	const double threshold =
		m_options->threshold > 0 ? m_options->threshold : std::min(double(gContactBreakingThreshold), THRESHOLD * radius);
	btVector3 approach(0, 0, 0);
	double turning = 0;
	const btCollisionObject* bodies[2] = {body0, body1};
	for (int i = 0; i < 2; i++)
		if (const btRigidBody* body = btRigidBody::upcast(bodies[i]))
		{
			const btVector3 velocity = body->getLinearVelocity() + body->getTotalForce() * (body->getInvMass() * btScalar(step));
			approach += velocity * btScalar(i == 0 ? 1 : -1);
			turning += double(body->getAngularVelocity().length()) * m_sides[i].reach;
		}
	way = (approach.length() + turning) * step;
	if (!std::isfinite(way))
		way = 0;
	m_drift = KEEP * radius;
	m_far = m_drift + way;
	return threshold + way;
}

void Contacts::process(const btCollisionObjectWrapper* body0, const btCollisionObjectWrapper* body1, const btDispatcherInfo& info,
					   btManifoldResult* result)
{
	if (!ready(body0, body1))
		return;
	const double step = info.m_timeStep;
	const btTransform w_from_a = body0->getWorldTransform() * m_sides[0].body_from_data;
	const btTransform w_from_b = body1->getWorldTransform() * m_sides[1].body_from_data;
	const palp_pose a_from_b = relative(w_from_a, w_from_b);
	// Someone who only asks (contactTest, contactPairTest) has a result of their own kind.
	const bool asked = typeid(*result) != typeid(btManifoldResult);

	palp_manifold_params params;
	std::memset(&params, 0, sizeof(params));
	double way = 0;
	params.margin = asked ? double(result->m_closestPointDistanceThreshold)
						  : margin(body0->getCollisionObject(), body1->getCollisionObject(), step, way);
	// Parts that swing down beside one that touches already count too.
	const double usual = SPREAD * double(m_sides[m_roles == PALP_POINTS_OF_A ? 0 : 1].radius);
	if (way > usual)
		params.spread = way;
	if (m_options->spread > 0)
		params.spread = std::max(way, m_options->spread);
	params.choice = int(m_options->choice);
	params.count = std::uint32_t(std::max(1, m_options->count));
	params.roles = m_roles;
	params.both = m_both;
	// Points that hold a body now, and others that may soon, in manifolds of their own: four in all would let it rock.
	params.tiers = 1;
	params.budget = m_options->budget_points;
	params.micros = std::max(0.0, m_options->budget_micros);
	if (way > 0 && !asked)
	{
		params.ahead = 1;
		params.next = relative(after(body0->getCollisionObject(), w_from_a, step), after(body1->getCollisionObject(), w_from_b, step));
	}
	palp_manifolds found;
	palp_error error;
	const int status = palp_pair_update(palp_pair{m_pair}, &a_from_b, &params, &found, &error);
	if (status != PALP_OK)
	{
		fail(error.message);
		clear();
		return;
	}

	if (asked)
	{
		// Such results look up the order of the bodies in a manifold.
		btPersistentManifold* before = result->getPersistentManifold();
		btPersistentManifold* order = m_dispatcher->getNewManifold(body0->getCollisionObject(), body1->getCollisionObject());
		result->setPersistentManifold(order);
		for (std::size_t i = 0; i < found.point_count; i++)
		{
			const palp_manifold_point& p = found.points[i];
			const btVector3 normal = w_from_a.getBasis() * btVector3(btScalar(p.normal[0]), btScalar(p.normal[1]), btScalar(p.normal[2]));
			const btVector3 on_b = w_from_b * btVector3(btScalar(p.point_b[0]), btScalar(p.point_b[1]), btScalar(p.point_b[2]));
			result->addContactPoint(-normal, on_b, btScalar(p.distance));
		}
		result->setPersistentManifold(before);
		m_dispatcher->releaseManifold(order);
		return;
	}
	write(found, body0, body1, step);
}
}  // namespace palpate
