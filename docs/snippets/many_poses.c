/* Six places for a gear beside another, asked at once on all cores: which are free, how deep the others are, what pushes them apart.
 * many_poses.rs prints the same. Build: cc many_poses.c $(pkg-config --cflags --libs palpate) */
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
    palp_batch batch;
    palp_pose poses[6];
    palp_shape_params how = {0};
    palp_force_params push = {0};
    palp_friction none = {0};
    size_t i, k;

    how.resolution = 128;
    if (failed(palp_mesh_sample("gear", &mesh, &error))) return 2;
    if (failed(palp_shape_build(mesh, &how, NULL, NULL, &gear, &error))) return 2;

    /* From 58 mm on, half a millimetre farther each; turned by half a tooth: x y z w, made unit. */
    for (i = 0; i < 6; i++) {
        palp_pose pose = {{0.0, 0.0, 0.0654, 0.99786}, {0.0, 0.0, 0.0}};
        pose.translation[0] = 0.058 + 5e-4 * (double)i;
        poses[i] = pose;
    }
    push.stiffness = 1e9; /* [N/m^3] */
    if (failed(palp_batch_contacts(gear, gear, poses, 6, NULL, 0, &batch, &error))) return 2;
    for (i = 0; i < 6; i++) {
        palp_contacts found;
        palp_force force;
        double least = 0.0;
        const double *f = force.wrench.force;
        if (failed(palp_batch_get_contacts(batch, i, &found, &error))) return 2;
        for (k = 0; k < found.count; k++)
            if (found.list[k].distance < least) least = found.list[k].distance;
        if (failed(palp_contacts_force(found.list, found.count, found.origin, found.swapped, &poses[i], &push, NULL, none,
                                       &force, &error)))
            return 2;
        printf("%lu contacts, %.6f mm, %.6f %.6f %.6f N\n", (unsigned long)found.count, 1e3 * (0.0 - least), f[0], f[1], f[2]);
    }

    palp_batch_free(batch, &error);
    palp_shape_free(gear, &error);
    palp_mesh_free(mesh, &error);
    return 0;
}
