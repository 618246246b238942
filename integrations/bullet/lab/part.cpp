// Grounds and parts by name.
#include "lab.h"

#include <BulletCollision/CollisionShapes/btShapeHull.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>

#include <cmath>
#include <stdexcept>

namespace lab
{
namespace
{
/// Half the width of grounds with an end [m].
const btScalar HALF = 2;
/// Cells along one side of the fine grounds: 2 * 100 * 100 triangles of 4 cm.
const int CELLS = 100;

btTriangleMesh* triangles(const Mesh& mesh, Keep& keep)
{
	btTriangleMesh* made = keep.own(new btTriangleMesh(true, false));
	made->preallocateVertices(int(mesh.vertices.size()));
	made->preallocateIndices(int(mesh.corners.size()));
	for (const btVector3& p : mesh.vertices)
		made->findOrAddVertex(p, false);
	for (std::size_t i = 0; i + 2 < mesh.corners.size(); i += 3)
		made->addTriangleIndices(mesh.corners[i], mesh.corners[i + 1], mesh.corners[i + 2]);
	return made;
}

btScalar bump(bool flat, btScalar x, btScalar y)
{
	return flat ? btScalar(0) : btScalar(0.02) * (std::sin(4 * x) + std::cos(5 * y) - 1);
}

Mesh sheet(int cells, bool flat)
{
	Mesh mesh;
	for (int j = 0; j <= cells; j++)
		for (int i = 0; i <= cells; i++)
		{
			const btScalar x = HALF * (2 * btScalar(i) / cells - 1), y = HALF * (2 * btScalar(j) / cells - 1);
			mesh.vertices.emplace_back(x, y, bump(flat, x, y));
		}
	const int row = cells + 1;
	for (int j = 0; j < cells; j++)
		for (int i = 0; i < cells; i++)
		{
			const int a = j * row + i;
			mesh.corners.insert(mesh.corners.end(), {a, a + 1, a + row + 1, a, a + row + 1, a + row});
		}
	return mesh;
}
}  // namespace

btCollisionShape* ground(const std::string& name, const Args& args, Keep& keep, btTransform& pose)
{
	const btScalar margin = btScalar(args.number("margin", 0.001));
	btCollisionShape* shape = nullptr;
	pose.setIdentity();
	if (name == "plane")
		shape = keep.own(new btStaticPlaneShape(btVector3(0, 0, 1), 0));
	else if (name == "box")
	{
		shape = keep.own(new btBoxShape(btVector3(HALF, HALF, 1)));
		pose.setOrigin(btVector3(0, 0, -1));
		return shape;  // its margin is inside it
	}
	else if (name == "mesh2" || name == "mesh20k" || name == "terrain")
	{
		const Mesh mesh = sheet(name == "mesh2" ? 1 : CELLS, name != "terrain");
		shape = keep.own(new btBvhTriangleMeshShape(triangles(mesh, keep), true));
	}
	else
		throw std::runtime_error("no ground is called " + name + "; there are: plane box mesh2 mesh20k terrain");
	shape->setMargin(name == "plane" ? btScalar(0) : margin);
	return shape;
}

btCollisionShape* part(const std::string& kind, const Mesh& mesh, const std::function<btVector3(const btVector3&)>& move, const Args& args,
					   Keep& keep)
{
	const btScalar margin = btScalar(args.number("margin", 0.001));
	if (kind == "hull" || kind == "hull42")
	{
		auto* hull = keep.own(new btConvexHullShape(&mesh.vertices[0].x(), int(mesh.vertices.size()), int(sizeof(btVector3))));
		hull->setMargin(margin);
		if (kind == "hull")
		{
			hull->optimizeConvexHull();
			return hull;
		}
		btShapeHull coarse(hull);
		coarse.buildHull(margin);
		auto* few = keep.own(new btConvexHullShape(&coarse.getVertexPointer()->x(), coarse.numVertices(), int(sizeof(btVector3))));
		few->setMargin(margin);
		return few;
	}
	if (kind == "hulls")
	{
		auto* compound = keep.own(new btCompoundShape());
		for (Mesh& group : loadObj(args.text("hulls", "")))
		{
			for (btVector3& p : group.vertices)
				p = move(p);
			auto* hull = keep.own(new btConvexHullShape(&group.vertices[0].x(), int(group.vertices.size()), int(sizeof(btVector3))));
			hull->setMargin(margin);
			compound->addChildShape(btTransform::getIdentity(), hull);
		}
		return compound;
	}
	if (kind == "gimpact")
	{
		auto* shape = keep.own(new btGImpactMeshShape(triangles(mesh, keep)));
		shape->setMargin(margin);
		shape->updateBound();
		return shape;
	}
	if (kind == "static")
	{
		auto* shape = keep.own(new btBvhTriangleMeshShape(triangles(mesh, keep), true));
		shape->setMargin(margin);
		return shape;
	}
	if (btCollisionShape* ours = pluginPart(kind, mesh, args, keep))
		return ours;
	throw std::runtime_error("no kind of shape is called " + kind + "; there are: hull hull42 hulls gimpact static" + pluginKinds());
}
}  // namespace lab
