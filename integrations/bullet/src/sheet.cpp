// Static concave shapes as fields: their triangles, which the engine makes solid where they are open.
#include "error.h"
#include "solid.h"

#include <BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace palpate
{
namespace
{
/// Shares of the largest extent: default voxel and thickness.
const double VOXEL = 1.0 / 200, THICKNESS = 1.0 / 20;

/// Collects triangles; the engine makes vertices at one place one.
struct Soup : btTriangleCallback
{
	std::vector<double> positions;
	std::vector<std::uint32_t> triangles;

	void processTriangle(btVector3* triangle, int, int) override
	{
		for (int k = 0; k < 3; k++)
		{
			triangles.push_back(std::uint32_t(positions.size() / 3));
			positions.insert(positions.end(), {double(triangle[k].x()), double(triangle[k].y()), double(triangle[k].z())});
		}
	}
};

struct Registry
{
	std::mutex lock;
	std::map<Print, Data::Ptr> sheets;
};

Registry& registry()
{
	static Registry all;
	return all;
}

Data::Ptr build(const btConcaveShape& shape, double voxel, double thickness)
{
	btVector3 low, high;
	shape.getAabb(btTransform::getIdentity(), low, high);
	const btVector3 pad(1, 1, 1);
	Soup soup;
	shape.processAllTriangles(&soup, low - pad, high + pad);
	if (soup.triangles.empty())
	{
		fail("it has no triangles");
		return nullptr;
	}
	double least[3] = {1e300, 1e300, 1e300}, most[3] = {-1e300, -1e300, -1e300}, extent = 0;
	for (std::size_t i = 0; i < soup.positions.size(); i++)
	{
		least[i % 3] = std::min(least[i % 3], soup.positions[i]);
		most[i % 3] = std::max(most[i % 3], soup.positions[i]);
	}
	for (int k = 0; k < 3; k++)
		extent = std::max(extent, most[k] - least[k]);
	BuildParams params;
	params.voxel = voxel > 0 ? voxel : VOXEL * extent;
	// A height field's front is up, however its triangles turn.
	double axis[3] = {0, 0, 0};
	const double* up = nullptr;
	if (shape.getShapeType() == TERRAIN_SHAPE_PROXYTYPE)
	{
		axis[static_cast<const btHeightfieldTerrainShape&>(shape).getUpAxis()] = 1;
		up = axis;
	}
	return Data::fromSheet(soup.positions.data(), soup.positions.size() / 3, soup.triangles.data(), soup.triangles.size() / 3, up,
						   thickness > 0 ? thickness : THICKNESS * extent, params);
}

/// Which static shape: another box is another shape, wherever it is in memory.
Print key(const btConcaveShape& shape)
{
	Print print = printOf(shape);
	btVector3 low, high;
	shape.getAabb(btTransform::getIdentity(), low, high);
	for (std::size_t k = 0; k < 3; k++)
		print.sizes[3 + k] = high[int(k)] - low[int(k)];
	print.sizes[6] = low.x() + high.x();
	print.sizes[7] = low.y() + high.y() + 3 * (low.z() + high.z());
	return print;
}
}  // namespace

Data::Ptr sheetOf(const btConcaveShape& shape, double voxel, double thickness)
{
	Registry& all = registry();
	std::lock_guard<std::mutex> guard(all.lock);
	Data::Ptr& kept = all.sheets[key(shape)];
	if (!kept)
		kept = build(shape, voxel, thickness);
	return kept;
}

bool prepareStatic(const btConcaveShape& shape, double voxel, double thickness)
{
	Data::Ptr made = build(shape, voxel, thickness);
	if (!made)
		return false;
	Registry& all = registry();
	std::lock_guard<std::mutex> guard(all.lock);
	all.sheets[key(shape)] = made;
	return true;
}

void forgetStatic(const btConcaveShape& shape)
{
	Registry& all = registry();
	std::lock_guard<std::mutex> guard(all.lock);
	for (auto at = all.sheets.begin(); at != all.sheets.end();)
		at = at->first.shape == &shape ? all.sheets.erase(at) : std::next(at);
}
}  // namespace palpate
