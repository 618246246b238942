/// palpate in Bullet: detailed, non-convex rigid bodies that collide with each other and with every shape of Bullet.
///
///     palpate::registerWith(dispatcher);                                    // once for each dispatcher
///     palpate::BuildParams how;
///     how.resolution = 128;
///     auto data = palpate::Data::fromFile("gear.stl", 1e-3, how, "gear.palp");
///     palpate::MassFrame mass = palpate::massFrame(*data);                  // Bullet wants bodies about their centre of mass
///     palpate::MixedShape shape(data, mass.body_from_data);
///     btVector3 inertia;
///     shape.calculateLocalInertia(kilograms, inertia);
///
/// Stock Bullet, 3.24 or alike; single precision, or double with BT_USE_DOUBLE_PRECISION. SI units. Nothing here throws: what fails
/// returns null or false and says why in lastError(). Data is shared: shapes, and pairs of bodies that touch, keep what they need.
#pragma once

#include <btBulletCollisionCommon.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace palpate
{
/// Which contacts of a pair become points of manifolds.
enum class Choice
{
	/// One manifold of up to four points: the deepest, then those that span the largest area.
	Regular,
	/// One manifold of one point, the deepest, for each node of level `count` of the tree of points, 1 being the root.
	Segmented,
	/// Up to `count` manifolds of up to four points, each of points that push in about the same direction.
	Patches
};

/// How pairs are treated.
struct Options
{
	Choice choice = Choice::Patches;
	/// Level of Segmented, manifolds of Patches.
	int count = 8;
	/// Points this far outside are reported, besides the way the bodies approach each other in a step [m]; 0: a 200th of the
	/// smaller body's radius, but at most gContactBreakingThreshold.
	double threshold = 0;
	/// Points at most this much farther than the nearest, or than touching, can be chosen, besides the way of a step [m]; 0: a hundredth of
	/// the radius of the shape that gives the points, at least half their spacing. Smaller: faster, and a body rests on a smaller base.
	double spread = 0;
	/// Bodies that overlap are pushed apart at most this fast [m/s]; a reported depth is cut to what does that. 0: no limit.
	double depenetration = 3;
	/// The world's btContactSolverInfo::m_erp2, which the limit above needs [1].
	double erp = 0.2;
	/// The world's btContactSolverInfo::m_restitutionVelocityThreshold [m/s]: slower impacts do not bounce.
	double bounce_threshold = 0.2;
	/// Ask both shapes for points, where both have some: for parts with edges finer than the other's points.
	bool both = false;
	/// About how many points and balls may be tested for a pair in a step; 0: all that are needed.
	std::size_t budget_points = 0;
	/// About how long a pair may take in a step [us]; 0: as long as needed. Steps that have it are not reproducible to the bit.
	double budget_micros = 0;
	/// For static triangle meshes and height fields that were not prepared: edge of a voxel [m]; 0: a 200th of the largest extent.
	double static_voxel = 0;
	/// For the same: how far below its front an open sheet is solid [m]; 0: a twentieth of the largest extent.
	double static_thickness = 0;
};

/// Registers with a dispatcher: pairs of our shapes with each other and with Bullet's, in both orders, for contacts and for
/// contactPairTest. Calling it again changes the options of pairs that come later. Before bodies are added. Keeps about 1 kB for
/// each dispatcher until the program ends.
void registerWith(btCollisionDispatcher& dispatcher, const Options& options = Options());

/// The last error of any thread of this library, or empty; for pairs that cannot collide it is also printed to standard error,
/// once for each pair.
std::string lastError();
/// Called with every error from now on; null: none. From the thread that has the error.
void setErrorCallback(void (*callback)(const char* message, void* user), void* user);

/// How data is built from a mesh. One of `voxel` and `resolution` must be given.
struct BuildParams
{
	double voxel = 0;             ///< edge of a voxel of the field [m]
	std::uint32_t resolution = 0; ///< voxels along the largest extent, padding included; at least 8
	double spacing = 0;           ///< distance between points [m]; 0: two voxels
	std::uint32_t cluster = 0;    ///< points of a cluster of the tree, the paper's K; 0: 8
	std::uint32_t threads = 0;    ///< 0: as many as the machine has
};

/// Field, points and mesh of a part, in the frame of its mesh. Never changes; shared.
class Data
{
public:
	using Ptr = std::shared_ptr<const Data>;

	/// Three coordinates a vertex [m], three indices a triangle, counter-clockwise from outside.
	static Ptr fromMesh(const double* positions, std::size_t vertices, const std::uint32_t* triangles, std::size_t count,
						const BuildParams& params);
	/// The same of an open surface, made solid `thickness` [m] below its front: against `up` (three numbers, any length), or with null
	/// against the mean way it faces; a surface that faces all around, such as a solid with a hole, is then taken as it is.
	static Ptr fromSheet(const double* positions, std::size_t vertices, const std::uint32_t* triangles, std::size_t count,
						 const double* up, double thickness, const BuildParams& params);
	/// A mesh file; `unit` is metres per unit of the file. With `cache` the data is kept in that .palp file, and taken from it while it
	/// fits mesh and parameters.
	static Ptr fromFile(const std::string& path, double unit, const BuildParams& params, const std::string& cache = "");
	/// A .palp file.
	static Ptr open(const std::string& path);
	/// A procedural part by name, such as "gear" or "torus-knot".
	static Ptr sample(const std::string& name, const BuildParams& params);

	~Data();
	Data(const Data&) = delete;
	Data& operator=(const Data&) = delete;

	/// The same part, larger by a factor, about the origin of its mesh; with the same points and clusters, nothing is built anew: one pass
	/// over its memory. Null for a factor that is not positive and finite, or that leaves 1e-12 m (voxel) to 1e12 m (coordinates).
	Ptr scaled(double factor) const;
	/// The points, in the order of their ids [m].
	std::vector<btVector3> points() const;
	std::size_t pointCount() const { return m_points; }
	void mesh(std::vector<double>& positions, std::vector<std::uint32_t>& triangles) const;

	/// Box and ball around the surface [m].
	const double* aabbMin() const { return m_min; }
	const double* aabbMax() const { return m_max; }
	const double* ballCentre() const { return m_ball; }
	double ballRadius() const { return m_ball[3]; }
	/// Volume [m3], centre of mass [m], inertia for 1 kg about the centre, row by row [m2].
	double volume() const { return m_volume; }
	const double* centre() const { return m_centre; }
	const double* inertia() const { return m_inertia; }

	/// Id of the palp_shape of the C interface; it is freed with this.
	std::uint64_t shapeId() const { return m_shape; }

private:
	Data() = default;
	static Ptr adopt(std::uint64_t shape);
	static Ptr build(std::uint64_t mesh, const BuildParams& params);

	std::uint64_t m_shape = 0;
	std::size_t m_points = 0;
	double m_min[3] = {}, m_max[3] = {}, m_ball[4] = {};
	double m_volume = 0, m_centre[3] = {}, m_inertia[9] = {};
};

/// Where a body's frame should be: Bullet turns bodies about their origin and takes inertia along their axes.
struct MassFrame
{
	btTransform body_from_data;  ///< origin at the centre of mass, axes along the principal ones
	btVector3 inertia;           ///< for 1 kg, along those axes [m2]
	double volume;               ///< [m3]
};
MassFrame massFrame(const Data& data);

/// What the three shapes have in common. To Bullet they are of FAST_CONCAVE_MESH_PROXYTYPE, which nothing else uses: custom concave
/// types are taken for a btSdfCollisionShape by 3.24, and a pair that nobody registered would crash; with this type it collides
/// triangle by triangle.
ATTRIBUTE_ALIGNED16(class)
Shape : public btConcaveShape
{
public:
	BT_DECLARE_ALIGNED_ALLOCATOR();

	enum class Kind
	{
		Pointshell,
		Voxelmap,
		Mixed
	};
	~Shape() override;

	Kind kind() const { return m_kind; }
	bool givesPoints() const { return m_kind != Kind::Voxelmap; }
	bool givesField() const { return m_kind != Kind::Pointshell; }
	/// At the present scale; null for a shape without data.
	const Data::Ptr& data() const { return m_data; }
	/// Where the data's frame is in the body's, at the present scale.
	const btTransform& bodyFromData() const { return m_body_from_data; }
	/// Farthest the surface is from the body's origin [m].
	btScalar reach() const { return m_reach; }

	/// Options for this shape's pairs; null: those of registerWith. Of a pair's two the first body's count.
	void setOptions(const Options* options) { m_options.reset(options ? new Options(*options) : nullptr); }
	const std::shared_ptr<const Options>& options() const { return m_options; }

	// ---- Bullet's side ----

	/// Tight: the box of the surface, or of the ball around it where that is smaller.
	void getAabb(const btTransform& t, btVector3& aabbMin, btVector3& aabbMax) const override;
	/// Of a uniform solid; the diagonal of the inertia in the body's axes, exact with massFrame's.
	void calculateLocalInertia(btScalar mass, btVector3& inertia) const override;
	/// Uniform and positive: Data::scaled, which takes about a hundredth of a build. Anything else leaves the scale and says so in lastError().
	void setLocalScaling(const btVector3& scaling) override;
	const btVector3& getLocalScaling() const override { return m_scaling; }
	/// A share of how far the surface reaches from the body's origin [m].
	btScalar getContactBreakingThreshold(btScalar factor) const override;
	/// The mesh: for ray tests, sweeps and drawing. The first call builds a tree over its triangles.
	void processAllTriangles(btTriangleCallback* callback, const btVector3& aabbMin, const btVector3& aabbMax) const override;

protected:
	Shape(Kind kind, Data::Ptr data, const btTransform& body_from_data);

private:
	struct Triangles;
	void measure();

	Kind m_kind;
	Data::Ptr m_data, m_unscaled;
	btTransform m_body_from_data, m_unscaled_from_data;
	btVector3 m_scaling, m_aabb_min, m_aabb_max, m_ball;
	btScalar m_ball_radius, m_reach;
	std::shared_ptr<const Options> m_options;
	mutable std::mutex m_triangles_lock;
	mutable std::unique_ptr<Triangles> m_triangles;
};

/// Gives points only: collides with everything that has a field.
class PointshellShape : public Shape
{
public:
	explicit PointshellShape(Data::Ptr data, const btTransform& body_from_data = btTransform::getIdentity())
		: Shape(Kind::Pointshell, std::move(data), body_from_data)
	{
	}
	const char* getName() const override { return "palpate::Pointshell"; }
};

/// Gives a field only: collides with shapes that give points.
class VoxelmapShape : public Shape
{
public:
	explicit VoxelmapShape(Data::Ptr data, const btTransform& body_from_data = btTransform::getIdentity())
		: Shape(Kind::Voxelmap, std::move(data), body_from_data)
	{
	}
	const char* getName() const override { return "palpate::Voxelmap"; }
};

/// Gives both: of two the one with fewer points gives them.
class MixedShape : public Shape
{
public:
	explicit MixedShape(Data::Ptr data, const btTransform& body_from_data = btTransform::getIdentity())
		: Shape(Kind::Mixed, std::move(data), body_from_data)
	{
	}
	const char* getName() const override { return "palpate::Mixed"; }
};

/// Builds the field of a static concave shape (triangle mesh, height field, GImpact …) ahead of its first contact. A surface that is
/// open is taken as a sheet that is solid `thickness` below its front [m]: a height field below its heights, another as Data::fromSheet
/// with no `up`. Lengths as in Options. False if that fails.
bool prepareStatic(const btConcaveShape& shape, double voxel, double thickness);
/// Forgets what was built for a shape: before it is changed or, to free memory, destroyed.
void forgetStatic(const btConcaveShape& shape);
}  // namespace palpate
