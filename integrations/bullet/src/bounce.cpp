#include "bounce.h"

#include <algorithm>
#include <cmath>

namespace palpate
{
namespace
{
/// A body arrives only if it does so at this many times the speed below which the solver does not bounce [1]. Nearer ones bounce
/// at once. Larger: bounces higher above the surface. 1: rounding can take a bounce away.
const double ARRIVE = 1.5;
}  // namespace

void Bounce::begin(double step, double threshold, double erp)
{
	m_step = step;
	m_threshold = threshold;
	m_erp = erp;
	m_new.clear();
}

void Bounce::end() { m_old.swap(m_new); }

const Bounce::Memory* Bounce::find(const Approach& point) const
{
	// The same point, or the nearest: shells have many, and the deepest changes when a body turns.
	const Memory* nearest = nullptr;
	for (const Memory& memory : m_old)
	{
		if (memory.id == point.id)
			return &memory;
		if (!nearest || memory.place.distance2(point.place) < nearest->place.distance2(point.place))
			nearest = &memory;
	}
	return nearest;
}

double Bounce::restitution(const Approach& point, double e)
{
	if (!(e > 0) || !(m_step > 0))
		return e;
	const double d = point.distance, a = point.acceleration;
	// Velocities of Bullet are those in the middle between two positions: half a step's acceleration ahead of the position's.
	const double v = point.velocity + a * m_step / 2;
	const Memory* memory = point.velocity < 0 ? find(point) : nullptr;
	const bool crosses = d + (point.velocity + a * m_step) * m_step < 0;
	if (d > 0 && !crosses)
		return 0;

	// The speed with which the surfaces meet.
	double speed = v < 0 ? std::sqrt(std::max(0.0, v * v - 2 * a * d)) : 0;
	if (memory)
		speed = std::max(speed, memory->speed);
	if (speed < m_threshold || -point.velocity < m_threshold)
		return d > 0 ? 0 : e;
	if (d > ARRIVE * m_threshold * m_step)
	{
		m_new.push_back({point.id, point.place, speed});
		return 0;
	}

	// Leaves so that it would have e * speed at distance 0.
	const double leave = std::sqrt(std::max(0.0, e * e * speed * speed + 2 * a * d)) + a * m_step / 2;
	// What the solver takes away, or adds, for the distance.
	const double spent = d > 0 ? d / m_step : d * m_erp / m_step;
	return std::max(0.0, leave + spent) / -point.velocity;
}
}  // namespace palpate
