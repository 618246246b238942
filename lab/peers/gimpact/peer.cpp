// Bullet's GImpact as a peer: all contacts of two meshes. Protocol: ../README.md. f32 (Debian's build), margin 0.
//
// Timed: btGImpactCollisionAlgorithm::processCollision with a result that keeps a count of the points in place of a
// manifold of four. Not timed: building the shapes, placing. GImpact has no boolean query and no distance.
#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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

// High-water mark of this process's resident memory, from /proc/self/status.
uint64_t peak_rss() {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    return 0;
}

struct Body {
    std::string path;
    double scale = 1.0;
    double seconds = 0.0;
    std::vector<float> points;
    std::vector<int> corners;
    std::unique_ptr<btTriangleIndexVertexArray> mesh;
    std::unique_ptr<btGImpactMeshShape> shape;
};

std::unique_ptr<Body> load(const std::string& path, double scale) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::vector<char> data(static_cast<size_t>(in.tellg()));
    in.seekg(0);
    in.read(data.data(), static_cast<std::streamsize>(data.size()));
    uint32_t counts[2];
    if (data.size() < sizeof counts) throw std::runtime_error(path + " is too short for a mesh");
    std::memcpy(counts, data.data(), sizeof counts);
    const size_t point_bytes = size_t(counts[0]) * 12, triangle_bytes = size_t(counts[1]) * 12;
    if (data.size() != sizeof counts + point_bytes + triangle_bytes)
        throw std::runtime_error(path + " has another length than its counts say");
    auto body = std::make_unique<Body>();
    body->path = path;
    body->scale = scale;
    body->points.resize(size_t(counts[0]) * 3);
    body->corners.resize(size_t(counts[1]) * 3);
    std::memcpy(body->points.data(), data.data() + sizeof counts, point_bytes);
    std::memcpy(body->corners.data(), data.data() + sizeof counts + point_bytes, triangle_bytes);
    for (float& c : body->points) c = static_cast<float>(c * scale);
    const auto start = Clock::now();
    body->mesh = std::make_unique<btTriangleIndexVertexArray>(int(counts[1]), body->corners.data(), 3 * int(sizeof(int)),
                                                              int(counts[0]), body->points.data(), 3 * int(sizeof(float)));
    body->shape = std::make_unique<btGImpactMeshShape>(body->mesh.get());
    body->shape->setMargin(0);
    body->shape->updateBound();
    body->seconds = since(start);
    return body;
}

// Counts contact points; a manifold would keep four.
struct Count : btManifoldResult {
    long points = 0;
    Count(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b) : btManifoldResult(a, b) {}
    void addContactPoint(const btVector3&, const btVector3&, btScalar) override { ++points; }
};

struct World {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    std::vector<std::unique_ptr<Body>> bodies;

    World() { btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher); }

    Body& body(const std::string& path, double scale) {
        for (auto& b : bodies)
            if (b->path == path && b->scale == scale) return *b;
        bodies.push_back(load(path, scale));
        return *bodies.back();
    }
};

std::vector<std::vector<double>> read_poses(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::vector<std::vector<double>> poses;
    for (std::string line; std::getline(in, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        std::vector<double> pose;
        std::istringstream words(line);
        for (std::string word; std::getline(words, word, ',');) pose.push_back(std::strtod(word.c_str(), nullptr));
        if (pose.size() != 7) throw std::runtime_error(path + " has a line that is no pose: " + line);
        poses.push_back(pose);
    }
    return poses;
}

std::string answer(World& world, const std::string& line) {
    const std::string job = text(line, "job");
    if (job == "hello") return "{\"ok\":true,\"version\":\"" + std::to_string(btGetVersion()) + "\",\"error\":null}";
    if (job != "pair") throw std::runtime_error("gimpact does not do the job '" + job + "'");
    const std::string kind = text(line, "kind");
    if (kind != "contacts") throw std::runtime_error("gimpact has no query of the kind '" + kind + "'");
    const double scale = number(line, "scale", 1.0), limit = number(line, "limit_s", 0.0);
    const int repeat = std::max(1, static_cast<int>(number(line, "repeat", 1)));
    Body& a = world.body(text(line, "mesh"), scale);
    Body& b = world.body(text(line, "mesh_b"), scale);

    btCollisionObject object_a, object_b;
    object_a.setCollisionShape(a.shape.get());
    object_b.setCollisionShape(b.shape.get());
    object_a.setWorldTransform(btTransform::getIdentity());
    std::string micros, values;
    size_t count = 0;
    const auto begin = Clock::now();
    for (const auto& pose : read_poses(text(line, "poses"))) {
        const btQuaternion turn{btScalar(pose[3]), btScalar(pose[4]), btScalar(pose[5]), btScalar(pose[6])};
        const btVector3 move{btScalar(scale * pose[0]), btScalar(scale * pose[1]), btScalar(scale * pose[2])};
        object_b.setWorldTransform(btTransform(turn, move));
        const btCollisionObjectWrapper wrapped_a(nullptr, a.shape.get(), &object_a, object_a.getWorldTransform(), -1, -1);
        const btCollisionObjectWrapper wrapped_b(nullptr, b.shape.get(), &object_b, object_b.getWorldTransform(), -1, -1);
        double best = 1e300;
        long points = 0;
        for (int i = 0; i < repeat; ++i) {
            btCollisionAlgorithm* algorithm =
                world.dispatcher.findAlgorithm(&wrapped_a, &wrapped_b, nullptr, BT_CONTACT_POINT_ALGORITHMS);
            Count result(&wrapped_a, &wrapped_b);
            const btDispatcherInfo info;
            const auto start = Clock::now();
            algorithm->processCollision(&wrapped_a, &wrapped_b, info, &result);
            const double took = since(start);
            best = std::min(best, took);
            points = result.points;
            algorithm->~btCollisionAlgorithm();
            world.dispatcher.freeCollisionAlgorithm(algorithm);
            if (took > 0.02) break;
        }
        micros += (count ? "," : "") + std::to_string(best * 1e6);
        values += (count ? "," : "") + std::to_string(points);
        ++count;
        if (limit > 0.0 && since(begin) > limit) break;
    }
    return "{\"ok\":true,\"seconds\":[" + std::to_string(a.seconds + b.seconds) + "],\"count\":" + std::to_string(count) +
           ",\"micros\":[" + micros + "],\"values\":[" + values + "],\"peak_rss_bytes\":" + std::to_string(peak_rss()) +
           ",\"error\":null}";
}

}  // namespace

int main() {
    World world;
    for (std::string line; std::getline(std::cin, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        std::string reply;
        try {
            reply = answer(world, line);
        } catch (const std::exception& e) {
            std::string what;
            for (const char* c = e.what(); *c; ++c) what += (*c == '"' || *c == '\\' || *c < ' ') ? '\'' : *c;
            reply = "{\"ok\":false,\"seconds\":[],\"error\":\"" + what + "\"}";
        }
        std::cout << reply << std::endl;
    }
}
