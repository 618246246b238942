/* Two gears pressed into each other: contacts, distance and the wrench that pushes them apart.
 * first_contact.rs prints the same. Build: cc first_contact.c $(pkg-config --cflags --libs palpate) */
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
    palp_contacts contacts;
    palp_distance distance;
    palp_force force;
    /* B's centre is 58.5 mm along A's x axis, a millimetre and a half nearer than the gears should be. */
    /* It is turned by half a tooth: x y z w, made unit. */
    palp_pose a_from_b = {{0.0, 0.0, 0.0654, 0.99786}, {0.0585, 0.0, 0.0}};
    palp_shape_params how = {0};
    palp_force_params push = {0};
    palp_friction none = {0};

    how.resolution = 128;
    if (failed(palp_mesh_sample("gear", &mesh, &error))) return 2;
    if (failed(palp_shape_build(mesh, &how, NULL, NULL, &gear, &error))) return 2;
    if (failed(palp_query_create(gear, gear, &query, &error))) return 2;

    if (failed(palp_query_contacts(query, &a_from_b, NULL, &contacts, &error))) return 2;
    push.stiffness = 1e9; /* [N/m^3] */
    if (failed(palp_query_force(query, &push, NULL, none, &force, &error))) return 2;
    printf("contacts %lu\n", (unsigned long)contacts.count);
    printf("force    %.6f %.6f %.6f N\n", force.wrench.force[0], force.wrench.force[1], force.wrench.force[2]);
    printf("torque   %.6f %.6f %.6f N m\n", force.wrench.torque[0], force.wrench.torque[1], force.wrench.torque[2]);

    if (failed(palp_query_distance(query, &a_from_b, &distance, &error))) return 2;
    printf("distance %.6f mm\n", 1e3 * distance.distance);
    a_from_b.translation[0] = 0.07;
    if (failed(palp_query_distance(query, &a_from_b, &distance, &error))) return 2;
    printf("apart    %.6f mm\n", 1e3 * distance.distance);

    palp_query_free(query, &error);
    palp_shape_free(gear, &error);
    palp_mesh_free(mesh, &error);
    return 0;
}
