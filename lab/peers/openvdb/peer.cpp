// OpenVDB as a peer: narrow-band signed distance field of a triangle mesh. Protocol: ../README.md.
//
// Timed: meshToSignedDistanceField alone (it converts the points to index space, then calls meshToVolume).
// Not timed: reading the mesh, sampling the points (trilinear, tools::BoxSampler).
#include <openvdb/openvdb.h>
#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/MeshToVolume.h>
#include <tbb/global_control.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Requests are flat objects written by palpate-lab, so finding `"key":` is enough.
size_t after(const std::string& line, const std::string& key) {
    const size_t at = line.find("\"" + key + "\":");
    return at == std::string::npos ? at : at + key.size() + 3;
}

std::string text(const std::string& line, const std::string& key) {
    size_t at = after(line, key);
    if (at == std::string::npos) return {};
    at = line.find_first_not_of(" ", at);
    if (at == std::string::npos || line[at] != '"') return {};
    std::string out;
    for (++at; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] == '\\' && at + 1 < line.size()) ++at;
        out += line[at];
    }
    return out;
}

double number(const std::string& line, const std::string& key, double otherwise) {
    const size_t at = after(line, key);
    if (at == std::string::npos) return otherwise;
    const char* begin = line.c_str() + at;
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    return end == begin ? otherwise : value;
}

std::vector<char> bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::vector<char> data(static_cast<size_t>(in.tellg()));
    in.seekg(0);
    in.read(data.data(), static_cast<std::streamsize>(data.size()));
    return data;
}

struct Mesh {
    std::string path;
    std::vector<openvdb::Vec3s> points;
    std::vector<openvdb::Vec3I> triangles;
};

void load(Mesh& mesh, const std::string& path) {
    if (mesh.path == path) return;
    const std::vector<char> data = bytes(path);
    uint32_t counts[2];
    if (data.size() < sizeof counts) throw std::runtime_error(path + " is too short for a mesh");
    std::memcpy(counts, data.data(), sizeof counts);
    const size_t point_bytes = size_t(counts[0]) * 12, triangle_bytes = size_t(counts[1]) * 12;
    if (data.size() != sizeof counts + point_bytes + triangle_bytes)
        throw std::runtime_error(path + " has another length than its counts say");
    mesh.points.resize(counts[0]);
    mesh.triangles.resize(counts[1]);
    std::memcpy(mesh.points.data(), data.data() + sizeof counts, point_bytes);
    std::memcpy(mesh.triangles.data(), data.data() + sizeof counts + point_bytes, triangle_bytes);
    mesh.path = path;
}

// High-water mark of this process's resident memory, from /proc/self/status.
uint64_t peak_rss() {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    return 0;
}

void sample(const openvdb::FloatGrid& grid, const std::string& points_path, const std::string& out_path) {
    const std::vector<char> raw = bytes(points_path);
    std::vector<float> xyz(raw.size() / sizeof(float));
    std::memcpy(xyz.data(), raw.data(), xyz.size() * sizeof(float));
    openvdb::tools::GridSampler<openvdb::FloatGrid::ConstAccessor, openvdb::tools::BoxSampler> sampler(
        grid.getConstAccessor(), grid.transform());
    std::vector<float> out(xyz.size() / 3);
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = sampler.wsSample(openvdb::Vec3d(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]));
    std::ofstream file(out_path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(float)));
    if (!file) throw std::runtime_error("cannot write " + out_path);
}

std::string answer(Mesh& mesh, const std::string& line) {
    const std::string job = text(line, "job");
    if (job == "hello") return "{\"ok\":true,\"version\":\"" OPENVDB_LIBRARY_VERSION_STRING "\",\"error\":null}";
    if (job != "build") throw std::runtime_error("openvdb does not do the job '" + job + "'");
    load(mesh, text(line, "mesh"));
    const double voxel = number(line, "voxel", 0.0);
    if (!(voxel > 0.0)) throw std::runtime_error("voxel must be positive");
    const auto band = static_cast<float>(number(line, "band", 3.0));
    const int repeat = std::max(1, static_cast<int>(number(line, "repeat", 1)));
    const int threads = std::max(1, static_cast<int>(number(line, "threads", 1)));
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));

    const auto transform = openvdb::math::Transform::createLinearTransform(voxel);
    const std::vector<openvdb::Vec4I> no_quads;
    openvdb::FloatGrid::Ptr grid;
    std::string seconds;
    for (int i = 0; i < repeat; ++i) {
        grid.reset();
        const auto start = std::chrono::steady_clock::now();
        grid = openvdb::tools::meshToSignedDistanceField<openvdb::FloatGrid>(*transform, mesh.points, mesh.triangles,
                                                                             no_quads, band, band);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        seconds += (i ? "," : "") + std::to_string(took.count());
    }
    const std::string points = text(line, "points"), out = text(line, "out");
    if (!points.empty() && !out.empty()) sample(*grid, points, out);
    return "{\"ok\":true,\"seconds\":[" + seconds + "],\"count\":" + std::to_string(grid->activeVoxelCount()) +
           ",\"bytes\":" + std::to_string(grid->memUsage()) + ",\"peak_rss_bytes\":" + std::to_string(peak_rss()) +
           ",\"error\":null}";
}

}  // namespace

int main() {
    openvdb::initialize();
    Mesh mesh;
    for (std::string line; std::getline(std::cin, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        std::string reply;
        try {
            reply = answer(mesh, line);
        } catch (const std::exception& e) {
            std::string what;
            for (const char* c = e.what(); *c; ++c) what += (*c == '"' || *c == '\\' || *c < ' ') ? '\'' : *c;
            reply = "{\"ok\":false,\"seconds\":[],\"error\":\"" + what + "\"}";
        }
        std::cout << reply << std::endl;
    }
}
