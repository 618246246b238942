//! How far apart the points of a cloud are.

use super::Cloud;

/// Most positions that are looked at: the median of a thousand is within a few percent of the whole's.
const SAMPLE: usize = 1024;

impl Cloud {
    /// The median distance from a position to the nearest other one [m], of about a thousand positions spread over the cloud; 0 for
    /// less than two positions.
    pub fn measure_spacing(&self) -> f64 {
        let n = self.slots.len();
        let mut all = Vec::with_capacity(SAMPLE);
        let mut few = Vec::with_capacity(3);
        let samples = n.min(SAMPLE);
        for i in 0..samples {
            // Free room is infinitely far: the next position is taken.
            let slots = i * n / samples..(i + 1) * n / samples;
            let there = slots.map(|s| self.slots.position(s as u32)).find(|p| p[0].is_finite());
            if let Some(position) = there {
                self.slots_nearest(position, 2, &mut few);
                all.extend(few.get(1).map(|f| f.0));
            }
        }
        all.sort_unstable_by(f32::total_cmp);
        all.get(all.len() / 2).map_or(0.0, |d| f64::from(*d).sqrt())
    }
}
