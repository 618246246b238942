/* What a program in C relies on: answers, statuses and messages of the library. Also compiled as C++. */
#include <palpate.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static int checks = 0, failures = 0;
static palp_error error;

static void check(int good, const char *what, int line) {
    checks++;
    if (!good) {
        failures++;
        printf("line %d: %s\n  last error: %s: %s\n", line, what, palp_status_name(error.code), error.message);
    }
}
#define CHECK(condition) check((condition) ? 1 : 0, #condition, __LINE__)
/* A call that must end with a status, which the error repeats, with a message unless all is well. */
#define GIVES(status, call)                                                                                            \
    do {                                                                                                               \
        memset(&error, 'x', sizeof error);                                                                             \
        CHECK((call) == (status));                                                                                     \
        CHECK(error.code == (status));                                                                                 \
        CHECK(strlen(error.message) < sizeof error.message);                                                           \
        CHECK((error.message[0] == 0) == ((status) == PALP_OK));                                                       \
    } while (0)

static palp_pose at(double x, double y, double z) {
    palp_pose p;
    memset(&p, 0, sizeof p);
    p.rotation[3] = 1.0;
    p.translation[0] = x;
    p.translation[1] = y;
    p.translation[2] = z;
    return p;
}

/* A cube of edge 2 around the origin, facing outward. */
static palp_mesh cube(void) {
    static const double p[8][3] = {{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1},
                                   {-1, -1, 1},  {1, -1, 1},  {-1, 1, 1},  {1, 1, 1}};
    static const uint32_t t[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                                      {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
    palp_mesh m;
    memset(&m, 0, sizeof m);
    GIVES(PALP_OK, palp_mesh_from_arrays(&p[0][0], 8, &t[0][0], 12, &m, &error));
    return m;
}

struct told {
    int calls;
    int stop_after;
};

static int32_t tell(void *user, const char *stage, uint64_t done, uint64_t total) {
    struct told *t = (struct told *)user;
    (void)done;
    (void)total;
    t->calls++;
    return stage == NULL || (t->stop_after > 0 && t->calls >= t->stop_after);
}

static palp_shape_params coarse(void) {
    palp_shape_params p;
    memset(&p, 0, sizeof p);
    p.voxel = 0.1;
    p.threads = 2;
    return p;
}

static void meshes(void) {
    palp_mesh m = cube(), other;
    palp_mesh_report r;
    palp_mass mass;
    double positions[8 * 3];
    uint32_t triangles[12 * 3];
    size_t n = 0;
    GIVES(PALP_OK, palp_mesh_get_report(m, &r, &error));
    CHECK(r.vertices == 8 && r.triangles == 12 && r.watertight == 1 && r.components == 1);
    CHECK(fabs(r.volume - 8.0) < 1e-12 && fabs(r.area - 24.0) < 1e-12);
    CHECK(r.aabb_min[0] == -1.0 && r.aabb_max[2] == 1.0);
    GIVES(PALP_OK, palp_mesh_get_mass(m, 1000.0, &mass, &error));
    CHECK(fabs(mass.mass - 8000.0) < 1e-8 && fabs(mass.centre[0]) < 1e-12);
    CHECK(fabs(mass.inertia[0] - 8000.0 * 8.0 / 12.0) < 1e-8 && fabs(mass.inertia[1]) < 1e-8);
    GIVES(PALP_BAD_ARGUMENT, palp_mesh_get_mass(m, -1.0, &mass, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_mesh_get_mass(m, NAN, &mass, &error));
    GIVES(PALP_OK, palp_mesh_copy_positions(m, NULL, 0, &n, &error));
    CHECK(n == 8);
    GIVES(PALP_OK, palp_mesh_copy_positions(m, positions, 8, &n, &error));
    CHECK(positions[0] == -1.0);
    GIVES(PALP_TOO_SMALL, palp_mesh_copy_positions(m, positions, 3, &n, &error));
    CHECK(n == 8);
    GIVES(PALP_OK, palp_mesh_copy_triangles(m, triangles, 12, NULL, &error));
    /* Input that is no mesh. */
    GIVES(PALP_IO, palp_mesh_load("no such file.obj", 1.0, &other, &error));
    CHECK(strstr(error.message, "no such file.obj") != NULL);
    GIVES(PALP_IO, palp_mesh_load("\xff\xfe.obj", 1.0, &other, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_mesh_load("", 1.0, &other, &error));
    GIVES(PALP_NULL_POINTER, palp_mesh_load(NULL, 1.0, &other, &error));
    GIVES(PALP_NULL_POINTER, palp_mesh_load("x.obj", 1.0, NULL, &error));
    GIVES(PALP_BAD_MESH, palp_mesh_from_arrays(NULL, 0, NULL, 0, &other, &error));
    GIVES(PALP_NULL_POINTER, palp_mesh_from_arrays(NULL, 8, triangles, 12, &other, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_mesh_from_arrays(positions, SIZE_MAX / 8, triangles, 12, &other, &error));
    triangles[4] = 99;
    GIVES(PALP_BAD_MESH, palp_mesh_from_arrays(positions, 8, triangles, 12, &other, &error));
    CHECK(strstr(error.message, "99") != NULL);
    triangles[4] = 0;
    positions[5] = NAN;
    GIVES(PALP_BAD_MESH, palp_mesh_from_arrays(positions, 8, triangles, 12, &other, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_mesh_sample("teapot", &other, &error));
    GIVES(PALP_OK, palp_mesh_free(m, &error));
    GIVES(PALP_FREED, palp_mesh_free(m, &error));
    GIVES(PALP_FREED, palp_mesh_get_report(m, &r, &error));
    CHECK(palp_mesh_get_report(m, &r, NULL) == PALP_FREED);
}

/* An open sheet, 2 by 1 at height 3, becomes a plate below it, whichever way its triangles turn. */
static void sheets(void) {
    static const double p[4][3] = {{0, 0, 3}, {2, 0, 3}, {2, 1, 3}, {0, 1, 3}}, up[3] = {0, 0, 2}, aside[3] = {1, 0, 0};
    static const uint32_t front[2][3] = {{0, 1, 2}, {0, 2, 3}}, turned[2][3] = {{0, 2, 1}, {0, 3, 2}};
    palp_mesh m, none;
    palp_mesh_report r;
    none.id = 77;
    GIVES(PALP_OK, palp_mesh_thicken(&p[0][0], 4, &front[0][0], 2, NULL, 0.5, &m, &error));
    GIVES(PALP_OK, palp_mesh_get_report(m, &r, &error));
    CHECK(r.watertight == 1 && r.triangles == 12 && fabs(r.volume - 1.0) < 1e-12);
    CHECK(r.aabb_min[2] == 2.5 && r.aabb_max[2] == 3.0);
    GIVES(PALP_OK, palp_mesh_free(m, &error));
    GIVES(PALP_OK, palp_mesh_thicken(&p[0][0], 4, &turned[0][0], 2, up, 0.5, &m, &error));
    GIVES(PALP_OK, palp_mesh_get_report(m, &r, &error));
    CHECK(r.watertight == 1 && fabs(r.volume - 1.0) < 1e-12 && r.aabb_min[2] == 2.5);
    GIVES(PALP_OK, palp_mesh_free(m, &error));
    GIVES(PALP_OK, palp_mesh_thicken(&p[0][0], 4, &turned[0][0], 2, NULL, 0.5, &m, &error));
    GIVES(PALP_OK, palp_mesh_get_report(m, &r, &error));
    CHECK(r.aabb_min[2] == 3.0 && r.aabb_max[2] == 3.5 && fabs(r.volume - 1.0) < 1e-12);
    GIVES(PALP_OK, palp_mesh_free(m, &error));
    /* Moved along itself it encloses nothing; that is for the caller to see. */
    GIVES(PALP_OK, palp_mesh_thicken(&p[0][0], 4, &front[0][0], 2, aside, 0.5, &m, &error));
    GIVES(PALP_OK, palp_mesh_get_report(m, &r, &error));
    CHECK(fabs(r.volume) < 1e-12);
    GIVES(PALP_OK, palp_mesh_free(m, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_mesh_thicken(&p[0][0], 4, &front[0][0], 2, NULL, 0.0, &none, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_mesh_thicken(&p[0][0], 4, &front[0][0], 2, NULL, NAN, &none, &error));
    CHECK(strstr(error.message, "thickness") != NULL && none.id == 77);
}

/* A shape in another size is what building it in that size would be. */
static void scales(palp_shape s) {
    static const double bad[5] = {0.0, -1.0, NAN, INFINITY, 1e200};
    palp_shape twice, none;
    palp_shape_info one, two;
    palp_query q;
    palp_distance d;
    palp_pose p = at(3.5, 0.0, 0.0);
    double where[3] = {0.0, 0.0, 2.5}, distance = 0.0;
    size_t i;
    none.id = 77;
    GIVES(PALP_OK, palp_shape_scaled(s, 2.0, &twice, &error));
    GIVES(PALP_OK, palp_shape_get_info(s, &one, &error));
    GIVES(PALP_OK, palp_shape_get_info(twice, &two, &error));
    CHECK(two.voxel == 2.0 * one.voxel && two.spacing == 2.0 * one.spacing && two.points == one.points);
    CHECK(two.levels == one.levels && two.segments == one.segments && two.aabb_max[0] == 2.0);
    CHECK(fabs(two.volume - 8.0 * one.volume) < 1e-9 && two.error_bound_band == 2.0 * one.error_bound_band);
    GIVES(PALP_OK, palp_shape_sample(twice, where, 1, &distance, NULL, &error));
    CHECK(fabs(distance - 0.5) < two.error_bound_far);
    GIVES(PALP_OK, palp_query_create(twice, s, &q, &error));
    GIVES(PALP_OK, palp_query_distance(q, &p, &d, &error));
    CHECK(fabs(d.distance - 0.5) < 1e-5);
    GIVES(PALP_OK, palp_query_free(q, &error));
    for (i = 0; i < 5; i++) {
        GIVES(PALP_BAD_ARGUMENT, palp_shape_scaled(s, bad[i], &none, &error));
        CHECK(strstr(error.message, "scale") != NULL && none.id == 77);
    }
    GIVES(PALP_OK, palp_shape_free(twice, &error));
    GIVES(PALP_FREED, palp_shape_scaled(twice, 2.0, &none, &error));
}

static palp_shape shapes(void) {
    palp_mesh m = cube(), copy;
    palp_shape s, again, stopped;
    palp_shape_params p = coarse();
    palp_shape_info info, info_again;
    palp_point points[64];
    palp_mass mass;
    struct told told = {0, 0};
    int32_t from_file = 7;
    size_t n = 0;
    double where[6] = {0.0, 0.0, 1.5, 0.0, 0.0, 0.7}, distances[2], gradients[6];
    memset(&s, 0, sizeof s);
    GIVES(PALP_OK, palp_shape_build(m, &p, tell, &told, &s, &error));
    CHECK(told.calls > 3);
    GIVES(PALP_OK, palp_shape_get_info(s, &info, &error));
    CHECK(info.points > 100 && info.levels >= 2 && info.watertight == 1 && info.voxel == 0.1);
    CHECK(fabs(info.ball_radius - sqrt(3.0)) < 1e-5 && fabs(info.area - 24.0) < 1e-3);
    CHECK(info.sign_method == PALP_SIGN_PSEUDONORMAL && info.error_bound_band < 0.1);
    told.calls = 0;
    told.stop_after = 2;
    stopped.id = 77;
    GIVES(PALP_CANCELLED, palp_shape_build(m, &p, tell, &told, &stopped, &error));
    CHECK(stopped.id == 77);
    /* Points of the whole, and of the coarsest level. */
    GIVES(PALP_OK, palp_shape_copy_points(s, -1, NULL, 0, &n, &error));
    CHECK(n == info.points);
    GIVES(PALP_OK, palp_shape_copy_points(s, 0, points, 64, &n, &error));
    CHECK(n == 1 && fabs(points[0].area - 24.0) < 1e-3);
    GIVES(PALP_BAD_ARGUMENT, palp_shape_copy_points(s, 1000, points, 64, &n, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_shape_copy_points(s, -2, points, 64, &n, &error));
    GIVES(PALP_OK, palp_shape_sample(s, where, 2, distances, gradients, &error));
    CHECK(fabs(distances[0] - 0.5) < info.error_bound_far && gradients[2] > 0.9);
    CHECK(fabs(distances[1] + 0.3) < info.error_bound_band);
    GIVES(PALP_OK, palp_shape_get_mass(s, 1.0, &mass, &error));
    CHECK(fabs(mass.mass - 8.0) < 1e-6);
    /* Files: saved and loaded, the same; a cache that is built once. */
    GIVES(PALP_OK, palp_shape_save(s, "cube.palp", &error));
    GIVES(PALP_OK, palp_shape_load("cube.palp", NULL, &again, &error));
    GIVES(PALP_OK, palp_shape_get_info(again, &info_again, &error));
    CHECK(info.points == info_again.points && info.error_bound_far == info_again.error_bound_far);
    GIVES(PALP_OK, palp_shape_free(again, &error));
    GIVES(PALP_IO, palp_shape_save(s, "no/such/folder/cube.palp", &error));
    GIVES(PALP_IO, palp_shape_load("nothing.palp", NULL, &again, &error));
    {
        FILE *f = fopen("cube.obj", "w");
        CHECK(f != NULL);
        if (f) {
            fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n", f);
            fclose(f);
        }
    }
    GIVES(PALP_BAD_FILE, palp_shape_load("cube.obj", NULL, &again, &error));
    remove("kept.palp");
    GIVES(PALP_OK, palp_shape_build_cached("cube.obj", 1.0, "kept.palp", &p, NULL, NULL, &again, &from_file, &error));
    CHECK(from_file == 0);
    GIVES(PALP_OK, palp_shape_free(again, &error));
    GIVES(PALP_OK, palp_shape_build_cached("cube.obj", 1.0, "kept.palp", &p, NULL, NULL, &again, &from_file, &error));
    CHECK(from_file == 1);
    GIVES(PALP_OK, palp_shape_free(again, &error));
    /* Parameters that contradict each other or make no sense. */
    p.resolution = 64;
    GIVES(PALP_BAD_ARGUMENT, palp_shape_build(m, &p, NULL, NULL, &again, &error));
    p = coarse();
    p.voxel = 0.0;
    GIVES(PALP_BAD_ARGUMENT, palp_shape_build(m, &p, NULL, NULL, &again, &error));
    p.voxel = -INFINITY;
    GIVES(PALP_BAD_ARGUMENT, palp_shape_build(m, &p, NULL, NULL, &again, &error));
    p.voxel = 1e-9;
    GIVES(PALP_BUILD, palp_shape_build(m, &p, NULL, NULL, &again, &error));
    p = coarse();
    p.threads = 4000000000u;
    GIVES(PALP_BAD_ARGUMENT, palp_shape_build(m, &p, NULL, NULL, &again, &error));
    p = coarse();
    p.encoding = 9;
    GIVES(PALP_BAD_ARGUMENT, palp_shape_build(m, &p, NULL, NULL, &again, &error));
    GIVES(PALP_NULL_POINTER, palp_shape_build(m, NULL, NULL, NULL, &again, &error));
    /* A shape outlives its mesh; a handle of one kind is none of another. */
    GIVES(PALP_OK, palp_mesh_free(m, &error));
    GIVES(PALP_OK, palp_shape_get_mesh(s, &copy, &error));
    again.id = copy.id;
    GIVES(PALP_WRONG_KIND, palp_shape_get_info(again, &info, &error));
    GIVES(PALP_OK, palp_mesh_free(copy, &error));
    again.id = 0x0123456789abcdefu;
    GIVES(PALP_BAD_HANDLE, palp_shape_get_info(again, &info, &error));
    return s;
}

static void queries(palp_shape s) {
    palp_query q;
    palp_pose p = at(1.95, 0.1, 0.1), bad = at(0.0, NAN, 0.0);
    palp_query_params params;
    palp_contacts c, other;
    palp_contact copies[8];
    palp_distance d;
    palp_penetration out;
    palp_impact impact;
    palp_motion motion;
    palp_reached reached;
    palp_reduction reduction;
    palp_stats stats;
    palp_force_params push;
    palp_force force;
    palp_friction friction, none;
    palp_twist twist;
    palp_limits limits = {10.0, INFINITY, 100.0, INFINITY};
    palp_wrench last;
    palp_limited limited;
    double six[36], along[3] = {1.0, 0.0, 0.0};
    int32_t meets = 7;
    size_t i, n = 0;
    none.id = 0;
    memset(&params, 0, sizeof params);
    memset(&motion, 0, sizeof motion);
    memset(&push, 0, sizeof push);
    memset(&twist, 0, sizeof twist);
    memset(&last, 0, sizeof last);
    GIVES(PALP_OK, palp_query_create(s, s, &q, &error));
    GIVES(PALP_OK, palp_query_intersects(q, &p, &meets, &error));
    CHECK(meets == 1);
    GIVES(PALP_OK, palp_query_distance(q, &p, &d, &error));
    CHECK(fabs(d.distance + 0.05) < 0.01);
    GIVES(PALP_OK, palp_query_contacts(q, &p, NULL, &c, &error));
    CHECK(c.count > 10 && c.list != NULL && c.non_finite == 0);
    for (i = 0; i < c.count; i++) {
        CHECK(c.list[i].distance <= 0.0f && fabs(c.origin[0] + c.list[i].point[0] - 0.975) < 0.035);
        CHECK(i == 0 || c.list[i].id >= c.list[i - 1].id);
    }
    n = c.count;
    GIVES(PALP_TOO_SMALL, palp_query_copy_contacts(q, copies, 8, &n, &error));
    CHECK(n == c.count && memcmp(copies, c.list, sizeof copies) == 0);
    GIVES(PALP_OK, palp_query_get_stats(q, &stats, &error));
    CHECK(stats.points >= c.count);
    /* Along x, by pressure: stiffness * area * depth, over 1.9^2 of the faces; less at their edges. */
    push.stiffness = 1000.0;
    GIVES(PALP_OK, palp_query_force(q, &push, NULL, none, &force, &error));
    CHECK(fabs(force.wrench.force[0] - 180.0) < 25.0 && fabs(force.wrench.force[1]) < 20.0);
    GIVES(PALP_OK, palp_query_force_derivative(q, &push, NULL, none, six, &error));
    CHECK(six[0] < -1000.0);
    GIVES(PALP_OK, palp_contacts_force(c.list, c.count, c.origin, c.swapped, &p, &push, NULL, none, &force, &error));
    CHECK(fabs(force.wrench.force[0] - 180.0) < 25.0);
    GIVES(PALP_OK, palp_friction_create(&friction, &error));
    push.static_coefficient = push.dynamic_coefficient = 0.5;
    twist.linear[1] = 0.1;
    GIVES(PALP_OK, palp_query_force(q, &push, &twist, friction, &force, &error));
    CHECK(force.sticking + force.sliding == force.used && force.used > 0);
    GIVES(PALP_OK, palp_friction_clear(friction, &error));
    GIVES(PALP_OK, palp_friction_free(friction, &error));
    GIVES(PALP_FREED, palp_query_force(q, &push, &twist, friction, &force, &error));
    push.stiffness = -1.0;
    GIVES(PALP_BAD_ARGUMENT, palp_query_force(q, &push, NULL, none, &force, &error));
    GIVES(PALP_OK, palp_wrench_limit(&limits, &force.wrench, 0.01, NULL, &limited, &error));
    CHECK(limited.saturated == 1);
    GIVES(PALP_OK, palp_wrench_limit(&limits, &force.wrench, 0.01, &last, &limited, &error));
    CHECK(limited.slewed == 1 && fabs(last.force[0] - 1.0) < 0.01);
    /* Fewer contacts. */
    GIVES(PALP_OK, palp_query_reduce(q, 6, &other, &reduction, &error));
    CHECK(other.count <= 6 && reduction.force_error < 1e-3);
    GIVES(PALP_OK, palp_query_four(q, &other, &error));
    CHECK(other.count == 4);
    GIVES(PALP_OK, palp_query_segmented(q, &p, NULL, &other, &error));
    CHECK(other.count > 0 && other.count < 40);
    GIVES(PALP_OK, palp_query_budget_points(q, &p, NULL, 40, &other, &reached, &error));
    CHECK(reached.complete == 0);
    GIVES(PALP_OK, palp_query_budget_time(q, &p, NULL, 1e6, &other, &reached, &error));
    CHECK(reached.complete == 1);
    GIVES(PALP_OK, palp_query_budget_time(q, &p, NULL, INFINITY, &other, NULL, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_query_budget_time(q, &p, NULL, NAN, &other, NULL, &error));
    GIVES(PALP_OK, palp_query_both(q, &p, NULL, &c, &other, &error));
    CHECK(c.swapped == 0 && other.swapped == 1 && c.count > 0 && other.count > 0);
    push.stiffness = 1000.0;
    GIVES(PALP_OK, palp_query_force(q, &push, NULL, none, &force, &error));
    CHECK(fabs(force.wrench.force[0] - 180.0) < 25.0);
    GIVES(PALP_OK, palp_query_penetration(q, &p, 0, 0.0, &out, &error));
    CHECK(fabs(out.depth - 0.05) < 1e-6 && out.overlapping == 1);
    GIVES(PALP_OK, palp_query_penetration_along(q, &p, along, 0.0, &out, &error));
    CHECK(fabs(out.translation[0] - 0.05) < 1e-6);
    motion.from = at(5.0, 0.1, 0.1);
    motion.linear[0] = -4.0;
    GIVES(PALP_OK, palp_query_time_of_impact(q, &motion, 0.0, 0, &impact, &error));
    CHECK(impact.end == PALP_HIT && impact.time > 0.6 && impact.time <= 0.75);
    /* What has no answer says so, in the status and in the result. */
    GIVES(PALP_NON_FINITE, palp_query_contacts(q, &bad, NULL, &c, &error));
    CHECK(c.count == 0 && c.list == NULL && c.non_finite == 1);
    GIVES(PALP_NON_FINITE, palp_query_distance(q, &bad, &d, &error));
    CHECK(d.distance != d.distance);
    GIVES(PALP_NON_FINITE, palp_query_intersects(q, &bad, &meets, &error));
    CHECK(meets == 0);
    memset(p.rotation, 0, sizeof p.rotation);
    GIVES(PALP_NON_FINITE, palp_query_contacts(q, &p, NULL, &c, &error));
    GIVES(PALP_NULL_POINTER, palp_query_contacts(q, NULL, NULL, &c, &error));
    GIVES(PALP_NULL_POINTER, palp_query_contacts(q, &bad, NULL, NULL, &error));
    params.margin = INFINITY;
    GIVES(PALP_BAD_ARGUMENT, palp_query_contacts(q, &bad, &params, &c, &error));
    params.margin = 0.0;
    params.roles = 3;
    GIVES(PALP_BAD_ARGUMENT, palp_query_contacts(q, &bad, &params, &c, &error));
    /* The query outlives its shapes, and is gone when freed. */
    GIVES(PALP_OK, palp_shape_free(s, &error));
    p = at(3.0, 0.0, 0.0);
    GIVES(PALP_OK, palp_query_distance(q, &p, &d, &error));
    CHECK(fabs(d.distance - 1.0) < 1e-5);
    GIVES(PALP_OK, palp_query_free(q, &error));
    GIVES(PALP_FREED, palp_query_distance(q, &p, &d, &error));
    GIVES(PALP_FREED, palp_query_create(s, s, &q, &error));
    q.id = 0;
    GIVES(PALP_OK, palp_query_free(q, &error));
    GIVES(PALP_BAD_HANDLE, palp_query_distance(q, &p, &d, &error));
}

static void batches(palp_shape s) {
    palp_pose poses[40];
    int32_t meets[40];
    palp_distance distances[40];
    palp_batch batch;
    palp_contacts c;
    size_t i, n = 0;
    for (i = 0; i < 40; i++) poses[i] = at(1.05 + 0.05 * (double)i, 0.1, 0.0);
    GIVES(PALP_OK, palp_batch_intersects(s, s, poses, 40, 2, meets, &error));
    GIVES(PALP_OK, palp_batch_distance(s, s, poses, 40, 0, distances, &error));
    GIVES(PALP_OK, palp_batch_contacts(s, s, poses, 40, NULL, 1, &batch, &error));
    GIVES(PALP_OK, palp_batch_get_count(batch, &n, &error));
    CHECK(n == 40);
    for (i = 0; i < 40; i++) {
        CHECK(palp_batch_get_contacts(batch, i, &c, &error) == PALP_OK);
        CHECK(meets[i] == (distances[i].distance <= 0.0));
        if (i < 18 || i > 20) CHECK(meets[i] == (i < 19) && (c.count > 0) == (i < 19));
    }
    GIVES(PALP_BAD_ARGUMENT, palp_batch_get_contacts(batch, 40, &c, &error));
    GIVES(PALP_OK, palp_batch_free(batch, &error));
    GIVES(PALP_FREED, palp_batch_get_contacts(batch, 0, &c, &error));
    poses[3].translation[0] = INFINITY;
    GIVES(PALP_NON_FINITE, palp_batch_intersects(s, s, poses, 40, 0, meets, &error));
    CHECK(meets[3] == 0 && meets[4] == 1);
    GIVES(PALP_OK, palp_batch_intersects(s, s, NULL, 0, 0, NULL, &error));
    GIVES(PALP_NULL_POINTER, palp_batch_intersects(s, s, NULL, 1, 0, meets, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_batch_intersects(s, s, poses, SIZE_MAX / 2, 0, meets, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_batch_intersects(s, s, poses, 4, 100000, meets, &error));
}

/* A cube on a floor and on a box, as a physics engine asks. */
static void pairs(palp_shape s) {
    static const double origin[3] = {0, 0, 0}, up[3] = {0, 0, 1}, half[3] = {2, 2, 1}, flat[3] = {0, 0, 0};
    static const double tip[3] = {0, 0, 1};
    double min[3], max[3], d[1];
    palp_solid floor_solid, block, ball, ring, moved, both[2], joined, rounded, capsule, cylinder, cone, hull;
    palp_collider cube_id, floor_id, block_id, nothing;
    palp_pair pair;
    palp_pose p = at(0.0, 0.0, 0.999), bad = at(NAN, 0.0, 0.0), shifted = at(5.0, 0.0, 0.0);
    palp_manifold_params params;
    palp_manifolds found;
    palp_contacts contacts;
    palp_force_params push;
    palp_force force;
    palp_friction none;
    size_t i;
    static const double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const uint32_t faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
    memset(&params, 0, sizeof params);
    memset(&push, 0, sizeof push);
    none.id = 0;
    nothing.id = 0;
    GIVES(PALP_OK, palp_solid_half_space(up, 0.0, &floor_solid, &error));
    GIVES(PALP_OK, palp_solid_box(origin, half, &block, &error));
    GIVES(PALP_OK, palp_solid_sphere(origin, 0.5, &ball, &error));
    GIVES(PALP_OK, palp_solid_torus(2.0, 0.5, &ring, &error));
    GIVES(PALP_OK, palp_solid_capsule(origin, tip, 0.5, &capsule, &error));
    GIVES(PALP_OK, palp_solid_cylinder(origin, tip, 0.5, &cylinder, &error));
    GIVES(PALP_OK, palp_solid_cone(origin, tip, 0.5, &cone, &error));
    GIVES(PALP_OK, palp_solid_hull(&corners[0][0], 4, &faces[0][0], 4, &hull, &error));
    GIVES(PALP_OK, palp_solid_moved(ball, &shifted, &moved, &error));
    GIVES(PALP_OK, palp_solid_rounded(block, 0.1, &rounded, &error));
    both[0] = moved;
    both[1] = block;
    GIVES(PALP_OK, palp_solid_union(both, 2, &joined, &error));
    GIVES(PALP_OK, palp_solid_get_box(joined, min, max, &error));
    CHECK(fabs(min[0] + 2.0) < 1e-9 && fabs(max[0] - 5.5) < 1e-9);
    GIVES(PALP_OK, palp_solid_sample(rounded, tip, 1, d, NULL, &error));
    CHECK(fabs(d[0] + 0.1) < 1e-9);
    GIVES(PALP_BAD_ARGUMENT, palp_solid_sphere(origin, -1.0, &ball, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_solid_half_space(flat, 0.0, &ball, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_solid_torus(0.5, 2.0, &ball, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_solid_hull(&corners[0][0], 4, &faces[0][0], 3, &ball, &error));
    GIVES(PALP_BAD_ARGUMENT, palp_solid_union(NULL, 0, &ball, &error));
    cube_id.id = s.id;
    floor_id.id = floor_solid.id;
    block_id.id = block.id;
    GIVES(PALP_OK, palp_pair_create(floor_id, cube_id, &pair, &error));
    GIVES(PALP_OK, palp_pair_update(pair, &p, NULL, &found, &error));
    CHECK(found.count == 1 && found.point_count == 4 && found.cut_short == 0 && found.keys >= 1);
    for (i = 0; i < found.point_count; i++) {
        CHECK(fabs(found.points[i].distance + 0.001) < 1e-5 && found.points[i].normal[2] > 0.999);
        CHECK(fabs(fabs(found.points[i].point_b[0]) - 1.0) < 0.01 && fabs(found.points[i].point_a[2]) < 1e-5);
    }
    /* Contacts before touch; their force needs depth. */
    p.translation[2] = 1.01;
    GIVES(PALP_OK, palp_pair_update(pair, &p, NULL, &found, &error));
    CHECK(found.count == 0 && found.list == NULL && found.points == NULL);
    params.margin = 0.02;
    params.choice = PALP_PATCHES;
    params.micros = 1e6;
    GIVES(PALP_OK, palp_pair_update(pair, &p, &params, &found, &error));
    CHECK(found.count == 1 && found.points[0].distance > 0.009);
    p.translation[2] = 0.99;
    GIVES(PALP_OK, palp_pair_update(pair, &p, &params, &found, &error));
    GIVES(PALP_OK, palp_pair_get_contacts(pair, &contacts, &error));
    push.stiffness = 1000.0;
    GIVES(PALP_OK, palp_contacts_force(contacts.list, contacts.count, contacts.origin, contacts.swapped, &p, &push, NULL,
                                       none, &force, &error));
    /* The bottom gives 40 N; points on its edges stand for a strip of the sides too. */
    CHECK(force.wrench.force[2] > 38.0 && force.wrench.force[2] < 60.0);
    GIVES(PALP_NON_FINITE, palp_pair_update(pair, &bad, NULL, &found, &error));
    CHECK(found.count == 0 && found.non_finite == 1);
    params.choice = 3;
    GIVES(PALP_BAD_ARGUMENT, palp_pair_update(pair, &p, &params, &found, &error));
    params.choice = PALP_PATCHES;
    params.count = 1000;
    GIVES(PALP_BAD_ARGUMENT, palp_pair_update(pair, &p, &params, &found, &error));
    params.count = 0;
    params.micros = NAN;
    GIVES(PALP_BAD_ARGUMENT, palp_pair_update(pair, &p, &params, &found, &error));
    GIVES(PALP_OK, palp_pair_free(pair, &error));
    GIVES(PALP_FREED, palp_pair_update(pair, &p, NULL, &found, &error));
    /* The other way round the normal points the other way; segments; two shapes; two solids have nothing to say. */
    GIVES(PALP_OK, palp_pair_create(cube_id, block_id, &pair, &error));
    GIVES(PALP_OK, palp_solid_free(block, &error));
    memset(&params, 0, sizeof params);
    params.choice = PALP_SEGMENTED;
    params.count = 2;
    p = at(0.0, 0.0, 1.99);
    GIVES(PALP_OK, palp_pair_update(pair, &p, &params, &found, &error));
    CHECK(found.count >= 1 && found.points[0].normal[2] > 0.9);
    GIVES(PALP_OK, palp_pair_free(pair, &error));
    GIVES(PALP_OK, palp_pair_create(cube_id, cube_id, &pair, &error));
    GIVES(PALP_OK, palp_pair_update(pair, &p, NULL, &found, &error));
    CHECK(found.count == 1 && found.point_count >= 3);
    GIVES(PALP_OK, palp_pair_free(pair, &error));
    GIVES(PALP_OK, palp_pair_create(floor_id, floor_id, &pair, &error));
    GIVES(PALP_OK, palp_pair_update(pair, &p, NULL, &found, &error));
    CHECK(found.count == 0);
    GIVES(PALP_OK, palp_pair_free(pair, &error));
    GIVES(PALP_FREED, palp_pair_create(block_id, cube_id, &pair, &error));
    GIVES(PALP_BAD_HANDLE, palp_pair_create(nothing, cube_id, &pair, &error));
}

int main(void) {
    palp_shape s;
    CHECK(palp_abi_version() == PALP_ABI);
    CHECK(strlen(palp_version()) >= 5);
    CHECK(strcmp(palp_status_name(PALP_PANIC), "PALP_PANIC") == 0);
    CHECK(strcmp(palp_status_name(-5), "PALP_?") == 0);
    meshes();
    sheets();
    s = shapes();
    scales(s);
    batches(s);
    pairs(s);
    queries(s);
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
