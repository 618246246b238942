/* A peg in the bore of a gear: how much room there is, and where; then, pushed into the wall, the shortest way out.
 * distance_and_way_out.rs prints the same. Build: cc distance_and_way_out.c $(pkg-config --cflags --libs palpate) */
#include <palpate.h>
#include <stdio.h>

static palp_error error;

/* Says why a call failed, and whether it did. */
static int failed(palp_status status) {
    if (status != PALP_OK) fprintf(stderr, "%s: %s\n", palp_status_name(status), error.message);
    return status != PALP_OK;
}

int main(void) {
    palp_mesh meshes[2];
    palp_shape gear, peg;
    palp_query query;
    palp_distance gap;
    palp_penetration out;
    /* The peg is off the middle. Everything is in the gear's frame. */
    palp_pose a_from_b = {{0.0, 0.0, 0.0, 1.0}, {0.002, 0.001, -0.015}};
    palp_shape_params how = {0};
    const double *a = gap.witness_a, *b = gap.witness_b, *way = out.translation;
    int i;

    how.voxel = 5e-4; /* [m] */
    if (failed(palp_mesh_sample("gear", &meshes[0], &error))) return 2;
    if (failed(palp_mesh_sample("peg", &meshes[1], &error))) return 2;
    if (failed(palp_shape_build(meshes[0], &how, NULL, NULL, &gear, &error))) return 2;
    if (failed(palp_shape_build(meshes[1], &how, NULL, NULL, &peg, &error))) return 2;
    if (failed(palp_query_create(gear, peg, &query, &error))) return 2;

    if (failed(palp_query_distance(query, &a_from_b, &gap, &error))) return 2;
    printf("distance %.6f mm, at most %.6f mm less\n", 1e3 * gap.distance, 1e3 * gap.bound);
    printf("on the gear %.6f %.6f %.6f mm\n", 1e3 * a[0], 1e3 * a[1], 1e3 * a[2]);
    printf("on the peg  %.6f %.6f %.6f mm\n", 1e3 * b[0], 1e3 * b[1], 1e3 * b[2]);

    a_from_b.translation[0] = 0.004;
    if (failed(palp_query_distance(query, &a_from_b, &gap, &error))) return 2;
    printf("pushed in %.6f mm\n", 1e3 * gap.distance);
    if (failed(palp_query_penetration(query, &a_from_b, 0, 0.0, &out, &error))) return 2;
    printf("out by %.6f mm, no way is below %.6f mm\n", 1e3 * out.depth, 1e3 * out.lower);
    printf("that is %.6f %.6f %.6f mm\n", 1e3 * way[0], 1e3 * way[1], 1e3 * way[2]);

    palp_query_free(query, &error);
    palp_shape_free(peg, &error);
    palp_shape_free(gear, &error);
    for (i = 0; i < 2; i++) palp_mesh_free(meshes[i], &error);
    return 0;
}
