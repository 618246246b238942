/* A gear comes 50 mm nearer to another while it makes a quarter turn: when do they meet, and where?
 * time_of_impact.rs prints the same. Build: cc time_of_impact.c $(pkg-config --cflags --libs palpate) */
#include <palpate.h>
#include <stdio.h>

static palp_error error;

/* Says why a call failed, and whether it did. */
static int failed(palp_status status) {
    if (status != PALP_OK) fprintf(stderr, "%s: %s\n", palp_status_name(status), error.message);
    return status != PALP_OK;
}

int main(void) {
    palp_mesh mesh;
    palp_shape gear;
    palp_query query;
    palp_impact hit;
    /* From 100 mm along x, how far the origin goes, and the axis of the turn times its angle. */
    palp_motion motion = {{{0.0, 0.0, 0.0, 1.0}, {0.1, 0.0, 0.0}}, {-0.05, 0.0, 0.0}, {0.0, 0.0, 1.57079632679489662}};
    palp_shape_params how = {0};

    how.resolution = 128;
    if (failed(palp_mesh_sample("gear", &mesh, &error))) return 2;
    if (failed(palp_shape_build(mesh, &how, NULL, NULL, &gear, &error))) return 2;
    if (failed(palp_query_create(gear, gear, &query, &error))) return 2;

    if (failed(palp_query_time_of_impact(query, &motion, 0.0, 0, &hit, &error))) return 2;
    if (hit.end != PALP_HIT) {
        puts("they do not meet");
        return 0;
    }
    /* Never later than they do: this early at most, as a distance. */
    printf("time   %.6f of the way, %.6f mm apart at most\n", hit.time, 1e3 * hit.early);
    printf("centre %.6f mm\n", 1e3 * hit.a_from_b.translation[0]);
    printf("point  %.6f %.6f %.6f mm\n", 1e3 * hit.point[0], 1e3 * hit.point[1], 1e3 * hit.point[2]);
    printf("normal %.6f %.6f %.6f\n", hit.normal[0], hit.normal[1], hit.normal[2]);

    palp_query_free(query, &error);
    palp_shape_free(gear, &error);
    palp_mesh_free(mesh, &error);
    return 0;
}
