// nanoflann as a peer: the nearest point of a cloud. Protocol: ../README.md. f32, KDTreeSingleIndexAdaptor, one thread.
//
// Timed: making the tree; one findNeighbors for one neighbour for each probe. Not timed: reading the cloud and the probes.
#include "../protocol.hpp"

#include <nanoflann.hpp>

#include <cmath>
#include <ctime>
#include <limits>
#include <memory>

namespace {

using namespace protocol;

// The cloud as nanoflann asks for it.
struct Cloud {
    std::string path;
    std::vector<float> xyz;

    size_t kdtree_get_point_count() const { return xyz.size() / 3; }
    float kdtree_get_pt(size_t i, size_t axis) const { return xyz[3 * i + axis]; }
    template <typename Box>
    bool kdtree_get_bbox(Box&) const {
        return false;
    }
};

using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Cloud>, Cloud, 3, uint32_t>;

// Squared distance to the nearest point [m²].
float nearest(const Tree& tree, const float* probe) {
    uint32_t index = 0;
    float squared = 0.0f;
    nanoflann::KNNResultSet<float, uint32_t> found(1);
    found.init(&index, &squared);
    tree.findNeighbors(found, probe, nanoflann::SearchParams());
    return squared;
}

// Time this thread has run [ns].
int64_t thread_time() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

// What measuring nothing gives [ns]: the median of many.
int64_t empty_measurement() {
    std::vector<int64_t> times(1001);
    for (int64_t& time : times) {
        const int64_t start = thread_time();
        time = thread_time() - start;
    }
    std::nth_element(times.begin(), times.begin() + 500, times.end());
    return times[500];
}

std::string answer(Cloud& cloud, const std::string& line) {
    const std::string job = text(line, "job");
    const int version = NANOFLANN_VERSION;
    if (job == "hello") {
        const std::string digits = std::to_string(version >> 8) + "." + std::to_string(version >> 4 & 15);
        return "{\"ok\":true,\"version\":\"" + digits + "\",\"error\":null}";
    }
    if (job != "nearest") throw std::runtime_error("nanoflann does not do the job '" + job + "'");
    const std::string kind = text(line, "kind"), path = text(line, "cloud"), out = text(line, "out");
    if (!kind.empty() && kind != "single") throw std::runtime_error("nanoflann has no query of the kind '" + kind + "'");
    if (cloud.path != path) {
        cloud.xyz = read_points(path);
        cloud.path = path;
    }
    const std::vector<float> probes = read_points(text(line, "points"));
    const size_t count = probes.size() / 3;
    if (cloud.xyz.empty() || count == 0) throw std::runtime_error("the cloud or the probes have no points");
    const int repeat = repeats(line);
    const double leaf = number(line, "leaf", 0.0);
    const nanoflann::KDTreeSingleIndexAdaptorParams parameters(leaf >= 1.0 ? static_cast<size_t>(leaf) : 10);

    std::vector<double> seconds;
    std::unique_ptr<Tree> tree;
    for (int i = 0; i < std::min(repeat, 3); ++i) {
        tree.reset();
        const auto start = Clock::now();
        tree = std::make_unique<Tree>(3, cloud, parameters);
        seconds.push_back(since(start));
    }

    std::vector<float> squares(count);
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < repeat; ++i) {
        const auto start = Clock::now();
        for (size_t p = 0; p < count; ++p) squares[p] = nearest(*tree, &probes[3 * p]);
        best = std::min(best, since(start));
    }

    const int64_t empty = empty_measurement();
    std::vector<double> micros(count, std::numeric_limits<double>::max());
    for (int i = 0; i < repeat; ++i) {
        for (size_t p = 0; p < count; ++p) {
            const int64_t start = thread_time();
            squares[p] = nearest(*tree, &probes[3 * p]);
            const int64_t took = thread_time() - start;
            micros[p] = std::min(micros[p], 1e-3 * static_cast<double>(std::max<int64_t>(took - empty, 0)));
        }
    }

    double sum = 0.0;
    std::vector<float> distances;
    for (const float square : squares) {
        sum += square;
        distances.push_back(std::sqrt(square));
    }
    if (!out.empty()) write_distances(out, distances);
    return "{\"ok\":true,\"seconds\":" + json(seconds) + ",\"count\":" + std::to_string(count) +
           ",\"mean_micros\":" + json(1e6 * best / static_cast<double>(count)) + ",\"micros\":" + json(micros) +
           ",\"values\":[" + json(sum) + "],\"peak_rss_bytes\":" + std::to_string(peak_rss()) + ",\"error\":null}";
}

}  // namespace

int main() {
    Cloud cloud;
    return serve([&](const std::string& line) { return answer(cloud, line); });
}
