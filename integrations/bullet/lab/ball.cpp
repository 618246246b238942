// A ball dropped on a flat ground: how far it sinks in, how high it comes back.
//
// Based on: sagardia14 4.1 and Table 1. Differs: a true step of 1/rate (the default of Bullet is 60 Hz inside), and many heights,
// because where the last step before touch ends decides how deep a ball sinks.
#include "lab.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lab
{
namespace
{
const double RADIUS = 0.5, GRAVITY = 10, MASS = 1, SECONDS = 3;

/// A sphere of triangles: an octahedron, divided.
Mesh sphere(int divisions)
{
	Mesh mesh;
	const btVector3 axes[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
	const int faces[8][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4}, {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
	for (const auto& face : faces)
	{
		const int first = int(mesh.vertices.size());
		auto at = [&](int i, int j) { return first + i * (i + 1) / 2 + j; };
		for (int i = 0; i <= divisions; i++)
			for (int j = 0; j <= i; j++)
			{
				const btScalar u = btScalar(divisions - i), v = btScalar(i - j), w = btScalar(j);
				mesh.vertices.push_back((axes[face[0]] * u + axes[face[1]] * v + axes[face[2]] * w).normalized() * btScalar(RADIUS));
			}
		for (int i = 0; i < divisions; i++)
			for (int j = 0; j <= i; j++)
			{
				mesh.corners.insert(mesh.corners.end(), {at(i, j), at(i + 1, j), at(i + 1, j + 1)});
				if (j < i)
					mesh.corners.insert(mesh.corners.end(), {at(i, j), at(i + 1, j + 1), at(i, j + 1)});
			}
	}
	return mesh;
}

struct Bounce
{
	double penetration = 0, apex = 0, micros = 0;
};
}  // namespace

int ball(const Args& args)
{
	const std::string kind = args.text("shape", "sphere"), on = args.text("ground", "box");
	const double rate = args.number("rate", 200), e = args.number("restitution", 0.5);
	const double from = args.number("from", 1), to = args.number("to", from);
	const int count = std::max(1, int(args.number("count", from == to ? 1 : 101)));

	Keep keep;
	const Mesh mesh = sphere(int(args.number("divisions", 100)));
	btCollisionShape* shape = kind == "sphere"
								  ? keep.own(new btSphereShape(btScalar(RADIUS)))
								  : part(kind, mesh, [](const btVector3& p) { return p; }, args, keep);
	btTransform ground_pose;
	btCollisionShape* floor = ground(on, args, keep, ground_pose);
	const btScalar inertia = btScalar(0.4 * MASS * RADIUS * RADIUS);
	const std::vector<btVector3> points = kind == "sphere" ? std::vector<btVector3>() : shellPoints(shape, mesh);

	double worst = 0, sum = 0, worst_apex = 0, sum_apex = 0, micros = 0;
	for (int n = 0; n < count; n++)
	{
		const double height = count == 1 ? from : from + (to - from) * n / (count - 1);
		World world(args, GRAVITY);
		world.add(floor, ground_pose, 0, btVector3(0, 0, 0), 0.5, 1);
		btTransform start(btQuaternion::getIdentity(), btVector3(0, 0, btScalar(height + RADIUS)));
		btRigidBody* body = world.add(shape, start, MASS, btVector3(inertia, inertia, inertia), 0.5, e);
		Bounce found;
		bool rising = false, over = false;
		for (int step = 0; step < int(SECONDS * rate); step++)
		{
			world.step(1 / rate);
			found.micros += world.dispatcher.micros;
			const btTransform& pose = body->getWorldTransform();
			double bottom = pose.getOrigin().z() - RADIUS;
			rising = rising || body->getLinearVelocity().z() > 0.01;
			over = over || (rising && body->getLinearVelocity().z() < -0.01);
			if (rising && !over)
				found.apex = std::max(found.apex, bottom);
			if (!points.empty())
			{
				const btVector3 row = pose.getBasis()[2];
				bottom = BT_LARGE_FLOAT;
				for (const btVector3& p : points)
					bottom = std::min(bottom, double(row.dot(p)));
				bottom += pose.getOrigin().z();
			}
			found.penetration = std::max(found.penetration, -bottom);
			if (args.has("trace"))
				std::printf("{\"step\":%d,\"bottom\":%.6g,\"vz\":%.6g,\"contacts\":%d}\n", step, bottom,
							double(body->getLinearVelocity().z()), world.contacts());
		}
		const double ideal = e * e * height, error = std::fabs(found.apex - ideal);
		if (args.has("each") || count == 1)
			std::printf("{\"height\":%.4f,\"penetration\":%.6g,\"apex\":%.6g,\"ideal\":%.6g}\n", height, found.penetration, found.apex,
						ideal);
		worst = std::max(worst, found.penetration);
		sum += found.penetration;
		worst_apex = std::max(worst_apex, error);
		sum_apex += error;
		micros += found.micros / (SECONDS * rate);
	}
	std::printf(
		"{\"experiment\":\"ball\",\"shape\":\"%s\",\"ground\":\"%s\",\"rate\":%g,\"restitution\":%g,\"heights\":%d,\"points\":%d,"
		"\"penetration_worst\":%.6g,\"penetration_mean\":%.6g,\"apex_error_worst\":%.6g,\"apex_error_mean\":%.6g,\"micros_mean\":%.4g}\n",
		kind.c_str(), on.c_str(), rate, e, count, int(points.size()), worst, sum / count, worst_apex, sum_apex / count, micros / count);
	return 0;
}
}  // namespace lab
