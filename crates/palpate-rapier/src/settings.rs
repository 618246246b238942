//! Settings of Rapier that suit detailed parts.

use rapier3d::dynamics::IntegrationParameters;

/// Smallest and largest `size` that changes anything [m].
const SIZES: (f32, f32) = (1e-4, 1e3);

/// Rapier's parameters for parts whose largest side is about `size` [m].
///
/// Rapier is tuned for parts of a metre. `length_unit` makes its tolerances, its prediction distance (a fiftieth of the size) and its
/// speed of correction fit smaller ones; the largest speed stays 400 m/s. Contacts are found anew in every step, as fine parts slide
/// from one point to the next within what Rapier would pass over, and not merged, as they are few already. Eight solver
/// iterations instead of four: parts inside each other push from several sides. A size that is no positive number counts as 1 m.
pub fn tuned(params: IntegrationParameters, size: f32) -> IntegrationParameters {
    let size = if size > 0.0 { size.clamp(SIZES.0, SIZES.1) } else { 1.0 };
    IntegrationParameters {
        length_unit: size,
        normalized_max_linear_velocity: params.normalized_max_linear_velocity * params.length_unit / size,
        contact_recycling: false,
        contact_clustering: false,
        num_solver_iterations: params.num_solver_iterations.max(8),
        ..params
    }
}
