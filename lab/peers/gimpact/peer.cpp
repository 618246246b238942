// Bullet's GImpact as a peer: all contacts of two meshes. Protocol: ../README.md. f32 (Debian's build), margin 0.
//
// Timed: btGImpactCollisionAlgorithm::processCollision with a result that keeps a count of the points in place of a
// manifold of four. Not timed: building the shapes, placing. GImpact has no boolean query and no distance.
#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>

#include "../protocol.hpp"

#include <memory>
#include <sstream>

namespace {

using namespace protocol;

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
    Mesh mesh = read_mesh(path);
    auto body = std::make_unique<Body>();
    body->path = path;
    body->scale = scale;
    body->points = std::move(mesh.points);
    body->corners.assign(mesh.corners.begin(), mesh.corners.end());
    for (float& c : body->points) c = static_cast<float>(c * scale);
    const auto start = Clock::now();
    body->mesh = std::make_unique<btTriangleIndexVertexArray>(
        int(body->corners.size() / 3), body->corners.data(), 3 * int(sizeof(int)), int(body->points.size() / 3),
        body->points.data(), 3 * int(sizeof(float)));
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
    const int repeat = repeats(line);
    Body& a = world.body(text(line, "mesh"), scale);
    Body& b = world.body(text(line, "mesh_b"), scale);

    btCollisionObject object_a, object_b;
    object_a.setCollisionShape(a.shape.get());
    object_b.setCollisionShape(b.shape.get());
    object_a.setWorldTransform(btTransform::getIdentity());
    std::vector<double> micros, values;
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
        micros.push_back(best * 1e6);
        values.push_back(static_cast<double>(points));
        if (limit > 0.0 && since(begin) > limit) break;
    }
    return "{\"ok\":true,\"seconds\":[" + json(a.seconds + b.seconds) + "],\"count\":" + std::to_string(micros.size()) +
           ",\"micros\":" + json(micros) + ",\"values\":" + json(values) + ",\"peak_rss_bytes\":" + std::to_string(peak_rss()) +
           ",\"error\":null}";
}

}  // namespace

int main() {
    World world;
    return serve([&](const std::string& line) { return answer(world, line); });
}
