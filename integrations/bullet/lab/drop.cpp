// A part dropped on a ground from random rotations: time of the narrow phase, velocity, energy, how deep it sinks.
//
// Based on: sagardia14 4.2. The bunny is 1.7354 times the scan, so that a uniform solid has the trace of the paper's inertia.
#include "lab.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace lab
{
namespace
{
const double GRAVITY = 9.81, HEIGHT = 0.5;
/// Below this a part has fallen through the ground [m].
const double THROUGH = -0.1;

double energy(const btRigidBody& body, double mass)
{
	const btVector3 v = body.getLinearVelocity(), w = body.getAngularVelocity();
	const btVector3 local = body.getWorldTransform().getBasis().transpose() * w, inertia = body.getLocalInertia();
	return 0.5 * (mass * v.length2() + inertia.dot(local * local));
}
}  // namespace

int drop(const Args& args)
{
	const std::string kind = args.text("shape", "hull42"), on = args.text("ground", "box");
	const double rate = args.number("rate", 500), mass = args.number("mass", 1), height = args.number("height", HEIGHT);
	const int rotations = int(args.number("rotations", 10)), steps = int(args.number("steps", 600));
	const int first = int(args.number("first", 200));
	const double friction = args.number("friction", 0.5), restitution = args.number("restitution", 0);

	Mesh mesh = loadMesh(args.text("mesh", "bunny.obj"));
	const btScalar scale = btScalar(args.number("scale", 1.7354));
	btVector3 centre;
	mesh.volume(centre);
	mesh.place(centre, scale);
	Keep keep;
	btCollisionShape* shape = part(kind, mesh, [&](const btVector3& p) { return (p - centre) * scale; }, args, keep);
	const btVector3 inertia = btVector3(btScalar(4.79e-3), btScalar(4.46e-3), btScalar(6.38e-3)) * btScalar(mass);
	btTransform ground_pose;
	btCollisionShape* floor = ground(on, args, keep, ground_pose);
	Random random(std::uint64_t(args.number("seed", 1)));
	std::FILE* csv = args.has("csv") ? std::fopen(args.text("csv", "").c_str(), "w") : nullptr;
	if (args.has("csv") && !csv)
		throw std::runtime_error(args.text("csv", "") + ": cannot be written");
	if (csv)
		std::fprintf(csv, "rotation,step,micros,speed,energy,lowest,contacts,spin\n");

	std::vector<double> micros, contacts;
	double lowest_ever = 0, lowest_end = 0, fastest = 0, speed_end = 0;
	int through = 0;
	for (int n = 0; n < rotations; n++)
	{
		World world(args, GRAVITY);
		world.add(floor, ground_pose, 0, btVector3(0, 0, 0), friction, 1);
		btTransform start(random.rotation(), btVector3(0, 0, 0));
		start.setOrigin(btVector3(0, 0, btScalar(height) - mesh.lowest(start)));
		btRigidBody* body = world.add(shape, start, mass, inertia, friction, restitution);
		// Looked at after the run: going over all vertices between steps would empty the caches that the next step needs.
		struct Seen
		{
			btTransform pose;
			double micros, speed, energy, spin;
			int contacts;
		};
		std::vector<Seen> seen;
		seen.reserve(std::size_t(steps));
		for (int step = 0; step < steps; step++)
		{
			world.step(1 / rate);
			seen.push_back({body->getWorldTransform(), world.dispatcher.micros, body->getLinearVelocity().length(), energy(*body, mass),
							body->getAngularVelocity().length(), world.contacts()});
		}
		std::vector<double> own_micros, own_contacts;
		double lowest = 0, last = 0, speed = 0;
		for (int step = 0; step < steps; step++)
		{
			const Seen& now = seen[std::size_t(step)];
			speed = now.speed;
			fastest = std::max(fastest, speed);
			if (step >= first)
			{
				own_micros.push_back(now.micros);
				own_contacts.push_back(now.contacts);
			}
			last = mesh.lowest(now.pose);
			lowest = std::min(lowest, last);
			if (csv)
				std::fprintf(csv, "%d,%d,%.3f,%.6g,%.6g,%.6g,%d,%.6g\n", n, step, now.micros, speed, now.energy, last, now.contacts, now.spin);
		}
		const bool fell = !(last > THROUGH);
		std::printf("{\"rotation\":%d,\"micros_mean\":%.4g,\"lowest\":%.5g,\"lowest_end\":%.5g,\"speed_end\":%.4g,\"fell\":%s}\n", n,
					mean(own_micros), lowest, last, speed, fell ? "true" : "false");
		if (fell)
		{
			through++;
			continue;
		}
		lowest_ever = std::min(lowest_ever, lowest);
		lowest_end = std::min(lowest_end, last);
		speed_end = std::max(speed_end, speed);
		micros.insert(micros.end(), own_micros.begin(), own_micros.end());
		contacts.insert(contacts.end(), own_contacts.begin(), own_contacts.end());
	}
	if (csv)
		std::fclose(csv);
	const double average = mean(micros);
	std::printf(
		"{\"experiment\":\"drop\",\"shape\":\"%s\",\"ground\":\"%s\",\"rate\":%g,\"rotations\":%d,\"micros_median\":%.4g,"
		"\"micros_mean\":%.4g,\"micros_p99\":%.4g,\"contacts\":%.3g,\"lowest\":%.5g,\"lowest_end\":%.5g,\"speed_end\":%.4g,"
		"\"fastest\":%.4g,\"fell_through\":%d}\n",
		kind.c_str(), on.c_str(), rate, rotations, quantile(micros, 0.5), average, quantile(micros, 0.99), mean(contacts), lowest_ever,
		lowest_end, speed_end, fastest, through);
	return 0;
}
}  // namespace lab
