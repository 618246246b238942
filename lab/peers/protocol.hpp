// The peers' side of the protocol in README.md, shared by the C++ peers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace protocol {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Requests are flat objects written by palpate-lab, so finding `"key":` is enough.
inline size_t after(const std::string& line, const std::string& key) {
    const size_t at = line.find("\"" + key + "\":");
    return at == std::string::npos ? at : at + key.size() + 3;
}

inline std::string text(const std::string& line, const std::string& key) {
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

inline double number(const std::string& line, const std::string& key, double otherwise) {
    const size_t at = after(line, key);
    if (at == std::string::npos) return otherwise;
    const char* begin = line.c_str() + at;
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    return end == begin ? otherwise : value;
}

// How often to do the work.
inline int repeats(const std::string& line) { return std::max(1, static_cast<int>(number(line, "repeat", 1))); }

inline std::vector<char> bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::vector<char> data(static_cast<size_t>(in.tellg()));
    in.seekg(0);
    in.read(data.data(), static_cast<std::streamsize>(data.size()));
    return data;
}

// A raw mesh file: the coordinates of its vertices and the corners of its triangles, three each.
struct Mesh {
    std::vector<float> points;
    std::vector<uint32_t> corners;
};

inline Mesh read_mesh(const std::string& path) {
    const std::vector<char> data = bytes(path);
    uint32_t counts[2];
    if (data.size() < sizeof counts) throw std::runtime_error(path + " is too short for a mesh");
    std::memcpy(counts, data.data(), sizeof counts);
    const size_t point_bytes = size_t(counts[0]) * 12, triangle_bytes = size_t(counts[1]) * 12;
    if (data.size() != sizeof counts + point_bytes + triangle_bytes)
        throw std::runtime_error(path + " has another length than its counts say");
    Mesh mesh{std::vector<float>(size_t(counts[0]) * 3), std::vector<uint32_t>(size_t(counts[1]) * 3)};
    std::memcpy(mesh.points.data(), data.data() + sizeof counts, point_bytes);
    std::memcpy(mesh.corners.data(), data.data() + sizeof counts + point_bytes, triangle_bytes);
    return mesh;
}

// The coordinates of a raw points file, three for each point.
inline std::vector<float> read_points(const std::string& path) {
    const std::vector<char> data = bytes(path);
    std::vector<float> xyz(data.size() / (3 * sizeof(float)) * 3);
    std::memcpy(xyz.data(), data.data(), xyz.size() * sizeof(float));
    return xyz;
}

inline void write_distances(const std::string& path, const std::vector<float>& distances) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(distances.data()), static_cast<std::streamsize>(distances.size() * sizeof(float)));
    if (!file) throw std::runtime_error("cannot write " + path);
}

// High-water mark of this process's resident memory, from /proc/self/status.
inline uint64_t peak_rss() {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    return 0;
}

// A JSON number with all its digits.
inline std::string json(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    return digits;
}

inline std::string json(const std::vector<double>& values) {
    std::string out = "[";
    for (const double value : values) out += (out.size() > 1 ? "," : "") + json(value);
    return out + "]";
}

// Answers every line of standard input with `answer(line)`.
template <typename Answer>
int serve(Answer answer) {
    for (std::string line; std::getline(std::cin, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        std::string reply;
        try {
            reply = answer(line);
        } catch (const std::exception& e) {
            std::string what;
            for (const char* c = e.what(); *c; ++c) what += (*c == '"' || *c == '\\' || *c < ' ') ? '\'' : *c;
            reply = "{\"ok\":false,\"seconds\":[],\"error\":\"" + what + "\"}";
        }
        std::cout << reply << std::endl;
    }
    return 0;
}

}  // namespace protocol
