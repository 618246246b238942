// How bodies move: bounces, steps too long for the part, overlap at the start, rest, budgets.
#include "check.h"

#include <algorithm>

namespace
{
double random(std::uint64_t& state)
{
	// splitmix64
	std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return double((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

btQuaternion rotation(std::uint64_t& state)
{
	btQuaternion q(btScalar(random(state) - 0.5), btScalar(random(state) - 0.5), btScalar(random(state) - 0.5), btScalar(random(state) - 0.5));
	return q.normalized();
}

/// Deepest and first apex of a ball of radius 0.05 m dropped on a plane at 200 Hz.
void drop(btCollisionShape* shape, double height, double e, double& depth, double& apex)
{
	World world;
	btStaticPlaneShape plane(btVector3(0, 0, 1), 0);
	world.add(&plane, btVector3(0, 0, 0), 0, 1);
	btRigidBody* body = world.add(shape, btVector3(0, 0, btScalar(0.05 + height)), 1, e);
	depth = apex = 0;
	bool rising = false, over = false;
	for (int i = 0; i < 300; i++)
	{
		world.run(1.0 / 200, 200);
		const double bottom = body->getWorldTransform().getOrigin().z() - 0.05, speed = body->getLinearVelocity().z();
		rising = rising || speed > 0.01;
		over = over || (rising && speed < -0.01);
		depth = std::max(depth, -bottom);
		if (rising && !over)
			apex = std::max(apex, bottom);
	}
}

/// Table 1 in small: no deeper than Bullet's own sphere, and rebounds nearer to what physics says.
void bounces()
{
	palpate::BuildParams params;
	params.voxel = 0.002;
	params.spacing = 0.002;
	const palpate::Data::Ptr data = palpate::Data::sample("sphere", params);
	palpate::MixedShape ours(data);
	btSphereShape theirs(btScalar(0.05));
	for (double e : {0.1, 0.5, 0.9})
	{
		double deepest[2] = {}, off[2] = {};
		for (int n = 0; n <= 20; n++)
		{
			const double height = 0.95 + 0.005 * n;
			double depth, apex;
			drop(&ours, height, e, depth, apex);
			deepest[0] = std::max(deepest[0], depth);
			off[0] = std::max(off[0], std::fabs(apex - e * e * height));
			drop(&theirs, height, e, depth, apex);
			deepest[1] = std::max(deepest[1], depth);
			off[1] = std::max(off[1], std::fabs(apex - e * e * height));
		}
		CHECK(deepest[0] <= 1.2 * deepest[1], "e %g: %g m deep, Bullet's %g m", e, deepest[0], deepest[1]);
		// 10 mm: half a step's way after the bounce.
		CHECK(off[0] <= off[1] && off[0] < 0.01, "e %g: rebound off by %g m, Bullet's by %g m", e, off[0], off[1]);
	}
}

/// A step is much longer than the part, and it still does not fall through.
void long_steps()
{
	const palpate::Data::Ptr data = sample("gear", 64);
	const palpate::MassFrame mass = palpate::massFrame(*data);
	palpate::MixedShape part(data, mass.body_from_data);
	btStaticPlaneShape plane(btVector3(0, 0, 1), 0);
	std::uint64_t seed = 7;
	for (double rate : {60.0, 30.0, 10.0})
		for (int n = 0; n < 10; n++)
		{
			World world;
			world.add(&plane, btVector3(0, 0, 0), 0);
			btRigidBody* body = world.add(&part, btVector3(0, 0, btScalar(0.5)), 1, 0, rotation(seed));
			double lowest = 1;
			for (int i = 0; i < int(3 * rate); i++)
			{
				world.run(1 / rate, rate);
				lowest = std::min(lowest, double(body->getWorldTransform().getOrigin().z()));
			}
			CHECK(lowest > -0.01, "at %g Hz the middle of rotation %d is at %g", rate, n, lowest);
		}
}

/// Parts that overlap at the start: nothing explodes.
void overlaps(int scenes)
{
	const palpate::Data::Ptr datas[3] = {sample("gear", 48), sample("torus-knot", 48), sample("bumpy-sphere", 48)};
	std::uint64_t seed = 2024;
	int overlapping = 0;
	for (int n = 0; n < scenes; n++)
	{
		World world;
		btBoxShape floor(btVector3(2, 2, btScalar(0.5)));
		world.add(&floor, btVector3(0, 0, btScalar(-0.5)), 0);
		std::vector<std::unique_ptr<palpate::MixedShape>> shapes;
		const int count = 2 + int(random(seed) * 5);
		for (int i = 0; i < count; i++)
		{
			const palpate::Data::Ptr& data = datas[int(random(seed) * 3)];
			shapes.emplace_back(new palpate::MixedShape(data, palpate::massFrame(*data).body_from_data));
			const btVector3 at(btScalar(0.05 * random(seed)), btScalar(0.05 * random(seed)), btScalar(0.02 + 0.1 * random(seed)));
			world.add(shapes.back().get(), at, 1, 0, rotation(seed));
		}
		double fastest = 0;
		for (int i = 0; i < 240; i++)
		{
			world.run(1.0 / 240);
			if (i == 0 && world.contacts() > 4)
				overlapping++;
			for (auto& body : world.bodies)
			{
				const btVector3 p = body->getWorldTransform().getOrigin();
				CHECK(std::isfinite(p.x() + p.y() + p.z()), "scene %d", n);
				fastest = std::max(fastest, double(body->getLinearVelocity().length()));
			}
		}
		CHECK(fastest < 20, "scene %d: %g m/s", n, fastest);
	}
	CHECK(4 * overlapping >= 3 * scenes, "only %d of %d scenes begin in contact", overlapping, scenes);
}

/// Sleeping off: a part lies still, whichever way contacts are chosen, and within a budget.
void rest()
{
	const palpate::Data::Ptr data = sample("gear", 64);
	palpate::MixedShape part(data, palpate::massFrame(*data).body_from_data);
	btBoxShape floor(btVector3(2, 2, btScalar(0.5)));
	palpate::Options options[5];
	options[0].choice = palpate::Choice::Regular;
	options[1].choice = palpate::Choice::Segmented;
	options[1].count = 3;
	options[2].budget_points = 200;
	options[3].budget_micros = 20;
	for (const palpate::Options& option : options)
	{
		World world(option);
		world.add(&floor, btVector3(0, 0, btScalar(-0.5)), 0);
		btRigidBody* body = world.add(&part, btVector3(0, 0, btScalar(0.05)), 1);
		world.run(3);
		const btVector3 at = body->getWorldTransform().getOrigin();
		double fastest = 0;
		for (int i = 0; i < 480; i++)
		{
			world.run(1.0 / 240);
			fastest = std::max(fastest, double(body->getLinearVelocity().length()));
		}
		CHECK(fastest < 1e-3, "choice %d: %g m/s", int(option.choice), fastest);
		CHECK(at.distance(body->getWorldTransform().getOrigin()) < btScalar(1e-3), "choice %d: creeps by %g m", int(option.choice),
			  double(at.distance(body->getWorldTransform().getOrigin())));
	}
}

/// Two of ours: a nut-like ring over a peg, and a stack.
void ours_on_ours()
{
	const palpate::Data::Ptr data = cuboid(0.05, 0.05, 0.03, 0.005);
	palpate::MixedShape part(data);
	btBoxShape floor(btVector3(2, 2, btScalar(0.5)));
	World world;
	world.add(&floor, btVector3(0, 0, btScalar(-0.5)), 0);
	btRigidBody* top = nullptr;
	for (int i = 0; i < 3; i++)
		top = world.add(&part, btVector3(btScalar(0.01 * i), 0, btScalar(0.035 + 0.065 * i)), 1);
	world.run(3);
	CHECK(std::fabs(top->getWorldTransform().getOrigin().z() - btScalar(0.15)) < btScalar(2e-3), "the third is at %g", double(top->getWorldTransform().getOrigin().z()));
	CHECK(top->getLinearVelocity().length() < btScalar(0.01), "it moves at %g", double(top->getLinearVelocity().length()));
}
}  // namespace

int main(int count, char** words)
{
	// With a number: only so many scenes that begin in overlap.
	if (count > 1)
	{
		overlaps(std::atoi(words[1]));
		return finish("overlaps");
	}
	bounces();
	long_steps();
	overlaps(20);
	rest();
	ours_on_ours();
	return finish("scenes");
}
