//! Points that come, go and move, while a cloud is used.
//!
//! Differs: elfar07 leaves this open. After any edits the octree is the one a build would make of the points there are, node by node
//! and box by box (a test says so): a leaf that gets too full is divided, octants that become too empty are joined, and boxes are
//! fitted on the way. A call looks at one way from the root to a leaf, so its work is bounded, whatever the number of points.

use super::grid::{DEEPEST, LARGEST, Place, REACH, octant, octant_corner};
use super::node::{Leaf, Node, Span, bits, cut, put};
use super::{Cloud, CloudError, NOWHERE, SHARED};
use glam::DVec3;

/// Divisions there can be below the root.
const DEPTH: usize = (LARGEST - DEEPEST) as usize;

/// A way down: nodes and the octants taken.
struct Way {
    steps: [Step; DEPTH],
    len: usize,
}

/// A position, its id and its place.
type Kept = ([f32; 3], u32, Place);

#[derive(Clone, Copy, Default)]
struct Step {
    node: usize,
    octant: usize,
    corner: Place,
    log: u32,
}

impl Cloud {
    /// Takes a point in, in the cloud's frame [m], and gives its id: one that no point has, of those removed the last.
    ///
    /// Searches then give what they would give for a cloud built of all points. Cost: about 1 µs, whatever the size of the cloud,
    /// besides memory that has to grow now and then.
    ///
    /// # Errors
    /// When the point is not finite, out of reach (see [`super::CloudParams::region`]) or one too many. Nothing is changed then.
    pub fn insert(&mut self, p: DVec3) -> Result<u32, CloudError> {
        let place = self.reachable(p)?;
        let id = match self.idle.pop() {
            Some(id) => id,
            None if self.slot_of.len() >= Self::MOST_POINTS => {
                return Err(CloudError::TooManyPoints { points: self.slot_of.len() + 1 });
            }
            None => {
                self.slot_of.push(NOWHERE);
                self.slot_of.len() as u32 - 1
            }
        };
        self.add(id, place);
        Ok(id)
    }

    /// Takes a point out; no if there is none with this id, which may be given again. Cost as [`Cloud::insert`].
    pub fn remove(&mut self, id: u32) -> bool {
        let there = self.slot_of.get(id as usize).is_some_and(|slot| *slot != NOWHERE);
        if there {
            self.take(id);
            self.idle.push(id);
        }
        there
    }

    /// Moves a point to `p`, in the cloud's frame [m]; it keeps its id. Cost: that of a removal and an insertion.
    ///
    /// # Errors
    /// When there is no such point, and as [`Cloud::insert`]. Nothing is changed then.
    pub fn move_to(&mut self, id: u32, p: DVec3) -> Result<(), CloudError> {
        if self.slot_of.get(id as usize).is_none_or(|slot| *slot == NOWHERE) {
            return Err(CloudError::NoSuchPoint { id });
        }
        let place = self.reachable(p)?;
        self.take(id);
        self.add(id, place);
        Ok(())
    }

    /// The place of a point, with the root grown to hold it.
    fn reachable(&mut self, p: DVec3) -> Result<Place, CloudError> {
        if !p.is_finite() {
            return Err(CloudError::NotFinite { point: p });
        }
        let origin = self.grid.origin;
        let reach = self.grid.unit * (1u64 << REACH) as f64;
        let far = CloudError::OutOfReach { point: p, origin, reach };
        let place = self.grid.place(p).ok_or(far)?;
        while !self.grid.holds(place) {
            self.grow(place);
        }
        Ok(place)
    }

    /// Makes the root an octant of a larger one, towards `place`.
    fn grow(&mut self, place: Place) {
        let (old, new) = (self.grid, self.grid.grown(place));
        let root = self.nodes[0];
        let few: usize = bits(root.leaf).map(|o| usize::from(self.leaves[root.leaf_at(o)].len)).sum();
        let mut node = Node::default();
        if root.used() != 0 {
            let o = octant(old.corner, new.corner, new.log);
            node.set_span(o, root.span(old.corner, old.log), new.corner, new.log);
            if root.inner == 0 && few <= self.most {
                let leaf = self.merged(&root);
                node.first_leaf = put(&mut self.leaves, &mut self.leaf_runs, (0, 0), o, leaf);
                node.leaf = 1 << o;
            } else {
                node.first_inner = put(&mut self.nodes, &mut self.node_runs, (0, 0), o, root);
                node.inner = 1 << o;
            }
        }
        self.nodes[0] = node;
        self.grid = new;
    }

    /// The way to the node whose octant holds `place` and is no node.
    fn way(&self, place: Place) -> Way {
        let mut way = Way { steps: [Step::default(); DEPTH], len: 0 };
        let (mut node, mut corner, mut log) = (0, self.grid.corner, self.grid.log);
        loop {
            let o = octant(place, corner, log);
            way.steps[way.len] = Step { node, octant: o, corner, log };
            way.len += 1;
            let n = &self.nodes[node];
            if n.inner >> o & 1 == 0 || way.len == DEPTH {
                return way;
            }
            node = n.inner_at(o);
            corner = octant_corner(corner, log, o);
            log -= 1;
        }
    }

    fn add(&mut self, id: u32, place: Place) {
        self.count += 1;
        let way = self.way(place);
        let local = self.grid.local(place);
        let last = way.steps[way.len - 1];
        let node = self.nodes[last.node];
        let is_leaf = node.leaf >> last.octant & 1 == 1;
        if is_leaf {
            let leaf = self.leaves[node.leaf_at(last.octant)];
            let slots = leaf.start..leaf.start + u32::from(leaf.len);
            if let Some(slot) = slots.into_iter().find(|s| self.slots.position(*s) == local) {
                self.join_twins(id, slot);
                return;
            }
        }
        // An octant without points has a box of its own to begin with.
        let had_points = node.used() >> last.octant & 1 == 1;
        for step in &way.steps[..way.len - usize::from(!had_points)] {
            self.nodes[step.node].widen(step.octant, place, step.corner, step.log);
        }
        if !had_points {
            let mut span = Span::EMPTY;
            span.add(place);
            let leaf = self.new_leaf(&[(local, id, place)]);
            self.nodes[last.node].set_span(last.octant, span, last.corner, last.log);
            self.put_leaf(last.node, last.octant, leaf);
        } else if self.room_in(&node, &last) {
            self.push(node.leaf_at(last.octant), local, id);
        } else {
            self.split(&last, local, id);
        }
    }

    /// Whether a leaf may have another point.
    fn room_in(&self, node: &Node, step: &Step) -> bool {
        let leaf = self.leaves[node.leaf_at(step.octant)];
        usize::from(leaf.len) < self.most || step.log - 1 <= DEEPEST
    }

    /// Another id at the position of a slot.
    fn join_twins(&mut self, id: u32, slot: u32) {
        let head = self.slots.id(slot);
        let at = self.slot_of[head as usize];
        let group = if at & SHARED != 0 {
            at & !SHARED
        } else {
            self.idle_groups.pop().unwrap_or_else(|| {
                self.groups.push(Default::default());
                self.groups.len() as u32 - 1
            })
        };
        let g = &mut self.groups[group as usize];
        g.slot = slot;
        g.ids.extend([head, id]);
        self.slots.set_id(slot, head.min(id));
        self.slot_of[head as usize] = SHARED | group;
        self.slot_of[id as usize] = SHARED | group;
    }

    /// Takes an id out of a group, whose position stays.
    fn leave_twins(&mut self, id: u32, group: u32) {
        let g = &mut self.groups[group as usize];
        g.ids.remove(&id);
        let Some(first) = g.ids.first().copied() else { return };
        self.slots.set_id(g.slot, first);
        if g.ids.len() == 1 {
            g.ids.clear();
            self.slot_of[first as usize] = g.slot;
            self.idle_groups.push(group);
        }
    }

    /// Puts a point at the end of a leaf, which moves when it has no room.
    fn push(&mut self, at: usize, local: [f32; 3], id: u32) {
        let mut leaf = self.leaves[at];
        if leaf.len == leaf.room {
            let (start, room) = self.slots.take(usize::from(leaf.len) + 1);
            for i in 0..u32::from(leaf.len) {
                self.carry(leaf.start + i, start + i);
            }
            self.slots.give(leaf.start, usize::from(leaf.room));
            leaf = Leaf { start, len: leaf.len, room: room as u16 };
        }
        let slot = leaf.start + u32::from(leaf.len);
        self.set(slot, local, id);
        leaf.len += 1;
        self.leaves[at] = leaf;
    }

    /// Puts a point, or a group, into a slot.
    fn set(&mut self, slot: u32, local: [f32; 3], id: u32) {
        self.slots.set(slot, local, id);
        match self.slot_of[id as usize] {
            at if at != NOWHERE && at & SHARED != 0 => self.groups[(at & !SHARED) as usize].slot = slot,
            _ => self.slot_of[id as usize] = slot,
        }
    }

    /// Moves what is in a slot to one that is free.
    fn carry(&mut self, from: u32, to: u32) {
        let (local, id) = (self.slots.position(from), self.slots.id(from));
        self.set(to, local, id);
        self.slots.clear(from);
    }

    fn new_leaf(&mut self, points: &[Kept]) -> Leaf {
        let (start, room) = self.slots.take(points.len());
        for (slot, (local, id, _)) in (start..).zip(points) {
            self.set(slot, *local, *id);
        }
        Leaf { start, len: points.len() as u16, room: room as u16 }
    }

    /// Divides a leaf that has as many points as it may, with one more.
    fn split(&mut self, step: &Step, local: [f32; 3], id: u32) {
        let at = self.nodes[step.node].leaf_at(step.octant);
        let leaf = self.leaves[at];
        let mut points: Vec<Kept> = Vec::with_capacity(usize::from(leaf.len) + 1);
        points.extend((leaf.start..leaf.start + u32::from(leaf.len)).map(|s| self.kept(s)));
        points.push((local, id, self.grid.place_of(local)));
        self.free_leaf(leaf);
        let corner = octant_corner(step.corner, step.log, step.octant);
        let child = self.divided(&mut points, corner, step.log - 1);
        self.cut_leaf(step.node, step.octant);
        let node = self.nodes[step.node];
        let first =
            put(&mut self.nodes, &mut self.node_runs, (node.first_inner, node.inner), step.octant, child);
        let node = &mut self.nodes[step.node];
        node.first_inner = first;
        node.inner |= 1 << step.octant;
    }

    /// The node of more points than a leaf may have, in a cube of edge `log`. Puts the points in the order of octants.
    fn divided(&mut self, points: &mut [Kept], corner: Place, log: u32) -> Node {
        let mut node = Node::default();
        points.sort_by_key(|p| octant(p.2, corner, log));
        let mut rest = points;
        while let Some(first) = rest.first() {
            let o = octant(first.2, corner, log);
            let n = rest.iter().take_while(|p| octant(p.2, corner, log) == o).count();
            let (inside, others) = rest.split_at_mut(n);
            rest = others;
            let mut span = Span::EMPTY;
            inside.iter().for_each(|p| span.add(p.2));
            node.set_span(o, span, corner, log);
            if n > self.most && log - 1 > DEEPEST {
                let child = self.divided(inside, octant_corner(corner, log, o), log - 1);
                node.first_inner =
                    put(&mut self.nodes, &mut self.node_runs, (node.first_inner, node.inner), o, child);
                node.inner |= 1 << o;
            } else {
                let leaf = self.new_leaf(inside);
                node.first_leaf =
                    put(&mut self.leaves, &mut self.leaf_runs, (node.first_leaf, node.leaf), o, leaf);
                node.leaf |= 1 << o;
            }
        }
        node
    }

    /// What is in a slot.
    fn kept(&self, slot: u32) -> Kept {
        let local = self.slots.position(slot);
        (local, self.slots.id(slot), self.grid.place_of(local))
    }

    /// Takes a point out of the tree; its id stays in use.
    fn take(&mut self, id: u32) {
        self.count -= 1;
        let slot = core::mem::replace(&mut self.slot_of[id as usize], NOWHERE);
        if slot & SHARED != 0 {
            self.leave_twins(id, slot & !SHARED);
            return;
        }
        let way = self.way(self.grid.place_of(self.slots.position(slot)));
        let last = way.steps[way.len - 1];
        let at = self.nodes[last.node].leaf_at(last.octant);
        let mut leaf = self.leaves[at];
        leaf.len -= 1;
        let end = leaf.start + u32::from(leaf.len);
        self.slots.clear(slot);
        if slot != end {
            self.carry(end, slot);
        }
        self.leaves[at] = leaf;
        if leaf.len == 0 {
            self.free_leaf(leaf);
            self.cut_leaf(last.node, last.octant);
        } else {
            let span = self.leaf_span(&leaf);
            self.nodes[last.node].set_span(last.octant, span, last.corner, last.log);
        }
        self.tidy(&way);
    }

    /// After a point has gone: joins octants that have too few points, and fits boxes, from the bottom up.
    fn tidy(&mut self, way: &Way) {
        for i in (1..way.len).rev() {
            let (child, parent) = (way.steps[i], way.steps[i - 1]);
            let node = self.nodes[child.node];
            let few: usize = bits(node.leaf).map(|o| usize::from(self.leaves[node.leaf_at(o)].len)).sum();
            let span = node.span(child.corner, child.log);
            if node.inner == 0 && few <= self.most {
                let leaf = self.merged(&node);
                let n = self.nodes[parent.node];
                let first =
                    cut(&mut self.nodes, &mut self.node_runs, (n.first_inner, n.inner), parent.octant);
                let n = &mut self.nodes[parent.node];
                n.first_inner = first;
                n.inner &= !(1 << parent.octant);
                self.put_leaf(parent.node, parent.octant, leaf);
            }
            self.nodes[parent.node].set_span(parent.octant, span, parent.corner, parent.log);
        }
    }

    /// One leaf of all leaves of a node, which has no others.
    fn merged(&mut self, node: &Node) -> Leaf {
        let old: Vec<Leaf> = bits(node.leaf).map(|o| self.leaves[node.leaf_at(o)]).collect();
        let mut points = Vec::with_capacity(self.most);
        for leaf in &old {
            let slots = leaf.start..leaf.start + u32::from(leaf.len);
            points.extend(slots.map(|s| self.kept(s)));
            self.free_leaf(*leaf);
        }
        self.leaf_runs.give(node.first_leaf, old.len());
        self.new_leaf(&points)
    }

    /// Gives the room of a leaf's points back.
    fn free_leaf(&mut self, leaf: Leaf) {
        (leaf.start..leaf.start + u32::from(leaf.len)).for_each(|s| self.slots.clear(s));
        self.slots.give(leaf.start, usize::from(leaf.room));
    }

    fn put_leaf(&mut self, at: usize, octant: usize, leaf: Leaf) {
        let node = self.nodes[at];
        let first = put(&mut self.leaves, &mut self.leaf_runs, (node.first_leaf, node.leaf), octant, leaf);
        let node = &mut self.nodes[at];
        node.first_leaf = first;
        node.leaf |= 1 << octant;
    }

    fn cut_leaf(&mut self, at: usize, octant: usize) {
        let node = self.nodes[at];
        let first = cut(&mut self.leaves, &mut self.leaf_runs, (node.first_leaf, node.leaf), octant);
        let node = &mut self.nodes[at];
        node.first_leaf = first;
        node.leaf &= !(1 << octant);
    }

    fn leaf_span(&self, leaf: &Leaf) -> Span {
        let mut span = Span::EMPTY;
        for s in leaf.start..leaf.start + u32::from(leaf.len) {
            span.add(self.grid.place_of(self.slots.position(s)));
        }
        span
    }
}
