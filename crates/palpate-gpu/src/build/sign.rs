//! Which side is inside: the method, its check by another, and what is done where they contradict each other.

use super::kernels::Numbers;
use super::run::{Commands, STATUS, Scratch, Status, Step, Use};
use super::{BuildError, GpuMeshSource};
use crate::kernel::Answer;
use palpate::field::{SignChoice, SignMethod};

/// Rounds of repair that are on their way before anyone asks how many are needed. Each decides the neighbours of those decided before;
/// few bricks need three. One with nothing to do costs some kernels that end at once.
const ROUNDS_AT_ONCE: usize = 3;
/// Sets of nodes that are decided by one dispatch: as many workgroups as any device starts in a row.
const SETS_AT_ONCE: u64 = 32768;
/// Groups of threads that decide doubtful nodes, eight nodes at a time: they keep a large device busy.
const DECIDERS: u32 = 1056;
/// Pairs of a node and a group of triangles that one submission may sum up.
const PAIRS_AT_ONCE: u64 = 1 << 31;

/// What the surface and the caller's wish say before anything is measured.
pub(super) fn plan(source: &GpuMeshSource, choice: SignChoice) -> SignMethod {
    let parts = &source.parts;
    match choice {
        SignChoice::Unsigned => SignMethod::Unsigned,
        SignChoice::Pseudonormal => SignMethod::Pseudonormal,
        SignChoice::Winding => SignMethod::Winding,
        SignChoice::Auto if parts.sheets_only => SignMethod::Unsigned,
        SignChoice::Auto if parts.closed && !parts.overlap => SignMethod::Pseudonormal,
        SignChoice::Auto => SignMethod::Winding,
    }
}

/// Decides the sides of nodes that have the pseudonormal's, and puts the field together. The method, the share of checks that agree,
/// bricks decided anew, and what the kernels counted.
pub(super) fn decide(
    step: &Step<'_>,
    commands: &mut Commands<'_>,
    scratch: &mut Scratch,
    answer: &Answer,
    choice: SignChoice,
    method: SignMethod,
) -> Result<(SignMethod, f64, usize, Status), BuildError> {
    let mut method = method;
    if method != SignMethod::Unsigned {
        commands.stage("sign", 0)?;
        step.check(commands);
    }
    if method == SignMethod::Pseudonormal {
        let size = step.states.size();
        commands.clear(&step.states, 0, size);
        step.faults(commands)?;
        commands.stage("repair", 0)?;
        for _ in 0..ROUNDS_AT_ONCE {
            step.repair(commands)?;
        }
    }
    if method == SignMethod::Winding {
        step.by_sets(commands, scratch, answer)?;
    }
    step.assemble(commands)?;
    let mut found = commands.status(&step.status, answer)?;
    let share = |n: u32| if found.checked == 0 { 1.0 } else { f64::from(n) / f64::from(found.checked) };
    let (agreeing, decided) = (share(found.agreeing), share(found.decided));
    let mut repaired = 0;
    if method == SignMethod::Pseudonormal {
        let mut again = false;
        if choice == SignChoice::Auto && found.agreeing < found.checked {
            method = SignMethod::Winding;
            step.by_sets(commands, scratch, answer)?;
            again = true;
        } else {
            // Ends, as each cell is decided once at most.
            while found.settled < found.faults {
                step.repair(commands)?;
                found = commands.status(&step.status, answer)?;
                again = true;
            }
            repaired = found.cells as usize;
        }
        if again {
            step.assemble(commands)?;
            found = commands.status(&step.status, answer)?;
        }
    }
    let confidence = match method {
        SignMethod::Pseudonormal => agreeing,
        SignMethod::Winding => decided,
        _ => 1.0,
    };
    Ok((method, confidence, repaired, found))
}

impl Step<'_> {
    /// Compares sides of background nodes with the winding number.
    fn check(&self, commands: &mut Commands<'_>) {
        let s = self.source;
        let plain = self.numbers.uniform(commands.gpu);
        let bound = [&plain, &s.scaled, &s.vertices, &s.dipoles, &self.background, &self.status];
        commands.pass(&self.kernels.check, &bound, [self.numbers.windows, 1, 1]);
    }

    /// Finds neighbours that contradict each other.
    fn faults(&self, commands: &mut Commands<'_>) -> Result<(), BuildError> {
        let bound =
            [&self.slots, &self.list, &self.background, &self.own, &self.states, &self.status, &self.doubts];
        let plain = self.numbers.uniform(commands.gpu);
        let all = [&[&plain], &bound[..]].concat();
        commands.over(&self.kernels.faults[0], &all, u64::from(self.numbers.length), 256);
        self.by_cells(commands, &mut |commands, part, groups| {
            let all = [&[part], &bound[..]].concat();
            commands.pass(&self.kernels.faults[1], &all, [groups, 1, 1]);
            Ok(())
        })
    }

    /// Calls `each` with the numbers of some cells after the other, and how many.
    fn by_cells(
        &self,
        commands: &mut Commands<'_>,
        each: &mut dyn FnMut(&mut Commands<'_>, &wgpu::Buffer, u32) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let count = self.numbers.candidates;
        for first in (0..count).step_by(self.at_once as usize) {
            let part = Numbers { first, ..self.numbers }.uniform(commands.gpu);
            each(commands, &part, self.at_once.min(count - first))?;
        }
        Ok(())
    }

    /// One round: lets the winding number decide nodes that contradict each other, and looks for neighbours that now do.
    fn repair(&self, commands: &mut Commands<'_>) -> Result<(), BuildError> {
        let s = self.source;
        let groups = s.triangles().div_ceil(64) as u64;
        let at_once = (PAIRS_AT_ONCE / (512 * groups)).clamp(1, u64::from(self.at_once)) as u32;
        let plain = Numbers { length_at_once: at_once, ..self.numbers }.uniform(commands.gpu);
        let bound = [
            &plain,
            &s.scaled,
            &s.vertices,
            &s.dipoles,
            &self.list,
            &self.background,
            &self.own,
            &self.doubts,
            &self.status,
        ];
        let [resign, settle] = &self.kernels.resign;
        commands.pass(resign, &bound, [DECIDERS, 1, 1]);
        commands.pass(settle, &bound, [1, 1, 1]);
        self.faults(commands)
    }

    /// Gives every node the side of the winding number at the farthest node of its set.
    fn by_sets(
        &self,
        commands: &mut Commands<'_>,
        scratch: &mut Scratch,
        answer: &Answer,
    ) -> Result<(), BuildError> {
        commands.stage("sets", 0)?;
        let gpu = commands.gpu;
        let total = u64::from(self.numbers.length) + 512 * u64::from(self.numbers.candidates);
        let mut of = |which| scratch.get(gpu, which, 4 * total);
        let (parents, work, heads) = (of(Use::Parents)?, of(Use::Work)?, of(Use::Heads)?);
        let plain = self.numbers.uniform(gpu);
        let bound = [&plain, &self.slots, &self.list, &self.background, &self.own, &parents, &work, &heads];
        let [begin, join, flatten, choose, apply, begin_cells] = &self.kernels.sets;
        commands.over(begin, &bound, u64::from(self.numbers.length), 256);
        commands.over(begin_cells, &bound, u64::from(self.numbers.candidates), 1);
        for kernel in [join, flatten, choose] {
            commands.over(kernel, &bound, total, 256);
        }
        let s = self.source;
        let wound = [&s.scaled, &s.vertices, &s.dipoles, &self.list, &parents, &work, &heads, &self.status];
        let [collect, decide] = &self.kernels.sides;
        commands.clear(&self.status, 28, 4);
        commands.over(collect, &[&[&plain], &wound[..]].concat(), total, 256);
        let sets = u64::from(commands.status(&self.status, answer)?.sets);
        // A row of workgroups at most: none may decide a set of the next part.
        let at_once = (PAIRS_AT_ONCE / s.triangles().div_ceil(64) as u64).clamp(4096, SETS_AT_ONCE);
        for first in (0..sets).step_by(at_once as usize) {
            let part = Numbers { first: first as u32, ..self.numbers }.uniform(gpu);
            let all = [&[&part], &wound[..]].concat();
            commands.over(decide, &all, at_once.min(sets - first), 1);
            commands.submit()?;
        }
        commands.over(apply, &bound, total, 256);
        Ok(())
    }
}

const _: () = assert!(STATUS == size_of::<Status>() as u64);
