// One side of a pair: a shape of ours or of Bullet, as the engine takes it.
#pragma once

#include "palpate/bullet.h"

#include <array>
#include <memory>

namespace palpate
{
/// A palp_solid, freed with the last pair that uses it.
struct Collider
{
	explicit Collider(std::uint64_t id) : id(id) {}
	~Collider();
	Collider(const Collider&) = delete;
	Collider& operator=(const Collider&) = delete;
	const std::uint64_t id;
};

/// What tells that a shape is still the one a side was made from: sizes, and where it is.
struct Print
{
	const void* shape = nullptr;
	const void* data = nullptr;
	int type = -1, count = 0;
	std::array<btScalar, 8> sizes{};
	bool operator==(const Print& o) const
	{
		return shape == o.shape && data == o.data && type == o.type && count == o.count && sizes == o.sizes;
	}
	bool operator<(const Print& o) const;
};
Print printOf(const btCollisionShape& shape);


struct Side
{
	Print print;
	std::uint64_t collider = 0;
	bool points = false, field = false;
	bool ours = false;
	btTransform body_from_data = btTransform::getIdentity();
	/// Farthest the surface is from the body's origin, and radius of what is around its middle [m]; 0 where it has no end.
	btScalar reach = 0, radius = 0;
	std::shared_ptr<const Options> options;
	std::string trouble;  // why it cannot collide; empty if it can
	std::shared_ptr<const void> keep;

	/// Whether a shape is still the one this was made from.
	bool is(const btCollisionShape& shape) const;
};

/// What a shape is to the engine. Builds where that is needed: a hull's faces, a static mesh's field.
Side sideOf(const btCollisionShape& shape, const Options& options);

/// The field of a static concave shape, built or found. Null with an error.
Data::Ptr sheetOf(const btConcaveShape& shape, double voxel, double thickness);
}  // namespace palpate
