/* palpate: contact, distance and force between 3D shapes of any complexity. The C interface; C99 and C++.
 *
 * The short of it:
 *
 *     palp_mesh mesh; palp_shape part; palp_query query; palp_contacts found; palp_error error;
 *     palp_shape_params how = {0};
 *     how.resolution = 128;
 *     if (palp_mesh_load("gear.stl", 1e-3, &mesh, &error)) { puts(error.message); return 2; }
 *     if (palp_shape_build(mesh, &how, NULL, NULL, &part, &error)) { puts(error.message); return 2; }
 *     if (palp_query_create(part, part, &query, &error)) { puts(error.message); return 2; }
 *     palp_pose a_from_b = {{0, 0, 0, 1}, {0.01, 0, 0}};
 *     palp_query_contacts(query, &a_from_b, NULL, &found, &error);
 *
 * UNITS AND FRAMES. SI: m, s, kg, N, N m, rad. Right-handed; triangles are counter-clockwise seen from outside. Everything of one
 * shape is in its own frame, that of its mesh. In a pair A is the first shape and B the second, in every argument and every
 * result; a pose `a_from_b` takes points of B's frame to A's: of two poses in a world it is inverse(w_from_a) * w_from_b.
 *
 * SIGNS. `distance` is signed: negative inside, never clamped. A contact's `normal` goes from A to B. A wrench acts ON B, about
 * B's origin, in A's frame; A receives the opposite. About a point p of A's frame its torque is
 * torque - cross(p - a_from_b.translation, force).
 *
 * ERRORS. Every function that can fail returns a palp_status, 0 for success, and takes a `palp_error *` last, which may be NULL. It
 * is always written: code and message, which is empty for success. There is no hidden state, so that threads do not disturb
 * each other. Results are written only on success, except where a status says otherwise: PALP_NON_FINITE and
 * PALP_TOO_SMALL. No input ends the program: null pointers, freed handles, handles of another kind, numbers that are not finite,
 * counts that overflow and damaged files all give a status. A fault of the library itself gives PALP_PANIC. What cannot be checked
 * is memory: a pointer that is not null must point to as much as its comment says.
 *
 * HANDLES are numbers, not pointers. One whose object was freed gives PALP_FREED for good: it never names a later object. Id 0 is no
 * object, and freeing it does nothing. Objects may be freed in any order: a shape keeps what it needs of its mesh, a query of its
 * shapes. They share memory.
 *
 * THREADS. Any function may be called from any thread. Calls with the same query or friction memory wait for each other; other calls
 * do not. One query for each pair and thread is the rule: what a query shows (palp_contacts) is overwritten by its next call.
 *
 * OPTIONS. A params struct of zeros is the default, unless its comment says otherwise; a pointer to one that may be NULL says so.
 * `reserved` fields are for alignment: set to 0.
 */
#ifndef PALPATE_H
#define PALPATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change that a compiled program would notice. */
#define PALP_ABI 1u

/* ---- how calls end -------------------------------------------------------------------------------------------------------- */

typedef enum palp_status {
    PALP_OK = 0,
    PALP_NULL_POINTER = 1, /* a pointer that must not be null is */
    PALP_BAD_HANDLE = 2,   /* id 0, or one that was never given out */
    PALP_FREED = 3,        /* the object was freed */
    PALP_WRONG_KIND = 4,   /* the handle names an object of another kind */
    PALP_BAD_ARGUMENT = 5, /* out of its range, or parameters that contradict each other */
    PALP_NON_FINITE = 6,   /* a pose, motion or contact is not finite, or beyond 1e15 m: the result is written, as its comment says */
    PALP_IO = 7,           /* the system could not read or write a file */
    PALP_BAD_FILE = 8,     /* a file is not what it should be, or damaged */
    PALP_VERSION = 9,      /* a .palp file of another version of the format */
    PALP_BAD_MESH = 10,    /* the triangles are no mesh */
    PALP_BUILD = 11,       /* a shape cannot be built with these parameters; the message says which would do */
    PALP_CANCELLED = 12,   /* the progress function asked to stop */
    PALP_TOO_SMALL = 13,   /* a buffer is too small: what fits was written, and the count is the one needed */
    PALP_PANIC = 14        /* a fault of the library, caught: please report it */
} palp_status;

typedef struct palp_error {
    int32_t code;      /* palp_status */
    char message[508]; /* UTF-8, closed by a zero; cut where it does not fit; empty for PALP_OK */
} palp_error;

/* Version of the library as text, such as "0.1.0"; static memory. */
const char *palp_version(void);
/* PALP_ABI of the library that was loaded: if it is not the header's, do not go on. */
uint32_t palp_abi_version(void);
/* Name of a status, such as "PALP_FREED"; static memory; "PALP_?" for a number that is none. */
const char *palp_status_name(int32_t status);

/* ---- handles and small values --------------------------------------------------------------------------------------------- */

typedef struct palp_mesh { uint64_t id; } palp_mesh;         /* triangles, repaired */
typedef struct palp_shape { uint64_t id; } palp_shape;       /* mesh, distance field and points of one rigid object */
typedef struct palp_query { uint64_t id; } palp_query;       /* two shapes, and the memory of questions about them */
typedef struct palp_friction { uint64_t id; } palp_friction; /* where contacts stick, from one step to the next */
typedef struct palp_batch { uint64_t id; } palp_batch;       /* contacts of many poses */
typedef struct palp_solid { uint64_t id; } palp_solid;       /* a solid by formula: a field without points */
typedef struct palp_pair { uint64_t id; } palp_pair;         /* two colliders, step after step */

/* A rigid motion: rotates, then translates. Named target-from-source. */
typedef struct palp_pose {
    double rotation[4];    /* quaternion x y z w; need not be exactly unit, but not 0 */
    double translation[3]; /* where the source's origin is in the target's frame [m] */
} palp_pose;

typedef struct palp_wrench {
    double force[3];  /* [N] */
    double torque[3]; /* about the point of reference [N m] */
} palp_wrench;

/* The velocity of B as A sees it, in A's frame. */
typedef struct palp_twist {
    double linear[3];  /* of B's origin [m/s] */
    double angular[3]; /* [rad/s] */
} palp_twist;

/* One point of a shell that is inside the other shape, or nearer than a margin to it. A's frame. */
typedef struct palp_contact {
    float point[3];        /* where, relative to palp_contacts.origin [m] */
    float distance;        /* of the point to the other shape, negative inside [m] */
    float normal[3];       /* unit, from A to B: the outward gradient of A's field, or the inward one of B's where A gave the point */
    uint32_t id;           /* index of the point in the shape that gave it: the same from call to call */
    float shell_normal[3]; /* unit, outward, of the shape that gave the point */
    float area;            /* surface the point stands for [m^2] */
} palp_contact;

/* Contacts in memory of the library: valid until the next call with the same query (or until its batch is freed). */
typedef struct palp_contacts {
    const palp_contact *list; /* in the order of ids; NULL without contacts */
    size_t count;
    double origin[3];   /* what points are relative to, in A's frame [m]: a contact is at origin + point */
    int32_t swapped;    /* 1: A gave the points and B the field; 0: B gave the points */
    int32_t non_finite; /* 1: the pose was not finite, there is no answer */
} palp_contacts;

/* ---- meshes --------------------------------------------------------------------------------------------------------------- */

/* What a mesh is, and what had to be done to it. */
typedef struct palp_mesh_report {
    uint64_t vertices;          /* after the repair */
    uint64_t triangles;         /* after the repair */
    uint64_t welded_vertices;   /* that became one with an earlier one */
    uint64_t degenerate;        /* triangles removed because they had no area */
    uint64_t duplicate_faces;   /* triangles removed because they were there twice */
    uint64_t flipped_faces;     /* triangles turned around */
    uint64_t boundary_edges;    /* with one face */
    uint64_t nonmanifold_edges; /* with three or more faces, or two that run the same way */
    uint64_t components;        /* parts connected through edges */
    uint64_t holes;             /* loops of boundary edges */
    double volume;              /* signed [m^3] */
    double area;                /* [m^2] */
    double aabb_min[3];         /* box of all vertices, mesh frame [m] */
    double aabb_max[3];
    double suggested_voxel; /* a voxel size to start with [m] */
    int32_t watertight;     /* 1: no boundary and no non-manifold edge */
    int32_t reserved;
} palp_mesh_report;

/* Mass properties of the inside, mesh frame. */
typedef struct palp_mass {
    double mass;       /* density * volume [kg] */
    double volume;     /* signed: negative if the surface faces inward [m^3] */
    double centre[3];  /* of mass [m] */
    double inertia[9]; /* about the centre, axes of the mesh's frame, row by row [kg m^2] */
} palp_mass;

/* Reads and repairs a mesh file: OBJ, STL, PLY, OFF, glTF, GLB. `unit` is metres per unit of the file: 1e-3 for millimetres.
 * Paths are bytes on Unix and UTF-8 elsewhere. */
palp_status palp_mesh_load(const char *path, double unit, palp_mesh *mesh, palp_error *error);
/* Repairs a mesh of 3 * vertex_count coordinates [m] and 3 * triangle_count indices, counter-clockwise from outside. Copies. */
palp_status palp_mesh_from_arrays(const double *positions, size_t vertex_count, const uint32_t *triangles,
                                  size_t triangle_count, palp_mesh *mesh, palp_error *error);
/* As palp_mesh_from_arrays, of a surface whose open parts (terrains, height fields, bowls) become solid `thickness` [m] below their
 * front: a copy of each, moved against `up` (three numbers, mesh frame, any length), and walls along its boundary. Closed parts stay
 * as they are. `up` may be NULL: then it is the mean way in which the open parts face, and a surface that faces all around, as a solid
 * with a hole does, is only repaired; palp_shape_build caps its holes. The solid does not meet itself where each part has one height
 * along `up`; which way its triangles turn does not matter then. Near-linear time. */
palp_status palp_mesh_thicken(const double *positions, size_t vertex_count, const uint32_t *triangles,
                              size_t triangle_count, const double *up, double thickness, palp_mesh *mesh,
                              palp_error *error);
/* A procedural mesh by its name, such as "gear", "sphere", "cuboid", "torus-knot", "bolt", "nut"; the message of a wrong name lists
 * them all. */
palp_status palp_mesh_sample(const char *name, palp_mesh *mesh, palp_error *error);
palp_status palp_mesh_free(palp_mesh mesh, palp_error *error);
palp_status palp_mesh_get_report(palp_mesh mesh, palp_mesh_report *report, palp_error *error);
/* For a positive density [kg/m^3]. Exact for a closed mesh; for an open one see palp_mesh_report.watertight. */
palp_status palp_mesh_get_mass(palp_mesh mesh, double density, palp_mass *mass, palp_error *error);
/* Copies up to `capacity` vertices, three numbers each [m], and writes how many there are to `count`, which may be NULL. With
 * capacity 0 and NULL it only counts. Copying functions below do the same. */
palp_status palp_mesh_copy_positions(palp_mesh mesh, double *positions, size_t capacity, size_t *count,
                                     palp_error *error);
/* Copies up to `capacity` triangles, three indices each. */
palp_status palp_mesh_copy_triangles(palp_mesh mesh, uint32_t *triangles, size_t capacity, size_t *count,
                                     palp_error *error);

/* ---- shapes --------------------------------------------------------------------------------------------------------------- */

typedef enum palp_encoding {
    PALP_FLOAT = 0, /* 4 bytes a node */
    PALP_SCALED = 1 /* 2 bytes a node, multiples of the finest power of ten that fits [m] */
} palp_encoding;

typedef enum palp_sign_method {
    PALP_SIGN_PSEUDONORMAL = 0, /* closed surface */
    PALP_SIGN_WINDING = 1,      /* open surface or soup: generalised winding number */
    PALP_SIGN_UNSIGNED = 2,     /* the surface encloses nothing: all distances are positive */
    PALP_SIGN_ANALYTIC = 3
} palp_sign_method;

/* How a shape is built. Zeros are defaults, but one of `voxel` and `resolution` must be given, and the other be 0. */
typedef struct palp_shape_params {
    double voxel;         /* edge of a voxel of the field [m] */
    double spacing;       /* distance between points [m]; 0: two voxels */
    double band;          /* half width of the band of exact distances [voxels]; 0: 5 */
    double padding;       /* free space around the surface [voxels]; 0: 3 */
    uint64_t max_bytes;   /* largest memory of the field [bytes]; 0: no limit */
    uint32_t resolution;  /* cells along the largest extent, three of padding on each side included; at least 8 */
    uint32_t segments;    /* about how many contacts palp_query_segmented gives at most; 0: 15 */
    uint32_t cluster;     /* points of a cluster of the tree, 2 to 64; 0: 8 */
    int32_t encoding;     /* palp_encoding */
    int32_t exact_bricks; /* 1: tighter depths and bounds away from the surface; the build takes several times as long */
    uint32_t threads;     /* of the build, at most 1024; 0: as many as the machine has. Never changes the result */
} palp_shape_params;

/* What a shape is made of, and how far it can be trusted. Shape frame. */
typedef struct palp_shape_info {
    double aabb_min[3]; /* box of the surface, caps of holes included [m] */
    double aabb_max[3];
    double ball_centre[3]; /* smallest ball around all points [m] */
    double ball_radius;    /* [m]; the surface reaches at most `coverage` beyond */
    double voxel;          /* [m] */
    double spacing;        /* no two points are nearer to each other [m] */
    double coverage;       /* no place of the surface is farther from a point [m] */
    double band;           /* half width of the band [m] */
    double error_bound_band; /* largest possible error of a distance within the band [m] */
    double error_bound_far;  /* the same, anywhere in the field's box [m] */
    double lipschitz;        /* the steepest the field is [1] */
    double sign_confidence;  /* share of checked points at which a second method agreed on the side [1] */
    double area;             /* sum of the points' areas [m^2] */
    double volume;           /* of the mesh, signed [m^3] */
    uint64_t points;
    uint64_t levels;   /* of the tree above the points */
    uint64_t segments; /* contacts of palp_query_segmented at most */
    uint64_t vertices;
    uint64_t triangles;
    uint64_t bytes;  /* memory of field and points */
    uint64_t bricks; /* of the field */
    uint64_t caps;   /* holes that were capped */
    int32_t watertight;
    int32_t sign_method; /* palp_sign_method */
} palp_shape_info;

/* A point of a shape, shape frame. A point on an edge or corner is several consecutive ones at one position. */
typedef struct palp_point {
    double position[3]; /* [m] */
    float normal[3];    /* unit, outward */
    float area;         /* surface it stands for [m^2] */
    uint32_t id;        /* index: palp_contact.id */
    uint32_t triangle;  /* index of the triangle it is on; those of caps follow the mesh's */
} palp_point;

/* Told during a build: the stage's name (valid during the call), steps done, and steps in all (0: unknown). Anything but 0 stops
 * the build, which then gives PALP_CANCELLED. Called from threads of the library, one at a time; must be quick, must not throw, and
 * must not call functions that build or that take many poses. */
typedef int32_t (*palp_progress)(void *user, const char *stage, uint64_t done, uint64_t total);

/* Builds field and points of a mesh. `progress` may be NULL; `user` is handed to it. */
palp_status palp_shape_build(palp_mesh mesh, const palp_shape_params *params, palp_progress progress, void *user,
                             palp_shape *shape, palp_error *error);
/* The shape of a mesh file, from the .palp file `kept_path` if that was made from the same bytes with the same parameters, else
 * built and kept there. A .gltf file, whose parts are elsewhere, is built each time. `from_file` (1: nothing was built) may be
 * NULL. */
palp_status palp_shape_build_cached(const char *mesh_path, double unit, const char *kept_path,
                                    const palp_shape_params *params, palp_progress progress, void *user,
                                    palp_shape *shape, int32_t *from_file, palp_error *error);
/* Opens a .palp file: of `params`, which may be NULL, only segments, cluster and threads count. */
palp_status palp_shape_load(const char *path, const palp_shape_params *params, palp_shape *shape, palp_error *error);
/* Writes a .palp file, whole or not at all. */
palp_status palp_shape_save(palp_shape shape, const char *path, palp_error *error);
/* The same shape `factor` [1] times as large, about its frame's origin: a shape of its own, to be freed as one. Nothing is built
 * again: voxel, spacing and every length of palp_shape_info are multiplied; points keep ids and order, the tree its clusters. A power
 * of two multiplies distances exactly, any other factor to 6e-8 of the shape's size, which the bounds include. Cost: one pass over
 * mesh, field and points, about a hundredth of a build; as much memory as the first, less the triangles of its field, which both
 * share. PALP_BAD_ARGUMENT: a factor that is not positive and finite, or with which a coordinate is beyond 1e12 m or the voxel
 * below 1e-12 m. */
palp_status palp_shape_scaled(palp_shape shape, double factor, palp_shape *scaled, palp_error *error);
palp_status palp_shape_free(palp_shape shape, palp_error *error);
/* The shape's mesh, as a mesh to be freed by the caller. */
palp_status palp_shape_get_mesh(palp_shape shape, palp_mesh *mesh, palp_error *error);
/* As palp_mesh_get_mass, of the shape's mesh. */
palp_status palp_shape_get_mass(palp_shape shape, double density, palp_mass *mass, palp_error *error);
palp_status palp_shape_get_info(palp_shape shape, palp_shape_info *info, palp_error *error);
/* Copies points: all for level -1; for level 0 (one point) to levels - 1 those that stand for the nodes of that level, each with
 * the area of all its points: a picture of the whole surface, as coarse as wanted. */
palp_status palp_shape_copy_points(palp_shape shape, int32_t level, palp_point *points, size_t capacity, size_t *count,
                                   palp_error *error);
/* Signed distance [m] of `count` points (three numbers each, shape frame [m]) and its gradient (outward, three numbers each, about
 * unit; may be NULL). Outside the field's box it is a lower bound. NaN for a point that is not finite. */
palp_status palp_shape_sample(palp_shape shape, const double *points, size_t count, double *distances,
                              double *gradients, palp_error *error);

/* ---- queries: two shapes in a relative pose ---------------------------------------------------------------------------------- */

/* Which shape gives the points; the other gives its field. */
typedef enum palp_roles {
    PALP_FEWER = 0,       /* the one with fewer; B if both have as many */
    PALP_POINTS_OF_A = 1,
    PALP_POINTS_OF_B = 2
} palp_roles;

typedef struct palp_query_params {
    double margin; /* points at most this far outside count too, with a positive distance [m] */
    int32_t roles; /* palp_roles */
    int32_t reserved;
} palp_query_params;

typedef struct palp_distance {
    double distance; /* apart: between the witnesses. Overlapping: minus the depth of the deepest point [m]. NaN without an answer */
    double bound;    /* apart: the true distance is at most this much smaller, never larger. Overlapping: a point may be so much deeper [m] */
    double witness_a[3]; /* on A's surface, A's frame [m] */
    double witness_b[3]; /* on B's surface, A's frame [m] */
} palp_distance;

typedef struct palp_reached {
    uint64_t level; /* the level whose points are among the contacts; palp_shape_info.levels if all are single points */
    double beyond;  /* share of the near surface that was looked at one level further [1] */
    int32_t complete; /* 1: the contacts are those of palp_query_contacts */
    int32_t reserved;
} palp_reached;

typedef struct palp_penetration {
    double translation[3]; /* moves B until the shapes share no point, A's frame; 0 if that is so already [m] */
    double direction[3];   /* unit, or 0 */
    double depth;          /* its length [m] */
    double bound;          /* what rounding may take from it: moved by depth + bound they certainly share no point [m] */
    double lower;          /* no translation shorter than this separates them [m] */
    uint64_t directions;   /* that were followed or excluded */
    int32_t overlapping;
    int32_t reserved;
} palp_penetration;

/* A motion of B relative to A over time 0 to 1, A's frame: B's origin goes straight, while B turns about it. */
typedef struct palp_motion {
    palp_pose from;    /* a_from_b at time 0 */
    double linear[3];  /* how far B's origin goes [m] */
    double angular[3]; /* axis times angle, which may be many turns [rad] */
} palp_motion;

typedef enum palp_impact_end {
    PALP_HIT = 0,         /* they come within `early` of each other, and did not meet before */
    PALP_FREE = 1,        /* they do not meet, certainly */
    PALP_OVERLAPPING = 2, /* they overlap at time 0 */
    PALP_NEAR = 3,        /* at time 0 they are within `early`, without overlapping */
    PALP_UNFINISHED = 4,  /* until `time` they do not meet; later they may */
    PALP_NOT_FINITE = 5,  /* the motion is not finite: no answer */
    PALP_EMPTY = 6        /* a shape has no points */
} palp_impact_end;

typedef struct palp_impact {
    double time;        /* 0 to 1, never after the true impact; NaN without one */
    palp_pose a_from_b; /* then; without an impact that at the end */
    double point[3];    /* of a shell, that is near or inside, A's frame [m]; NaN without an impact */
    double normal[3];   /* from A to B there, unit, A's frame; or 0 */
    double distance;    /* of the point to the other surface [m] */
    double early;       /* how far apart shapes may be that are reported to meet [m] */
    uint64_t steps;
    int32_t end; /* palp_impact_end */
    int32_t reserved;
} palp_impact;

typedef struct palp_stats {
    uint64_t nodes;  /* balls that were tested */
    uint64_t points; /* points that were tested */
    int32_t non_finite;
    int32_t reserved;
} palp_stats;

typedef struct palp_reduction {
    double force_error;  /* how far the net force is from the original, over the sum of the forces' lengths [1] */
    double torque_error; /* the same for the torque, over that sum times the extent of the contacts [1] */
    int32_t non_finite;  /* 1: some contacts were not finite and were left out */
    int32_t reserved;
} palp_reduction;

/* Memory for questions about A and B, which may be the same. After its first questions none allocates. */
palp_status palp_query_create(palp_shape a, palp_shape b, palp_query *query, palp_error *error);
palp_status palp_query_free(palp_query query, palp_error *error);

/* 1 if some point of either shape is in the other. With PALP_NON_FINITE: 0. */
palp_status palp_query_intersects(palp_query query, const palp_pose *a_from_b, int32_t *intersects, palp_error *error);
/* Signed distance with witnesses and bound: microseconds. With PALP_NON_FINITE: NaN. */
palp_status palp_query_distance(palp_query query, const palp_pose *a_from_b, palp_distance *distance,
                                palp_error *error);

/* Questions about contacts. `params` may be NULL. `contacts` shows memory of the query: valid until its next call. With
 * PALP_NON_FINITE: no contacts, and the flag. */

/* Every point of one shape in the other, or at most the margin outside. */
palp_status palp_query_contacts(palp_query query, const palp_pose *a_from_b, const palp_query_params *params,
                                palp_contacts *contacts, palp_error *error);
/* The deepest contact of each segment of the surface: at most palp_shape_info.segments. */
palp_status palp_query_segmented(palp_query query, const palp_pose *a_from_b, const palp_query_params *params,
                                 palp_contacts *contacts, palp_error *error);
/* Both directions: B's points in A, and A's points in B. `roles` does not count. */
palp_status palp_query_both(palp_query query, const palp_pose *a_from_b, const palp_query_params *params,
                            palp_contacts *points_of_b, palp_contacts *points_of_a, palp_error *error);
/* As fine as about `max_points` tested points and balls allow; points of coarse levels carry the area of all theirs. `reached`
 * may be NULL. Depends on its arguments alone. */
palp_status palp_query_budget_points(palp_query query, const palp_pose *a_from_b, const palp_query_params *params,
                                     size_t max_points, palp_contacts *contacts, palp_reached *reached,
                                     palp_error *error);
/* The same within a time [us], counted from the call; begins where the last call with a time found the shapes near. */
palp_status palp_query_budget_time(palp_query query, const palp_pose *a_from_b, const palp_query_params *params,
                                   double micros, palp_contacts *contacts, palp_reached *reached, palp_error *error);
/* Copies the contacts of the last question about contacts (of palp_query_both B's points). */
palp_status palp_query_copy_contacts(palp_query query, palp_contact *contacts, size_t capacity, size_t *count,
                                     palp_error *error);
/* At most `n` contacts that together push as those of the last question about contacts (of palp_query_both B's points) do: net
 * force, torque and area are kept. `reduction` may be NULL. Valid until the query's next call; palp_query_force still uses all. */
palp_status palp_query_reduce(palp_query query, size_t n, palp_contacts *contacts, palp_reduction *reduction,
                              palp_error *error);
/* Bullet's four of them: the deepest, then those that span the largest area. As chosen, not in the order of ids. */
palp_status palp_query_four(palp_query query, palp_contacts *contacts, palp_error *error);

/* The shortest translation of B found that separates the shapes: milliseconds. `directions` over the sphere, at most 100,000,
 * 0: 128; points less deep than `tolerance` count as out while directions are compared [m], 0: a twentieth of the voxel. */
palp_status palp_query_penetration(palp_query query, const palp_pose *a_from_b, uint32_t directions, double tolerance,
                                   palp_penetration *penetration, palp_error *error);
/* How far B must go along `direction` (three numbers of any length but 0, A's frame) until it is free. */
palp_status palp_query_penetration_along(palp_query query, const palp_pose *a_from_b, const double *direction,
                                         double tolerance, palp_penetration *penetration, palp_error *error);
/* When the shapes first meet. `tolerance` beyond the coverage of the points [m], 0: a twentieth of their spacing;
 * `max_steps` 0: 4000. */
palp_status palp_query_time_of_impact(palp_query query, const palp_motion *motion, double tolerance, size_t max_steps,
                                      palp_impact *impact, palp_error *error);
/* What the last question took. */
palp_status palp_query_get_stats(palp_query query, palp_stats *stats, palp_error *error);

/* ---- forces ------------------------------------------------------------------------------------------------------------------ */

typedef enum palp_law {
    PALP_INTEGRATED = 0, /* sum over the area in contact: stiffness in N/m^3, damping in N s/m^3 */
    PALP_AVERAGED = 1    /* mean over the area in contact: stiffness in N/m, damping in N s/m */
} palp_law;

typedef enum palp_direction {
    PALP_ALONG_FIELD = 0, /* along palp_contact.normal */
    PALP_ALONG_SHELL = 1  /* against the normal of B where B gave the points, along that of A where A did */
} palp_direction;

/* All numbers finite and not negative. */
typedef struct palp_force_params {
    double stiffness;           /* force for each metre of depth [N/m^3, or N/m] */
    double damping;             /* force for each metre a second of approach; never pulls [N s/m^3, or N s/m] */
    double static_coefficient;  /* of friction at rest, at least the dynamic one [1] */
    double dynamic_coefficient; /* of friction of a sliding contact [1] */
    double stiffness_ratio;     /* stiffness along the surface over that across it; 0: 1 [1] */
    double friction_damping;    /* along the surface, of a contact that sticks [N s/m^3, or N s/m] */
    double creep;               /* without palp_friction nothing sticks: friction grows with the speed up to this one; 0: 1e-3 [m/s] */
    int32_t law;                /* palp_law */
    int32_t direction;          /* palp_direction */
} palp_force_params;

typedef struct palp_force {
    palp_wrench wrench;  /* on B, about B's origin, A's frame */
    double area;         /* in contact [m^2] */
    double normal_force; /* sum of the lengths of the contacts' normal forces [N] */
    uint64_t used;       /* contacts with depth */
    uint64_t sticking;   /* of them */
    uint64_t sliding;    /* of them */
    int32_t non_finite;  /* 1: something was not finite, everything else here is 0 */
    int32_t unsorted;    /* 1: contacts were not in the order of ids, friction forgot some */
} palp_force;

/* Infinity is no limit. */
typedef struct palp_limits {
    double force;       /* [N] */
    double torque;      /* [N m] */
    double force_rate;  /* [N/s] */
    double torque_rate; /* [N m/s] */
} palp_limits;

typedef struct palp_limited {
    palp_wrench wrench;
    int32_t saturated; /* it was too large */
    int32_t slewed;    /* it changed too fast */
    int32_t non_finite;
    int32_t reserved;
} palp_limited;

/* Where contacts of one pair stick, both directions: keep it with the pair, give it in every step. */
palp_status palp_friction_create(palp_friction *friction, palp_error *error);
/* Forgets everything: for a jump of the scene. */
palp_status palp_friction_clear(palp_friction friction, palp_error *error);
palp_status palp_friction_free(palp_friction friction, palp_error *error);
/* The wrench of the contacts of the query's last question about contacts, at its pose; after palp_query_both half of each
 * direction. `motion` may be NULL: at rest. `friction` may have id 0: nothing sticks. With PALP_NON_FINITE: zeros. */
palp_status palp_query_force(palp_query query, const palp_force_params *params, const palp_twist *motion,
                             palp_friction friction, palp_force *force, palp_error *error);
/* Its derivative: 36 numbers, row by row: force x y z, torque x y z by a translation of B's origin x y z [m], then a rotation vector
 * about it x y z [rad], A's frame. Contacts, and which of them stick, are frozen. Call after palp_query_force of the same step. */
palp_status palp_query_force_derivative(palp_query query, const palp_force_params *params, const palp_twist *motion,
                                        palp_friction friction, double *derivative, palp_error *error);
/* The wrench of contacts that the caller has, such as reduced ones, with the origin (three numbers [m]) and `swapped` of their
 * palp_contacts. They must be in the order of ids if friction is to hold them. Copies. */
palp_status palp_contacts_force(const palp_contact *contacts, size_t count, const double *origin, int32_t swapped,
                                const palp_pose *a_from_b, const palp_force_params *params, const palp_twist *motion,
                                palp_friction friction, palp_force *force, palp_error *error);
/* A wrench within limits, directions kept. `last` holds the wrench of the call before (begin with zeros) and is replaced: it may
 * change by rate * dt [s]. With `last` NULL only its size is limited. With PALP_NON_FINITE: zero. */
palp_status palp_wrench_limit(const palp_limits *limits, const palp_wrench *wrench, double dt, palp_wrench *last,
                              palp_limited *limited, palp_error *error);

/* ---- batches: many poses in parallel ------------------------------------------------------------------------------------------ */

/* `threads` 0: as many as the machine has, and kept; n: threads of this call's own. Results do not depend on it. They are in the order
 * of poses. A pose that is not finite has its usual answer and makes the status PALP_NON_FINITE; the others are answered. */

/* Writes `count` numbers, 1 or 0. */
palp_status palp_batch_intersects(palp_shape a, palp_shape b, const palp_pose *a_from_b, size_t count, uint32_t threads,
                                  int32_t *intersects, palp_error *error);
/* Writes `count` distances. */
palp_status palp_batch_distance(palp_shape a, palp_shape b, const palp_pose *a_from_b, size_t count, uint32_t threads,
                                palp_distance *distances, palp_error *error);
/* All contacts of each pose, to be freed by the caller. `params` may be NULL. */
palp_status palp_batch_contacts(palp_shape a, palp_shape b, const palp_pose *a_from_b, size_t count,
                                const palp_query_params *params, uint32_t threads, palp_batch *batch,
                                palp_error *error);
/* Number of poses of a batch. */
palp_status palp_batch_get_count(palp_batch batch, size_t *count, palp_error *error);
/* The contacts of one pose; valid until the batch is freed. */
palp_status palp_batch_get_contacts(palp_batch batch, size_t index, palp_contacts *contacts, palp_error *error);
palp_status palp_batch_free(palp_batch batch, palp_error *error);

/* ---- solids by formula --------------------------------------------------------------------------------------------------------- */

/* They give a field, exact, and no points: shapes collide with them, they do not with each other. Points are three numbers [m] in the
 * solid's own frame. */

palp_status palp_solid_sphere(const double *centre, double radius, palp_solid *solid, palp_error *error);
/* Edges along the axes. */
palp_status palp_solid_box(const double *centre, const double *half_extents, palp_solid *solid, palp_error *error);
/* All points within the radius of the segment from a to b. */
palp_status palp_solid_capsule(const double *a, const double *b, double radius, palp_solid *solid, palp_error *error);
/* With flat ends, whose middles are a and b. */
palp_status palp_solid_cylinder(const double *a, const double *b, double radius, palp_solid *solid, palp_error *error);
/* From the middle of its flat base, of this radius, to its tip. */
palp_status palp_solid_cone(const double *base, const double *apex, double radius, palp_solid *solid,
                            palp_error *error);
/* A ring around the z axis: radius of its circle, and of its tube, which is smaller. */
palp_status palp_solid_torus(double major, double minor, palp_solid *solid, palp_error *error);
/* All points with dot(unit normal, p) <= offset: the normal, of any length but 0, points out of the solid. */
palp_status palp_solid_half_space(const double *normal, double offset, palp_solid *solid, palp_error *error);
/* A convex polyhedron: 3 * vertex_count coordinates, 3 * triangle_count indices, closed, counter-clockwise from outside. */
palp_status palp_solid_hull(const double *positions, size_t vertex_count, const uint32_t *triangles,
                            size_t triangle_count, palp_solid *solid, palp_error *error);
/* All points within the radius of another solid [m]. */
palp_status palp_solid_rounded(palp_solid inner, double radius, palp_solid *solid, palp_error *error);
/* Another solid, moved. */
palp_status palp_solid_moved(palp_solid inner, const palp_pose *outer_from_inner, palp_solid *solid,
                             palp_error *error);
/* All points of any of 1 to 4096 others. Inside where they overlap the depth is not overestimated. */
palp_status palp_solid_union(const palp_solid *parts, size_t count, palp_solid *solid, palp_error *error);
palp_status palp_solid_free(palp_solid solid, palp_error *error);
/* Its box: three numbers each [m]; infinite along the axes in which it is. */
palp_status palp_solid_get_box(palp_solid solid, double *min, double *max, palp_error *error);
/* As palp_shape_sample; exact, everywhere but inside a union. */
palp_status palp_solid_sample(palp_solid solid, const double *points, size_t count, double *distances,
                              double *gradients, palp_error *error);

/* ---- pairs: few contacts that stay, for physics engines -------------------------------------------------------------------------- */

/* A shape or a solid: palp_collider c = {shape.id}, or {solid.id}. */
typedef struct palp_collider { uint64_t id; } palp_collider;

typedef enum palp_choice {
    PALP_REGULAR = 0,   /* one manifold of up to four points: the deepest, then those that span the largest area */
    PALP_SEGMENTED = 1, /* the deepest point of each segment: a node of level `count` of the tree, 1 being the root */
    PALP_PATCHES = 2    /* up to `count` manifolds of up to four points that push in about the same direction */
} palp_choice;

typedef struct palp_manifold_params {
    double margin;   /* points at most this far outside are found, with a positive distance [m]: about what bodies move in a step */
    double spread;   /* points at most this much farther than the nearest, or than touching, may be chosen [m]; 0: a hundredth of the
                        radius of the shape that gives the points, at least half a spacing */
    double micros;   /* time the search may take, from the call on [us]; 0: no limit. Two shapes only: solids take less */
    uint64_t budget; /* about how many points and balls may be tested; 0: no limit */
    int32_t choice;  /* palp_choice */
    uint32_t count;  /* level of segments, 0: 1; most patches, at most 128, 0: 4 */
    int32_t roles;   /* palp_roles, where both can give points */
    int32_t both;    /* 1: both give points, where both can */
    int32_t one_normal; /* 1: points whose directions differ become manifolds of their own, for engines with one normal a manifold */
    int32_t tiers;      /* 1: each patch gives up to two manifolds: of points that hold a body now, then of others that may soon */
    int32_t ahead;      /* 1: `next` is given */
    int32_t reserved;
    palp_pose next;     /* where B is about to be in A's frame, a step later, if nothing is in its way: points that get past an edge on
                           that way are not told of it (a peg, the rim of its hole) */
} palp_manifold_params;

typedef struct palp_manifold_point {
    double point_a[3]; /* on A's surface, A's frame [m] */
    double point_b[3]; /* on B's surface, B's frame [m] */
    double normal[3];  /* from A to B, unit, A's frame */
    double distance;   /* negative inside: from A's point to B's along the normal [m] */
    uint32_t id;       /* the same for the same point in every step; unique within a manifold */
    uint32_t reserved;
} palp_manifold_point;

/* Points that an engine may take together. */
typedef struct palp_manifold {
    double normal[3]; /* mean of its points', from A to B, unit, A's frame */
    uint32_t key;     /* stays with it from step to step; unique, below palp_manifolds.keys */
    uint32_t first;   /* its first point in palp_manifolds.points */
    uint32_t count;   /* its points, 1 to 4 */
    uint32_t reserved;
} palp_manifold;

/* In memory of the pair: valid until its next call. */
typedef struct palp_manifolds {
    const palp_manifold *list; /* in the order of keys; NULL without any */
    size_t count;
    const palp_manifold_point *points; /* of one manifold after another; NULL without any */
    size_t point_count;
    size_t keys;        /* how many there can be with these parameters */
    size_t candidates;  /* contacts they were chosen from */
    int32_t cut_short;  /* 1: a budget ended the search: points may be coarser than the shell */
    int32_t non_finite; /* 1: the pose was not finite, there is no answer */
} palp_manifolds;

/* Memory of two colliders: keep it while they are near each other. Two solids find no contacts. */
palp_status palp_pair_create(palp_collider a, palp_collider b, palp_pair *pair, palp_error *error);
palp_status palp_pair_free(palp_pair pair, palp_error *error);
/* The manifolds in a relative pose; `params` may be NULL. Points chosen before are preferred: a solver can go on from its last
 * impulses. With PALP_NON_FINITE: none, and the flag. */
palp_status palp_pair_update(palp_pair pair, const palp_pose *a_from_b, const palp_manifold_params *params,
                             palp_manifolds *manifolds, palp_error *error);
/* The contacts the last update chose from, those of one direction; valid until the pair's next call. For palp_contacts_force. */
palp_status palp_pair_get_contacts(palp_pair pair, palp_contacts *contacts, palp_error *error);

/* ---- what compilers must agree on ---------------------------------------------------------------------------------------------- */

#if defined(__cplusplus)
#define PALP_CHECK(name, condition) static_assert(condition, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define PALP_CHECK(name, condition) _Static_assert(condition, #name)
#else
#define PALP_CHECK(name, condition) typedef char palp_check_##name[(condition) ? 1 : -1]
#endif
PALP_CHECK(status, sizeof(palp_status) == 4);
PALP_CHECK(error, sizeof(palp_error) == 512);
PALP_CHECK(pose, sizeof(palp_pose) == 56);
PALP_CHECK(contact, sizeof(palp_contact) == 48);
PALP_CHECK(contact_distance, offsetof(palp_contact, distance) == 12);
PALP_CHECK(contact_normal, offsetof(palp_contact, normal) == 16);
PALP_CHECK(contact_id, offsetof(palp_contact, id) == 28);
PALP_CHECK(contact_shell_normal, offsetof(palp_contact, shell_normal) == 32);
PALP_CHECK(contact_area, offsetof(palp_contact, area) == 44);
PALP_CHECK(point, sizeof(palp_point) == 48);
#undef PALP_CHECK

#ifdef __cplusplus
}
#endif
#endif
