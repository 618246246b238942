// The three shapes, as Bullet sees them.
#include "error.h"
#include "palpate/bullet.h"

#include <algorithm>
#include <cmath>

namespace palpate
{
namespace
{
/// How much the factors of a scaling may differ to count as one [1]: rounding of single precision.
const btScalar UNIFORM = btScalar(1e-5);

btVector3 vector(const double* v) { return btVector3(btScalar(v[0]), btScalar(v[1]), btScalar(v[2])); }

/// Eigenvectors of a symmetric matrix as columns, by Jacobi's rotations; the matrix becomes diagonal.
void diagonalize(double m[3][3], double columns[3][3])
{
	for (int r = 0; r < 3; r++)
		for (int c = 0; c < 3; c++)
			columns[r][c] = r == c;
	for (int sweep = 0; sweep < 32; sweep++)
	{
		const double off = m[0][1] * m[0][1] + m[0][2] * m[0][2] + m[1][2] * m[1][2];
		if (!(off > 1e-30 * (m[0][0] * m[0][0] + m[1][1] * m[1][1] + m[2][2] * m[2][2])))
			return;
		for (int p = 0; p < 2; p++)
			for (int q = p + 1; q < 3; q++)
			{
				if (m[p][q] == 0)
					continue;
				const double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
				const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
				const double c = 1 / std::sqrt(t * t + 1), s = t * c;
				for (int k = 0; k < 3; k++)
				{
					const double a = m[k][p], b = m[k][q];
					m[k][p] = c * a - s * b;
					m[k][q] = s * a + c * b;
				}
				for (int k = 0; k < 3; k++)
				{
					const double a = m[p][k], b = m[q][k];
					m[p][k] = c * a - s * b;
					m[q][k] = s * a + c * b;
				}
				for (int k = 0; k < 3; k++)
				{
					const double a = columns[k][p], b = columns[k][q];
					columns[k][p] = c * a - s * b;
					columns[k][q] = s * a + c * b;
				}
			}
	}
}
}  // namespace

MassFrame massFrame(const Data& data)
{
	double m[3][3], axes[3][3];
	for (int k = 0; k < 9; k++)
		m[k / 3][k % 3] = data.inertia()[k];
	diagonalize(m, axes);
	btMatrix3x3 rotation;  // data_from_body
	for (int r = 0; r < 3; r++)
		rotation[r].setValue(btScalar(axes[r][0]), btScalar(axes[r][1]), btScalar(axes[r][2]));
	if (rotation.determinant() < 0)
		for (int r = 0; r < 3; r++)
			rotation[r][2] = -rotation[r][2];
	MassFrame frame;
	frame.body_from_data = btTransform(rotation, vector(data.centre())).inverse();
	frame.inertia = btVector3(btScalar(m[0][0]), btScalar(m[1][1]), btScalar(m[2][2]));
	frame.volume = data.volume();
	return frame;
}

/// The mesh in the body's frame, and Bullet's tree over it.
struct Shape::Triangles
{
	std::vector<btScalar> positions;
	std::vector<int> corners;
	std::unique_ptr<btTriangleIndexVertexArray> mesh;
	std::unique_ptr<btBvhTriangleMeshShape> tree;
};

Shape::Shape(Kind kind, Data::Ptr data, const btTransform& body_from_data)
	: m_kind(kind),
	  m_data(data),
	  m_unscaled(std::move(data)),
	  m_body_from_data(body_from_data),
	  m_unscaled_from_data(body_from_data),
	  m_scaling(1, 1, 1)
{
	m_shapeType = FAST_CONCAVE_MESH_PROXYTYPE;
	// Bullet's margin would only make boxes larger.
	m_collisionMargin = 0;
	if (!m_data)
		fail("a shape was made without data: it collides with nothing");
	measure();
}

Shape::~Shape() = default;

void Shape::measure()
{
	if (!m_data)
	{
		m_aabb_min = m_aabb_max = m_ball = btVector3(0, 0, 0);
		m_ball_radius = m_reach = 0;
		return;
	}
	const btVector3 low = vector(m_data->aabbMin()), high = vector(m_data->aabbMax());
	btTransformAabb((high - low) * btScalar(0.5), 0, btTransform(m_body_from_data.getBasis(), m_body_from_data * ((low + high) * btScalar(0.5))),
					m_aabb_min, m_aabb_max);
	m_ball = m_body_from_data * vector(m_data->ballCentre());
	m_ball_radius = btScalar(m_data->ballRadius());
	m_reach = m_ball.length() + m_ball_radius;
	// The box of the body's own axes is tight: getBoundingSphere, and through it Bullet's thresholds, are made from it.
	std::vector<double> positions;
	std::vector<std::uint32_t> triangles;
	m_data->mesh(positions, triangles);
	if (m_data->pointCount() == 0 || positions.empty())
		return;
	btVector3 least(BT_LARGE_FLOAT, BT_LARGE_FLOAT, BT_LARGE_FLOAT), most = -least;
	for (std::size_t i = 0; i + 2 < positions.size(); i += 3)
	{
		const btVector3 p = m_body_from_data * vector(&positions[i]);
		least.setMin(p);
		most.setMax(p);
	}
	// Caps of holes are inside the hull of the mesh, hence in this box.
	m_aabb_min.setMax(least);
	m_aabb_max.setMin(most);
}

void Shape::getAabb(const btTransform& t, btVector3& aabbMin, btVector3& aabbMax) const
{
	btTransformAabb(m_aabb_min, m_aabb_max, 0, t, aabbMin, aabbMax);
	const btVector3 centre = t * m_ball, reach(m_ball_radius, m_ball_radius, m_ball_radius);
	aabbMin.setMax(centre - reach);
	aabbMax.setMin(centre + reach);
}

void Shape::calculateLocalInertia(btScalar mass, btVector3& inertia) const
{
	inertia.setZero();
	if (!m_data)
		return;
	const double* one = m_data->inertia();
	const btVector3 away = m_body_from_data * vector(m_data->centre());
	const btMatrix3x3& body = m_body_from_data.getBasis();
	for (int k = 0; k < 3; k++)
	{
		double about = 0;
		for (int r = 0; r < 3; r++)
			for (int c = 0; c < 3; c++)
				about += double(body[k][r]) * one[3 * r + c] * double(body[k][c]);
		// Steiner, for bodies whose origin is elsewhere.
		const double far = away.length2() - away[k] * away[k];
		inertia[k] = btScalar(mass * (about + far));
	}
}

void Shape::setLocalScaling(const btVector3& scaling)
{
	const btScalar s = scaling.x();
	const bool uniform = std::fabs(scaling.y() - s) <= UNIFORM * s && std::fabs(scaling.z() - s) <= UNIFORM * s;
	if (!(s > 0) || !std::isfinite(s) || !uniform)
	{
		fail("scaling by (" + std::to_string(scaling.x()) + ", " + std::to_string(scaling.y()) + ", " + std::to_string(scaling.z()) +
			 ") is refused, the old one stays: a shape of palpate takes one positive factor for all axes; scale its mesh instead");
		return;
	}
	if (!m_unscaled || s == m_scaling.x())
		return;
	Data::Ptr data = s == btScalar(1) ? m_unscaled : m_unscaled->scaled(s);
	if (!data)
		return;
	m_data = data;
	m_scaling.setValue(s, s, s);
	m_body_from_data = btTransform(m_unscaled_from_data.getBasis(), m_unscaled_from_data.getOrigin() * s);
	{
		std::lock_guard<std::mutex> guard(m_triangles_lock);
		m_triangles.reset();
	}
	measure();
}

btScalar Shape::getContactBreakingThreshold(btScalar factor) const { return m_reach * factor; }

void Shape::processAllTriangles(btTriangleCallback* callback, const btVector3& aabbMin, const btVector3& aabbMax) const
{
	if (!m_data)
		return;
	btBvhTriangleMeshShape* tree;
	{
		std::lock_guard<std::mutex> guard(m_triangles_lock);
		if (!m_triangles)
		{
			std::unique_ptr<Triangles> made(new Triangles);
			std::vector<double> positions;
			std::vector<std::uint32_t> triangles;
			m_data->mesh(positions, triangles);
			for (std::size_t i = 0; i + 2 < positions.size(); i += 3)
			{
				const btVector3 p = m_body_from_data * vector(&positions[i]);
				made->positions.insert(made->positions.end(), {p.x(), p.y(), p.z()});
			}
			made->corners.assign(triangles.begin(), triangles.end());
			if (made->corners.empty())
				return;
			made->mesh.reset(new btTriangleIndexVertexArray(int(made->corners.size() / 3), made->corners.data(), int(3 * sizeof(int)),
															int(made->positions.size() / 3), made->positions.data(),
															int(3 * sizeof(btScalar))));
			made->tree.reset(new btBvhTriangleMeshShape(made->mesh.get(), true));
			m_triangles = std::move(made);
		}
		tree = m_triangles->tree.get();
	}
	tree->processAllTriangles(callback, aabbMin, aabbMax);
}
}  // namespace palpate
