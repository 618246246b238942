// Static concave shapes as fields: their triangles, made solid where they are open.
//
// An open sheet becomes solid below its front: a copy of it, moved against its mean normal by the thickness, and walls along its
// boundary. That closes terrains and height fields; a surface that faces all ways and has holes is given as it is, and the engine caps
// its holes.
#include "error.h"
#include "solid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

namespace palpate
{
namespace
{
/// Shares of the largest extent: default voxel and thickness.
const double VOXEL = 1.0 / 200, THICKNESS = 1.0 / 20;
/// A surface whose normals sum up to less than this share of its area faces all ways [1]. Larger: bowls are not thickened. Smaller: a
/// closed surface with a hole is taken for a sheet.
const double SHEET = 0.3;

/// Collects triangles; vertices with the same coordinates become one.
struct Soup : btTriangleCallback
{
	std::vector<double> positions;
	std::vector<std::uint32_t> triangles;
	std::map<std::array<btScalar, 3>, std::uint32_t> known;

	void processTriangle(btVector3* triangle, int, int) override
	{
		std::uint32_t corner[3];
		for (int k = 0; k < 3; k++)
		{
			const std::array<btScalar, 3> p = {{triangle[k].x(), triangle[k].y(), triangle[k].z()}};
			const auto at = known.emplace(p, std::uint32_t(positions.size() / 3));
			if (at.second)
				positions.insert(positions.end(), {double(p[0]), double(p[1]), double(p[2])});
			corner[k] = at.first->second;
		}
		if (corner[0] != corner[1] && corner[1] != corner[2] && corner[2] != corner[0])
			triangles.insert(triangles.end(), corner, corner + 3);
	}
};

/// Makes an open sheet solid; leaves closed surfaces, and those that face all ways.
void thicken(Soup& soup, double thickness, bool up)
{
	std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
	double sum[3] = {}, area = 0;
	auto& t = soup.triangles;
	for (std::size_t i = 0; i < t.size(); i += 3)
	{
		const double *a = &soup.positions[3 * t[i]], *b = &soup.positions[3 * t[i + 1]], *c = &soup.positions[3 * t[i + 2]];
		double n[3];
		for (int k = 0; k < 3; k++)
		{
			const int l = (k + 1) % 3, m = (k + 2) % 3;
			n[k] = ((b[l] - a[l]) * (c[m] - a[m]) - (b[m] - a[m]) * (c[l] - a[l])) / 2;
			sum[k] += n[k];
			edges[{t[i + std::size_t(k)], t[i + std::size_t(l)]}]++;
		}
		area += std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	}
	const double length = std::sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
	std::vector<std::pair<std::uint32_t, std::uint32_t>> open;
	for (const auto& edge : edges)
		if (!edges.count({edge.first.second, edge.first.first}))
			open.push_back(edge.first);
	if (open.empty() || !(length > SHEET * area))
		return;
	double down[3];
	int steep = 0;
	for (int k = 0; k < 3; k++)
	{
		down[k] = -sum[k] / length * thickness;
		if (std::fabs(sum[k]) > std::fabs(sum[steep]))
			steep = k;
	}
	// A height field's front is up, however its triangles turn.
	if (up && sum[steep] < 0)
	{
		for (std::size_t i = 0; i < t.size(); i += 3)
			std::swap(t[i], t[i + 1]);
		for (auto& edge : open)
			std::swap(edge.first, edge.second);
		for (double& d : down)
			d = -d;
	}
	const auto count = std::uint32_t(soup.positions.size() / 3);
	for (std::uint32_t i = 0; i < count; i++)
		for (int k = 0; k < 3; k++)
			soup.positions.push_back(soup.positions[3 * i + std::uint32_t(k)] + down[k]);
	const std::size_t top = t.size();
	for (std::size_t i = 0; i < top; i += 3)
		t.insert(t.end(), {t[i] + count, t[i + 2] + count, t[i + 1] + count});
	for (const auto& edge : open)
	{
		const std::uint32_t a = edge.first, b = edge.second;
		t.insert(t.end(), {b, a, a + count, b, a + count, b + count});
	}
}

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
	thicken(soup, thickness > 0 ? thickness : THICKNESS * extent, shape.getShapeType() == TERRAIN_SHAPE_PROXYTYPE);
	BuildParams params;
	params.voxel = voxel > 0 ? voxel : VOXEL * extent;
	return Data::fromMesh(soup.positions.data(), soup.positions.size() / 3, soup.triangles.data(), soup.triangles.size() / 3, params);
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
