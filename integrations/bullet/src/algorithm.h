// VoxPtsCollisionAlgorithm: a pair of bodies, of which one at least is ours.
#pragma once

#include "bounce.h"
#include "solid.h"

#include <BulletCollision/CollisionDispatch/btActivatingCollisionAlgorithm.h>
#include <BulletCollision/CollisionDispatch/btCollisionCreateFunc.h>
#include <BulletCollision/CollisionDispatch/btManifoldResult.h>

#include <memory>
#include <vector>

struct palp_manifolds;
struct palp_manifold_point;

namespace palpate
{
/// A pair's memory.
class Contacts
{
public:
	Contacts(btDispatcher* dispatcher, std::shared_ptr<const Options> options);
	~Contacts();
	Contacts(const Contacts&) = delete;
	Contacts& operator=(const Contacts&) = delete;

	void process(const btCollisionObjectWrapper* body0, const btCollisionObjectWrapper* body1, const btDispatcherInfo& info,
				 btManifoldResult* result);
	void list(btManifoldArray& manifolds) const;

private:
	/// A manifold of Bullet for one of the engine's.
	struct Slot
	{
		std::uint32_t key;
		btPersistentManifold* manifold;
		std::uint32_t ids[MANIFOLD_CACHE_SIZE];
	};

	/// Whether the two sides can collide; makes them when a shape has changed.
	bool ready(const btCollisionObjectWrapper* body0, const btCollisionObjectWrapper* body1);
	/// How far away points are reported, and how far the bodies can approach in a step [m].
	double margin(const btCollisionObject* body0, const btCollisionObject* body1, double step, double& way);
	void write(const palp_manifolds& found, const btCollisionObjectWrapper* body0, const btCollisionObjectWrapper* body1, double step);
	void fill(Slot& slot, const palp_manifold_point* points, std::uint32_t count, const btCollisionObjectWrapper* body0,
			  const btCollisionObjectWrapper* body1, double step);
	void clear();

	btDispatcher* m_dispatcher;
	std::shared_ptr<const Options> m_default, m_options;
	Side m_sides[2];
	bool m_usable = false;
	int m_roles = 0;
	bool m_both = false;
	std::uint64_t m_pair = 0;
	double m_drift = 0, m_far = 0;  // how far the sides of an old point may be from each other: aside, and along the normal [m]
	std::vector<Slot> m_slots, m_next;
	Bounce m_bounce;
};

/// What Bullet sees of a pair. It must be small: Bullet's dispatcher has places for algorithms of its own sizes, and does not check.
class VoxPtsCollisionAlgorithm : public btActivatingCollisionAlgorithm
{
public:
	VoxPtsCollisionAlgorithm(const btCollisionAlgorithmConstructionInfo& info, const btCollisionObjectWrapper* body0,
							 const btCollisionObjectWrapper* body1, std::shared_ptr<const Options> options)
		: btActivatingCollisionAlgorithm(info, body0, body1), m_contacts(new Contacts(info.m_dispatcher1, std::move(options)))
	{
	}

	void processCollision(const btCollisionObjectWrapper* body0, const btCollisionObjectWrapper* body1, const btDispatcherInfo& info,
						  btManifoldResult* result) override
	{
		m_contacts->process(body0, body1, info, result);
	}
	/// 1: no time of impact is computed; contacts are reported before touch instead.
	btScalar calculateTimeOfImpact(btCollisionObject*, btCollisionObject*, const btDispatcherInfo&, btManifoldResult*) override { return 1; }
	void getAllContactManifolds(btManifoldArray& manifolds) override { m_contacts->list(manifolds); }

	struct CreateFunc : btCollisionAlgorithmCreateFunc
	{
		explicit CreateFunc(std::shared_ptr<const Options> options) : options(std::move(options)) {}
		btCollisionAlgorithm* CreateCollisionAlgorithm(btCollisionAlgorithmConstructionInfo& info, const btCollisionObjectWrapper* body0,
													   const btCollisionObjectWrapper* body1) override;
		const std::shared_ptr<const Options> options;
	};

private:
	std::unique_ptr<Contacts> m_contacts;
};
// Bullet's smallest place is that of btConvexConvexAlgorithm and its like.
static_assert(sizeof(VoxPtsCollisionAlgorithm) <= sizeof(btActivatingCollisionAlgorithm) + 2 * sizeof(void*), "too large for the pool");
}  // namespace palpate
