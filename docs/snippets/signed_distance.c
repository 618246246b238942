/* How far points are from a gear, which way is out, and how far to trust that.
 * signed_distance.rs prints the same. Build: cc signed_distance.c $(pkg-config --cflags --libs palpate) */
#include <palpate.h>
#include <stdio.h>

static palp_error error;

/* Says why a call failed, and whether it did. */
static int failed(palp_status status) {
    if (status != PALP_OK) fprintf(stderr, "%s: %s\n", palp_status_name(status), error.message);
    return status != PALP_OK;
}

int main(void) {
    /* In the bore, in the solid, and beyond the teeth; in the gear's frame [m]. */
    const double points[3][3] = {{0.005, 0.0, 0.0}, {0.02, 0.0, 0.001}, {0.033, 0.005, 0.002}};
    double distances[3], outward[3][3];
    palp_mesh mesh;
    palp_shape gear;
    palp_shape_info info;
    palp_shape_params how = {0};
    int i;

    how.resolution = 128;
    if (failed(palp_mesh_sample("gear", &mesh, &error))) return 2;
    if (failed(palp_shape_build(mesh, &how, NULL, NULL, &gear, &error))) return 2;
    if (failed(palp_shape_get_info(gear, &info, &error))) return 2;
    printf("off by at most %.6f mm within %.6f mm\n", 1e3 * info.error_bound_band, 1e3 * info.band);
    printf("and by at most %.6f mm farther away\n", 1e3 * info.error_bound_far);

    if (failed(palp_shape_sample(gear, points[0], 3, distances, outward[0], &error))) return 2; /* negative inside */
    for (i = 0; i < 3; i++)
        printf("%.6f mm, outward %.6f %.6f %.6f\n", 1e3 * distances[i], outward[i][0], outward[i][1], outward[i][2]);

    palp_shape_free(gear, &error);
    palp_mesh_free(mesh, &error);
    return 0;
}
