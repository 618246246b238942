// Bullet's shapes for the engine: by formula where there is one, else a convex hull or a field.
#include "solid.h"

#include "error.h"

#include <BulletCollision/CollisionShapes/btConvexPolyhedron.h>
#include <LinearMath/btConvexHullComputer.h>
#include <palpate.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

namespace palpate
{
namespace
{
/// Voxels along the largest extent of a hull that the engine does not take as one.
const std::uint32_t HULL_RESOLUTION = 64;
/// Directions in which a convex shape without vertices is asked for its outermost point.
const int DIRECTIONS = 512;

using Vec = std::array<double, 3>;

Vec along(int axis, double length)
{
	Vec v = {{0, 0, 0}};
	v[std::size_t(axis)] = length;
	return v;
}

/// A collider, or null with the engine's error.
template <typename Make>
std::shared_ptr<const Collider> collider(Make make)
{
	palp_solid handle = {0};
	palp_error error;
	if (make(&handle, &error) != PALP_OK)
	{
		fail(error.message);
		return nullptr;
	}
	return std::make_shared<const Collider>(handle.id);
}

/// The outermost points of a convex shape, without its margin.
std::vector<btVector3> outermost(const btConvexShape& shape)
{
	std::vector<btVector3> points;
	if (shape.getShapeType() == CONVEX_HULL_SHAPE_PROXYTYPE)
	{
		const auto& hull = static_cast<const btConvexHullShape&>(shape);
		for (int i = 0; i < hull.getNumPoints(); i++)
			points.push_back(hull.getScaledPoint(i));
		return points;
	}
	if (shape.isPolyhedral())
	{
		const auto& hull = static_cast<const btPolyhedralConvexShape&>(shape);
		for (int i = 0; i < hull.getNumVertices(); i++)
		{
			points.emplace_back();
			hull.getVertex(i, points.back());
		}
		if (points.size() >= 4)
			return points;
		points.clear();
	}
	// A spiral over the sphere.
	for (int i = 0; i < DIRECTIONS; i++)
	{
		const double z = 1 - (2 * i + 1) / double(DIRECTIONS), angle = i * 2.399963229728653, r = std::sqrt(1 - z * z);
		const btVector3 direction(btScalar(r * std::cos(angle)), btScalar(r * std::sin(angle)), btScalar(z));
		points.push_back(shape.localGetSupportingVertex(direction));
	}
	return points;
}

/// The hull of a convex shape: as such if the engine takes it, else as a field.
bool hull(const btConvexShape& shape, Side& side)
{
	const std::vector<btVector3> points = outermost(shape);
	btConvexHullComputer computer;
	if (points.size() >= 4)
		computer.compute(&points[0].x(), int(sizeof(btVector3)), int(points.size()), 0, 0);
	std::vector<double> positions;
	std::vector<std::uint32_t> triangles;
	for (int i = 0; i < computer.vertices.size(); i++)
		for (int k = 0; k < 3; k++)
			positions.push_back(computer.vertices[i][k]);
	for (int i = 0; i < computer.faces.size(); i++)
	{
		const btConvexHullComputer::Edge* first = &computer.edges[computer.faces[i]];
		const auto corner = std::uint32_t(first->getSourceVertex());
		for (const auto* edge = first->getNextEdgeOfFace(); edge->getTargetVertex() != int(corner); edge = edge->getNextEdgeOfFace())
			triangles.insert(triangles.end(), {corner, std::uint32_t(edge->getSourceVertex()), std::uint32_t(edge->getTargetVertex())});
	}
	if (triangles.size() < 12)
	{
		side.trouble = "a convex shape has no volume: it collides with nothing of palpate";
		return false;
	}
	palp_solid handle = {0};
	if (palp_solid_hull(positions.data(), positions.size() / 3, triangles.data(), triangles.size() / 3, &handle, nullptr) == PALP_OK)
	{
		side.keep = std::make_shared<const Collider>(handle.id);
		side.collider = handle.id;
		return true;
	}
	BuildParams params;
	params.resolution = HULL_RESOLUTION;
	const Data::Ptr data = Data::fromMesh(positions.data(), positions.size() / 3, triangles.data(), triangles.size() / 3, params);
	if (!data)
	{
		side.trouble = "a convex shape cannot be used: " + lastError();
		return false;
	}
	side.keep = data;
	side.collider = data->shapeId();
	return true;
}

/// A solid by formula; null where the shape has none.
std::shared_ptr<const Collider> formula(const btCollisionShape& shape, bool& has_one)
{
	has_one = true;
	const Vec origin = {{0, 0, 0}};
	switch (shape.getShapeType())
	{
		case STATIC_PLANE_PROXYTYPE:
		{
			const auto& plane = static_cast<const btStaticPlaneShape&>(shape);
			const btVector3& n = plane.getPlaneNormal();
			const Vec normal = {{n.x(), n.y(), n.z()}};
			return collider([&](palp_solid* out, palp_error* error) {
				return palp_solid_half_space(normal.data(), plane.getPlaneConstant(), out, error);
			});
		}
		case SPHERE_SHAPE_PROXYTYPE:
		{
			const double radius = static_cast<const btSphereShape&>(shape).getRadius();
			return collider([&](palp_solid* out, palp_error* error) { return palp_solid_sphere(origin.data(), radius, out, error); });
		}
		case BOX_SHAPE_PROXYTYPE:
		{
			const btVector3 half = static_cast<const btBoxShape&>(shape).getHalfExtentsWithMargin();
			const Vec extents = {{half.x(), half.y(), half.z()}};
			return collider(
				[&](palp_solid* out, palp_error* error) { return palp_solid_box(origin.data(), extents.data(), out, error); });
		}
		case CAPSULE_SHAPE_PROXYTYPE:
		{
			const auto& capsule = static_cast<const btCapsuleShape&>(shape);
			const Vec top = along(capsule.getUpAxis(), capsule.getHalfHeight()), bottom = along(capsule.getUpAxis(), -capsule.getHalfHeight());
			return collider([&](palp_solid* out, palp_error* error) {
				return palp_solid_capsule(bottom.data(), top.data(), capsule.getRadius(), out, error);
			});
		}
		case CYLINDER_SHAPE_PROXYTYPE:
		{
			const auto& cylinder = static_cast<const btCylinderShape&>(shape);
			const int up = cylinder.getUpAxis();
			const btVector3 half = cylinder.getHalfExtentsWithMargin();
			const btScalar r = half[(up + 1) % 3], other = half[(up + 2) % 3];
			if (std::fabs(r - other) > btScalar(1e-5) * r)
				break;  // an ellipse: as a hull
			const Vec top = along(up, half[up]), bottom = along(up, -half[up]);
			return collider(
				[&](palp_solid* out, palp_error* error) { return palp_solid_cylinder(bottom.data(), top.data(), r, out, error); });
		}
		case CONE_SHAPE_PROXYTYPE:
		{
			const auto& cone = static_cast<const btConeShape&>(shape);
			const Vec base = along(cone.getConeUpIndex(), -cone.getHeight() / 2), apex = along(cone.getConeUpIndex(), cone.getHeight() / 2);
			return collider([&](palp_solid* out, palp_error* error) {
				return palp_solid_cone(base.data(), apex.data(), cone.getRadius(), out, error);
			});
		}
		default:
			break;
	}
	has_one = false;
	return nullptr;
}

struct Cache
{
	std::mutex lock;
	std::map<Print, std::pair<std::weak_ptr<const void>, std::uint64_t>> hulls;
};

Cache& cache()
{
	static Cache all;
	return all;
}
}  // namespace

Collider::~Collider() { palp_solid_free(palp_solid{id}, nullptr); }

bool Print::operator<(const Print& o) const
{
	return std::tie(shape, data, type, count, sizes) < std::tie(o.shape, o.data, o.type, o.count, o.sizes);
}

Print printOf(const btCollisionShape& shape)
{
	Print print;
	print.shape = &shape;
	print.type = shape.getShapeType();
	auto put = [&print](int at, const btVector3& v) {
		for (int k = 0; k < 3; k++)
			print.sizes[std::size_t(at + k)] = v[k];
	};
	switch (print.type)
	{
		case FAST_CONCAVE_MESH_PROXYTYPE:
			if (const auto* ours = dynamic_cast<const Shape*>(&shape))
				print.data = ours->data().get();
			return print;
		case STATIC_PLANE_PROXYTYPE:
			put(0, static_cast<const btStaticPlaneShape&>(shape).getPlaneNormal());
			print.sizes[3] = static_cast<const btStaticPlaneShape&>(shape).getPlaneConstant();
			return print;
		case SPHERE_SHAPE_PROXYTYPE:
			print.sizes[0] = static_cast<const btSphereShape&>(shape).getRadius();
			return print;
		case CAPSULE_SHAPE_PROXYTYPE:
			print.sizes[0] = static_cast<const btCapsuleShape&>(shape).getRadius();
			print.sizes[1] = static_cast<const btCapsuleShape&>(shape).getHalfHeight();
			return print;
		case CONE_SHAPE_PROXYTYPE:
			print.sizes[0] = static_cast<const btConeShape&>(shape).getRadius();
			print.sizes[1] = static_cast<const btConeShape&>(shape).getHeight();
			return print;
		case BOX_SHAPE_PROXYTYPE:
			put(0, static_cast<const btBoxShape&>(shape).getHalfExtentsWithMargin());
			return print;
		case CYLINDER_SHAPE_PROXYTYPE:
			put(0, static_cast<const btCylinderShape&>(shape).getHalfExtentsWithMargin());
			return print;
		case CONVEX_HULL_SHAPE_PROXYTYPE:
			print.count = static_cast<const btConvexHullShape&>(shape).getNumPoints();
			print.data = static_cast<const btConvexHullShape&>(shape).getUnscaledPoints();
			break;
		case TRIANGLE_MESH_SHAPE_PROXYTYPE:
			print.data = static_cast<const btTriangleMeshShape&>(shape).getMeshInterface();
			break;
		default:
			break;
	}
	put(0, shape.getLocalScaling());
	return print;
}

bool Side::is(const btCollisionShape& shape) const
{
	if (&shape != print.shape || shape.getShapeType() != print.type)
		return false;
	// Nothing else is of our type: no need to ask what is at a place where one of ours was.
	if (ours)
		return static_cast<const Shape&>(shape).data().get() == print.data;
	return printOf(shape) == print;
}

Side sideOf(const btCollisionShape& shape, const Options& options)
{
	Side side;
	side.print = printOf(shape);
	if (shape.getShapeType() == FAST_CONCAVE_MESH_PROXYTYPE)
		if (const auto* ours = dynamic_cast<const Shape*>(&shape))
		{
			side.ours = true;
			side.options = ours->options();
			if (!ours->data())
			{
				side.trouble = std::string(ours->getName()) + " has no data: it collides with nothing";
				return side;
			}
			side.points = ours->givesPoints();
			side.field = ours->givesField();
			side.body_from_data = ours->bodyFromData();
			side.reach = ours->reach();
			side.radius = btScalar(ours->data()->ballRadius());
			side.collider = ours->data()->shapeId();
			side.keep = ours->data();
			return side;
		}

	if (!shape.isInfinite())
	{
		btVector3 centre;
		shape.getBoundingSphere(centre, side.radius);
		side.reach = centre.length() + side.radius;
	}
	side.field = true;
	bool has_formula;
	if (std::shared_ptr<const Collider> solid = formula(shape, has_formula))
	{
		side.collider = solid->id;
		side.keep = solid;
		return side;
	}
	if (has_formula)
	{
		side.trouble = std::string("a shape of Bullet (") + shape.getName() + ") cannot be used: " + lastError();
		return side;
	}
	if (shape.isConvex())
	{
		Cache& all = cache();
		std::lock_guard<std::mutex> guard(all.lock);
		auto& kept = all.hulls[side.print];
		side.keep = kept.first.lock();
		if (side.keep)
			side.collider = kept.second;
		else if (hull(static_cast<const btConvexShape&>(shape), side))
			kept = {side.keep, side.collider};
		return side;
	}
	if (shape.isConcave())
	{
		if (Data::Ptr sheet = sheetOf(static_cast<const btConcaveShape&>(shape), options.static_voxel, options.static_thickness))
		{
			side.collider = sheet->shapeId();
			side.keep = sheet;
			side.points = true;  // asked for only where both shapes are
			return side;
		}
		side.trouble = std::string("a concave shape (") + shape.getName() + ") cannot be used: " + lastError();
		return side;
	}
	side.trouble = std::string("a shape of this kind (") + shape.getName() + ") does not collide with palpate";
	return side;
}
}  // namespace palpate
