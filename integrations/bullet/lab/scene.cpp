// A scene from a file: poses of every body in every step. README.md has the format.
#include "lab.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lab
{
namespace
{
struct Item
{
	std::string name, kind = "hull", mesh;
	std::vector<double> size;  // of a shape by formula
	double scale = 1, mass = 1, friction = 0.5, restitution = 0;
	btTransform pose = btTransform::getIdentity();  // w_from_file
	btVector3 velocity{0, 0, 0}, spin{0, 0, 0};
	std::vector<std::string> options;  // --key value, for the shape
};

struct Scene
{
	btVector3 gravity{0, 0, btScalar(-9.81)};
	double rate = 240, seconds = 5;
	std::vector<Item> items;
};

std::vector<double> numbers(std::istringstream& words)
{
	std::vector<double> found;
	double value;
	while (words >> value)
		found.push_back(value);
	return found;
}

btVector3 three(const std::vector<double>& v) { return btVector3(btScalar(v[0]), btScalar(v[1]), btScalar(v[2])); }

Scene read(const std::string& path)
{
	std::ifstream file(path);
	if (!file)
		throw std::runtime_error(path + ": cannot be opened");
	Scene scene;
	std::string line;
	for (int at = 1; std::getline(file, line); at++)
	{
		line = line.substr(0, line.find('#'));
		std::istringstream words(line);
		std::string key;
		if (!(words >> key))
			continue;
		auto need = [&](std::size_t count) {
			std::vector<double> values = numbers(words);
			if (values.size() != count || !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
				throw std::runtime_error(path + ":" + std::to_string(at) + ": " + key + " needs " + std::to_string(count) + " numbers");
			return values;
		};
		if (key == "gravity")
			scene.gravity = three(need(3));
		else if (key == "rate")
			scene.rate = need(1)[0];
		else if (key == "seconds")
			scene.seconds = need(1)[0];
		else if (key == "body")
		{
			scene.items.emplace_back();
			words >> scene.items.back().name;
		}
		else if (scene.items.empty())
			throw std::runtime_error(path + ":" + std::to_string(at) + ": " + key + " comes before the first body");
		else
		{
			Item& item = scene.items.back();
			if (key == "mesh")
			{
				words >> item.mesh;
				// Relative to the scene's folder.
				const std::size_t slash = path.find_last_of('/');
				if (!item.mesh.empty() && item.mesh[0] != '/' && slash != std::string::npos)
					item.mesh = path.substr(0, slash + 1) + item.mesh;
				if (!(words >> item.scale))
					item.scale = 1;
			}
			else if (key == "kind")
			{
				words >> item.kind;
				item.size = numbers(words);
			}
			else if (key == "pose")
			{
				const std::vector<double> v = need(7);
				btQuaternion rotation{btScalar(v[3]), btScalar(v[4]), btScalar(v[5]), btScalar(v[6])};
				if (!(rotation.length2() > 0))
					throw std::runtime_error(path + ":" + std::to_string(at) + ": the rotation is zero; none is 0 0 0 1");
				item.pose = btTransform(rotation.normalized(), three(v));
			}
			else if (key == "mass")
				item.mass = need(1)[0];
			else if (key == "friction")
				item.friction = need(1)[0];
			else if (key == "restitution")
				item.restitution = need(1)[0];
			else if (key == "velocity")
				item.velocity = three(need(3));
			else if (key == "spin")
				item.spin = three(need(3));
			else
			{
				std::string value;
				words >> value;
				item.options.push_back("--" + key);
				if (!value.empty())
					item.options.push_back(value);
				try
				{
					Args(BODY, item.options);
				}
				catch (const std::exception& error)
				{
					throw std::runtime_error(path + ":" + std::to_string(at) + ": " + error.what());
				}
			}
		}
	}
	if (scene.items.empty() || !(scene.rate > 0) || !(scene.seconds >= 0))
		throw std::runtime_error(path + ": a scene needs a body, a positive rate and seconds");
	return scene;
}

btCollisionShape* formula(const Item& item, Keep& keep)
{
	const std::vector<double>& s = item.size;
	auto at = [&](std::size_t i) {
		if (i >= s.size())
			throw std::runtime_error("body " + item.name + ": kind " + item.kind + " needs more sizes");
		return btScalar(s[i]);
	};
	if (item.kind == "box")
		return keep.own(new btBoxShape(btVector3(at(0), at(1), at(2))));
	if (item.kind == "sphere")
		return keep.own(new btSphereShape(at(0)));
	if (item.kind == "capsule")
		return keep.own(new btCapsuleShapeZ(at(0), at(1)));
	if (item.kind == "cylinder")
		return keep.own(new btCylinderShapeZ(btVector3(at(0), at(0), at(1))));
	if (item.kind == "cone")
		return keep.own(new btConeShapeZ(at(0), at(1)));
	if (item.kind == "plane")
		return keep.own(new btStaticPlaneShape(btVector3(at(0), at(1), at(2)), at(3)));
	return nullptr;
}

/// A body's shape, and the pose of the file's frame in the body's.
btCollisionShape* make(const Item& item, const Args& common, Keep& keep, btTransform& body_from_file, btVector3& inertia)
{
	body_from_file.setIdentity();
	inertia.setZero();
	Args args(BODY, item.options);
	args.fill(common);
	btCollisionShape* shape = formula(item, keep);
	if (shape)
	{
		if (item.mass > 0)
			shape->calculateLocalInertia(btScalar(item.mass), inertia);
		return shape;
	}
	if (item.kind == "palp")
	{
		shape = pluginFile(item.mesh, item.mass > 0, keep, body_from_file, inertia);
		inertia *= btScalar(item.mass);
		return shape;
	}
	Mesh mesh = loadMesh(item.mesh);
	mesh.place(btVector3(0, 0, 0), btScalar(item.scale));
	if (item.mass > 0)
	{
		const Mass mass = mesh.mass();
		body_from_file = mass.file_from_principal.inverse();
		inertia = mass.principal * btScalar(item.mass);
		for (btVector3& p : mesh.vertices)
			p = body_from_file * p;
	}
	return part(item.kind, mesh, [&](const btVector3& p) { return body_from_file * (p * btScalar(item.scale)); }, args, keep);
}
}  // namespace

int scene(const Args& args)
{
	const Scene scene = read(args.text("file", ""));
	Keep keep;
	World world(args, 0);
	world.world.setGravity(scene.gravity);
	btContactSolverInfo& solver = world.world.getSolverInfo();
	if (args.has("pressed"))
	{
		solver.m_solverMode |= SOLVER_INTERLEAVE_CONTACT_AND_FRICTION_CONSTRAINTS;
		solver.m_splitImpulsePenetrationThreshold = 0;
		solver.m_numIterations = 50;
	}
	if (args.has("iterations"))
		solver.m_numIterations = std::max(1, int(args.number("iterations", 10)));
	std::vector<btTransform> body_from_file;
	std::vector<btRigidBody*> bodies;
	for (const Item& item : scene.items)
	{
		btTransform offset;
		btVector3 inertia;
		btCollisionShape* shape = make(item, args, keep, offset, inertia);
		btRigidBody* body = world.add(shape, item.pose * offset.inverse(), item.mass, inertia, item.friction, item.restitution);
		if (item.mass > 0)
		{
			body->setLinearVelocity(item.velocity);
			body->setAngularVelocity(item.spin);
		}
		body->setUserIndex(int(bodies.size()));
		body_from_file.push_back(offset);
		bodies.push_back(body);
	}

	auto open = [&](const char* key) {
		std::FILE* file = args.has(key) ? std::fopen(args.text(key, "").c_str(), "wb") : nullptr;
		if (args.has(key) && !file)
			throw std::runtime_error(args.text(key, "") + ": cannot be written");
		return file;
	};
	std::FILE *csv = open("poses"), *binary = open("binary");
	const int every = std::max(1, int(args.number("every", 1))), steps = int(std::lround(scene.seconds * scene.rate));
	if (csv)
		std::fprintf(csv, "step,time,body,x,y,z,qx,qy,qz,qw\n");
	auto keep_poses = [&](int step) {
		for (std::size_t i = 0; i < bodies.size(); i++)
		{
			const btTransform pose = bodies[i]->getWorldTransform() * body_from_file[i];
			const btVector3 p = pose.getOrigin();
			const btQuaternion q = pose.getRotation();
			const float row[7] = {float(p.x()), float(p.y()), float(p.z()), float(q.x()), float(q.y()), float(q.z()), float(q.w())};
			if (csv)
				std::fprintf(csv, "%d,%.9g,%s,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", step, step / scene.rate, scene.items[i].name.c_str(),
							 row[0], row[1], row[2], row[3], row[4], row[5], row[6]);
			if (binary)
				std::fwrite(row, sizeof(float), 7, binary);
		}
	};
	keep_poses(0);
	std::vector<double> micros;
	double deepest = 0, fastest = 0, wall = 0;
	bool finite = true;
	Orders orders(bodies.size());
	if (args.has("listen") && !orders.ready())
		return 0;
	for (int step = 1; step <= steps && finite; step++)
	{
		if (args.has("listen") && !orders.next(world, body_from_file))
			return 0;
		const auto begin = std::chrono::steady_clock::now();
		world.step(1 / scene.rate);
		const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
		if (args.has("stream"))
		{
			// As long as someone reads.
			if (!stream(world, body_from_file, 1e6 * taken))
				return 0;
			continue;
		}
		wall += taken;
		micros.push_back(world.dispatcher.micros);
		deepest = std::max(deepest, world.depth());
		for (btRigidBody* body : bodies)
		{
			const btVector3 p = body->getWorldTransform().getOrigin();
			finite = finite && std::isfinite(p.x() + p.y() + p.z());
			fastest = std::max(fastest, double(body->getLinearVelocity().length()));
		}
		if (step % every == 0)
			keep_poses(step);
	}
	if (csv)
		std::fclose(csv);
	if (binary)
		std::fclose(binary);
	if (args.has("stream"))
		return 0;
	const double average = mean(micros);
	std::printf(
		"{\"experiment\":\"scene\",\"bodies\":%d,\"steps\":%d,\"rate\":%g,\"micros_median\":%.4g,\"micros_mean\":%.4g,\"micros_p99\":%.4g,"
		"\"step_ms_mean\":%.4g,\"depth\":%.5g,\"fastest\":%.4g,\"finite\":%s}\n",
		int(bodies.size()), int(micros.size()), scene.rate, quantile(micros, 0.5), average, quantile(micros, 0.99),
		1e3 * wall / std::max<std::size_t>(1, micros.size()), deepest, fastest, finite ? "true" : "false");
	return finite ? 0 : 1;
}
}  // namespace lab
