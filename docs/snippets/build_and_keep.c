/* A cube given as arrays, with two mistakes: what was repaired, a shape of it, kept in a file and read again. The file is in the folder
 * where this runs, and is removed.
 * build_and_keep.rs prints the same. Build: cc build_and_keep.c $(pkg-config --cflags --libs palpate) */
#include <palpate.h>
#include <stdio.h>

/* Counter-clockwise from outside. The last is there twice, and the one before is turned around. */
static const uint32_t triangles[13][3] = {
    {0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4}, {2, 6, 7},
    {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 5, 7}, {0, 2, 3},
};

static palp_error error;

/* Says why a call failed, and whether it did. */
static int failed(palp_status status) {
    if (status != PALP_OK) fprintf(stderr, "%s: %s\n", palp_status_name(status), error.message);
    return status != PALP_OK;
}

int main(void) {
    const double inside[3] = {0.005, 0.02, 0.03};
    double corners[8][3], distance;
    palp_mesh mesh;
    palp_mesh_report report;
    palp_shape built, cube;
    palp_shape_info info;
    palp_shape_params how = {0};
    int i, k;

    /* Corners of a cube of 50 mm [m]: bits of their number are x, y and z. */
    for (i = 0; i < 8; i++)
        for (k = 0; k < 3; k++) corners[i][k] = 0.05 * (i >> k & 1);
    if (failed(palp_mesh_from_arrays(corners[0], 8, triangles[0], 13, &mesh, &error))) return 2;
    if (failed(palp_mesh_get_report(mesh, &report, &error))) return 2;
    printf("triangles %lu of 13\n", (unsigned long)report.triangles);
    printf("twice %lu, turned %lu\n", (unsigned long)report.duplicate_faces, (unsigned long)report.flipped_faces);
    printf("%s, %.6f cm3\n", report.watertight ? "closed" : "open", 1e6 * report.volume);

    how.voxel = 1e-3; /* [m] */
    if (failed(palp_shape_build(mesh, &how, NULL, NULL, &built, &error))) return 2;
    if (failed(palp_shape_save(built, "cube.palp", &error))) return 2;
    if (failed(palp_shape_load("cube.palp", NULL, &cube, &error))) return 2;
    remove("cube.palp");
    if (failed(palp_shape_get_info(cube, &info, &error))) return 2;
    printf("points %lu\n", (unsigned long)info.points);
    printf("off by at most %.6f mm near the surface\n", 1e3 * info.error_bound_band);
    if (failed(palp_shape_sample(cube, inside, 1, &distance, NULL, &error))) return 2;
    printf("distance %.6f mm\n", 1e3 * distance);

    palp_shape_free(cube, &error);
    palp_shape_free(built, &error);
    palp_mesh_free(mesh, &error);
    return 0;
}
