// The shapes of palpate, by name.
#include "lab.h"

#include <palpate/bullet.h>

#include <cstdio>
#include <stdexcept>

namespace lab
{
namespace
{
palpate::Data::Ptr build(const Mesh& mesh, const Args& args)
{
	palpate::BuildParams params;
	params.voxel = args.number("voxel", 0);
	params.resolution = params.voxel > 0 ? 0 : std::uint32_t(args.number("resolution", 128));
	params.spacing = args.number("spacing", 0);
	params.cluster = std::uint32_t(args.number("cluster", 0));
	std::vector<double> positions;
	for (const btVector3& p : mesh.vertices)
		positions.insert(positions.end(), {double(p.x()), double(p.y()), double(p.z())});
	const std::vector<std::uint32_t> triangles(mesh.corners.begin(), mesh.corners.end());
	palpate::Data::Ptr data =
		palpate::Data::fromMesh(positions.data(), positions.size() / 3, triangles.data(), triangles.size() / 3, params);
	if (!data)
		throw std::runtime_error(palpate::lastError());
	std::fprintf(stderr, "%zu points\n", data->pointCount());
	return data;
}
}  // namespace

void registerPlugin(btCollisionDispatcher& dispatcher, const Args& args)
{
	palpate::Options options;
	const std::string choice = args.text("choice", "patches");
	if (choice == "regular")
		options.choice = palpate::Choice::Regular;
	else if (choice == "segmented")
		options.choice = palpate::Choice::Segmented;
	else if (choice != "patches")
		throw std::runtime_error("--choice is regular, segmented or patches, not " + choice);
	// Segments are the nodes of a level, 1 being the root.
	options.count = options.choice == palpate::Choice::Segmented ? int(args.number("level", 1)) : int(args.number("manifolds", options.count));
	options.threshold = args.number("threshold", 0);
	options.spread = args.number("spread", 0);
	options.both = args.has("both");
	options.budget_points = std::size_t(args.number("budget-points", 0));
	options.budget_micros = args.number("budget-micros", 0);
	options.depenetration = args.number("depenetration", options.depenetration);
	options.static_voxel = args.number("static-voxel", 0);
	options.static_thickness = args.number("static-thickness", 0);
	palpate::registerWith(dispatcher, options);
}

btCollisionShape* pluginPart(const std::string& kind, const Mesh& mesh, const Args& args, Keep& keep)
{
	if (kind == "mixed")
		return keep.own(new palpate::MixedShape(build(mesh, args)));
	if (kind == "pointshell")
		return keep.own(new palpate::PointshellShape(build(mesh, args)));
	if (kind == "voxelmap")
		return keep.own(new palpate::VoxelmapShape(build(mesh, args)));
	return nullptr;
}

btCollisionShape* pluginFile(const std::string& path, bool moves, Keep& keep, btTransform& body_from_file, btVector3& inertia)
{
	const palpate::Data::Ptr data = palpate::Data::open(path);
	if (!data)
		throw std::runtime_error(path + ": " + palpate::lastError());
	const palpate::MassFrame frame = palpate::massFrame(*data);
	body_from_file = moves ? frame.body_from_data : btTransform::getIdentity();
	inertia = frame.inertia;
	return keep.own(new palpate::MixedShape(data, body_from_file));
}

std::vector<btVector3> shellPoints(const btCollisionShape* shape, const Mesh& mesh)
{
	const auto* ours = dynamic_cast<const palpate::Shape*>(shape);
	return ours && ours->data() ? ours->data()->points() : mesh.vertices;
}

std::string pluginKinds() { return " mixed pointshell voxelmap"; }
}  // namespace lab
