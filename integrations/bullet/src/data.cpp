// Data: the engine's shapes, owned.
#include "error.h"
#include "palpate/bullet.h"

#include <palpate.h>

#include <cmath>
#include <cstring>

namespace palpate
{
namespace
{
palp_shape_params convert(const BuildParams& params)
{
	palp_shape_params out;
	std::memset(&out, 0, sizeof(out));
	out.voxel = params.voxel;
	out.resolution = params.resolution;
	out.spacing = params.spacing;
	out.cluster = params.cluster;
	out.threads = params.threads;
	return out;
}

/// Whether a call went well; if not, keeps its message.
bool good(int status, const palp_error& error)
{
	if (status == PALP_OK)
		return true;
	fail(error.message);
	return false;
}
}  // namespace

Data::Ptr Data::adopt(std::uint64_t shape)
{
	std::shared_ptr<Data> data(new Data);
	data->m_shape = shape;
	palp_error error;
	palp_shape_info info;
	palp_mass mass;
	const palp_shape handle = {shape};
	if (!good(palp_shape_get_info(handle, &info, &error), error) || !good(palp_shape_get_mass(handle, 1, &mass, &error), error))
		return nullptr;
	data->m_points = std::size_t(info.points);
	data->m_volume = std::fabs(mass.volume);
	for (int k = 0; k < 3; k++)
	{
		data->m_min[k] = info.aabb_min[k];
		data->m_max[k] = info.aabb_max[k];
		data->m_ball[k] = info.ball_centre[k];
		// A surface without volume has no centre of mass: take the middle of its box.
		data->m_centre[k] = std::isfinite(mass.centre[k]) ? mass.centre[k] : (info.aabb_min[k] + info.aabb_max[k]) / 2;
	}
	data->m_ball[3] = info.ball_radius + info.coverage;
	for (int k = 0; k < 9; k++)
	{
		const double one = mass.inertia[k] / mass.mass;
		data->m_inertia[k] = std::isfinite(one) ? one : (k % 4 == 0 ? 0.4 * data->m_ball[3] * data->m_ball[3] : 0.0);
	}
	return data;
}

Data::Ptr Data::build(std::uint64_t mesh, const BuildParams& params)
{
	palp_error error;
	palp_shape shape;
	const palp_shape_params how = convert(params);
	const bool built = good(palp_shape_build(palp_mesh{mesh}, &how, nullptr, nullptr, &shape, &error), error);
	palp_mesh_free(palp_mesh{mesh}, nullptr);
	return built ? adopt(shape.id) : nullptr;
}

Data::~Data() { palp_shape_free(palp_shape{m_shape}, nullptr); }

Data::Ptr Data::fromMesh(const double* positions, std::size_t vertices, const std::uint32_t* triangles, std::size_t count,
						 const BuildParams& params)
{
	palp_error error;
	palp_mesh mesh;
	return good(palp_mesh_from_arrays(positions, vertices, triangles, count, &mesh, &error), error) ? build(mesh.id, params) : nullptr;
}

Data::Ptr Data::fromSheet(const double* positions, std::size_t vertices, const std::uint32_t* triangles, std::size_t count,
						  const double* up, double thickness, const BuildParams& params)
{
	palp_error error;
	palp_mesh mesh;
	const int status = palp_mesh_thicken(positions, vertices, triangles, count, up, thickness, &mesh, &error);
	return good(status, error) ? build(mesh.id, params) : nullptr;
}

Data::Ptr Data::fromFile(const std::string& path, double unit, const BuildParams& params, const std::string& cache)
{
	palp_error error;
	if (!cache.empty())
	{
		palp_shape shape;
		const palp_shape_params how = convert(params);
		const int status = palp_shape_build_cached(path.c_str(), unit, cache.c_str(), &how, nullptr, nullptr, &shape, nullptr, &error);
		return good(status, error) ? adopt(shape.id) : nullptr;
	}
	palp_mesh mesh;
	return good(palp_mesh_load(path.c_str(), unit, &mesh, &error), error) ? build(mesh.id, params) : nullptr;
}

Data::Ptr Data::open(const std::string& path)
{
	palp_error error;
	palp_shape shape;
	return good(palp_shape_load(path.c_str(), nullptr, &shape, &error), error) ? adopt(shape.id) : nullptr;
}

Data::Ptr Data::sample(const std::string& name, const BuildParams& params)
{
	palp_error error;
	palp_mesh mesh;
	return good(palp_mesh_sample(name.c_str(), &mesh, &error), error) ? build(mesh.id, params) : nullptr;
}

void Data::mesh(std::vector<double>& positions, std::vector<std::uint32_t>& triangles) const
{
	positions.clear();
	triangles.clear();
	palp_mesh mesh;
	std::size_t vertices = 0, count = 0;
	if (palp_shape_get_mesh(palp_shape{m_shape}, &mesh, nullptr) != PALP_OK)
		return;
	palp_mesh_copy_positions(mesh, nullptr, 0, &vertices, nullptr);
	palp_mesh_copy_triangles(mesh, nullptr, 0, &count, nullptr);
	positions.resize(3 * vertices);
	triangles.resize(3 * count);
	palp_mesh_copy_positions(mesh, positions.data(), vertices, nullptr, nullptr);
	palp_mesh_copy_triangles(mesh, triangles.data(), count, nullptr, nullptr);
	palp_mesh_free(mesh, nullptr);
}

Data::Ptr Data::scaled(double factor) const
{
	palp_error error;
	palp_shape shape;
	return good(palp_shape_scaled(palp_shape{m_shape}, factor, &shape, &error), error) ? adopt(shape.id) : nullptr;
}

std::vector<btVector3> Data::points() const
{
	std::vector<palp_point> raw(m_points);
	palp_shape_copy_points(palp_shape{m_shape}, -1, raw.data(), raw.size(), nullptr, nullptr);
	std::vector<btVector3> points;
	points.reserve(raw.size());
	for (const palp_point& p : raw)
		points.emplace_back(btScalar(p.position[0]), btScalar(p.position[1]), btScalar(p.position[2]));
	return points;
}
}  // namespace palpate
