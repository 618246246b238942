// OpenVDB as a peer: narrow-band signed distance field of a triangle mesh. Protocol: ../README.md.
//
// Timed: meshToSignedDistanceField alone (it converts the points to index space, then calls meshToVolume).
// Not timed: reading the mesh, sampling the points (trilinear, tools::BoxSampler).
#include "../protocol.hpp"

#include <openvdb/openvdb.h>
#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/MeshToVolume.h>
#include <tbb/global_control.h>

namespace {

using namespace protocol;

struct Loaded {
    std::string path;
    std::vector<openvdb::Vec3s> points;
    std::vector<openvdb::Vec3I> triangles;
};

void load(Loaded& mesh, const std::string& path) {
    if (mesh.path == path) return;
    const Mesh raw = read_mesh(path);
    mesh.points.resize(raw.points.size() / 3);
    mesh.triangles.resize(raw.corners.size() / 3);
    std::memcpy(mesh.points.data(), raw.points.data(), raw.points.size() * sizeof(float));
    std::memcpy(mesh.triangles.data(), raw.corners.data(), raw.corners.size() * sizeof(uint32_t));
    mesh.path = path;
}

void sample(const openvdb::FloatGrid& grid, const std::string& points_path, const std::string& out_path) {
    const std::vector<float> xyz = read_points(points_path);
    openvdb::tools::GridSampler<openvdb::FloatGrid::ConstAccessor, openvdb::tools::BoxSampler> sampler(
        grid.getConstAccessor(), grid.transform());
    std::vector<float> out(xyz.size() / 3);
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = sampler.wsSample(openvdb::Vec3d(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]));
    write_distances(out_path, out);
}

std::string answer(Loaded& mesh, const std::string& line) {
    const std::string job = text(line, "job");
    if (job == "hello") return "{\"ok\":true,\"version\":\"" OPENVDB_LIBRARY_VERSION_STRING "\",\"error\":null}";
    if (job != "build") throw std::runtime_error("openvdb does not do the job '" + job + "'");
    load(mesh, text(line, "mesh"));
    const double voxel = number(line, "voxel", 0.0);
    if (!(voxel > 0.0)) throw std::runtime_error("voxel must be positive");
    const auto band = static_cast<float>(number(line, "band", 3.0));
    const int repeat = repeats(line);
    const int threads = std::max(1, static_cast<int>(number(line, "threads", 1)));
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));

    const auto transform = openvdb::math::Transform::createLinearTransform(voxel);
    const std::vector<openvdb::Vec4I> no_quads;
    openvdb::FloatGrid::Ptr grid;
    std::vector<double> seconds;
    for (int i = 0; i < repeat; ++i) {
        grid.reset();
        const auto start = Clock::now();
        grid = openvdb::tools::meshToSignedDistanceField<openvdb::FloatGrid>(*transform, mesh.points, mesh.triangles,
                                                                             no_quads, band, band);
        seconds.push_back(since(start));
    }
    const std::string points = text(line, "points"), out = text(line, "out");
    if (!points.empty() && !out.empty()) sample(*grid, points, out);
    return "{\"ok\":true,\"seconds\":" + json(seconds) + ",\"count\":" + std::to_string(grid->activeVoxelCount()) +
           ",\"bytes\":" + std::to_string(grid->memUsage()) + ",\"peak_rss_bytes\":" + std::to_string(peak_rss()) +
           ",\"error\":null}";
}

}  // namespace

int main() {
    openvdb::initialize();
    Loaded mesh;
    return serve([&](const std::string& line) { return answer(mesh, line); });
}
