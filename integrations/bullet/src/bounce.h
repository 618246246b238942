// Restitution of contacts that are reported before touch.
//
// Bullet's solver lets a pair with a positive distance d approach until it touches (v >= -d/dt), and adds restitution * |v| of the
// step in which the contact is first seen: a body that is told early bounces early and too weakly. Here it first arrives, without a
// bounce, and the speed it would have had is remembered; in the step after it leaves with the restitution's share of that speed.
#pragma once

#include <LinearMath/btVector3.h>

#include <cstdint>
#include <vector>

namespace palpate
{
/// What is known of a point in this step. Velocities along the normal, positive when the bodies part.
struct Approach
{
	std::uint32_t id;
	btVector3 place;      // in the second body's frame [m]
	double distance;      // [m]
	double velocity;      // before this step's forces [m/s]
	double acceleration;  // by forces that are known before the step [m/s2]
};

class Bounce
{
public:
	/// Before the points of a step.
	void begin(double step, double threshold, double erp);
	/// The restitution to give to the solver for a point whose bodies have the restitution e.
	double restitution(const Approach& point, double e);
	/// After the points of a step.
	void end();

private:
	struct Memory
	{
		std::uint32_t id;
		btVector3 place;
		double speed;  // of the impact that was put off [m/s]
	};
	const Memory* find(const Approach& point) const;

	double m_step = 0, m_threshold = 0, m_erp = 0;
	std::vector<Memory> m_old, m_new;
};
}  // namespace palpate
