//! Forces of the contacts a query found last, their derivative, and limits.

use crate::border::{In, List, Out, export};
use crate::error::Failure;
use crate::handle::{self, FrictionHandle, QueryHandle};
use crate::query::Pair;
use crate::values::{PoseValue, TwistValue, WrenchValue, answered, flag, unknown};
use bytemuck::AnyBitPattern;
use palpate::force::{
    self, ContactState, Derivative, Direction, Force, ForceParams, FrictionParams, Law, LimitState, Limits,
    Twist,
};
use palpate::math::Pose;
use palpate::{Contact, Contacts};

/// What a friction handle names: the memory of each direction of a pair, B's points first.
pub(crate) type Memory = Box<[ContactState; 2]>;

/// `palp_force_params`
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct ForceParamsValue {
    /// [N/m³, or N/m]
    pub stiffness: f64,
    /// [N s/m³, or N s/m]
    pub damping: f64,
    /// [1]
    pub static_coefficient: f64,
    /// [1]
    pub dynamic_coefficient: f64,
    /// 0: 1 [1]
    pub stiffness_ratio: f64,
    /// [N s/m³, or N s/m]
    pub friction_damping: f64,
    /// 0: 1 mm/s [m/s]
    pub creep: f64,
    /// `palp_law`
    pub law: i32,
    /// `palp_direction`
    pub direction: i32,
}

impl ForceParamsValue {
    fn params(&self) -> Result<ForceParams, Failure> {
        let usual = FrictionParams::default();
        let or = |value: f64, default: f64| if value == 0.0 { default } else { value };
        let params = ForceParams {
            law: match self.law {
                0 => Law::Integrated,
                1 => Law::Averaged,
                n => return unknown(n, "law", 1),
            },
            direction: match self.direction {
                0 => Direction::Field,
                1 => Direction::Shell,
                n => return unknown(n, "direction", 1),
            },
            stiffness: self.stiffness,
            damping: self.damping,
            friction: FrictionParams {
                static_coefficient: self.static_coefficient,
                dynamic_coefficient: self.dynamic_coefficient,
                stiffness_ratio: or(self.stiffness_ratio, usual.stiffness_ratio),
                damping: self.friction_damping,
                creep: or(self.creep, usual.creep),
            },
        };
        params.check()?;
        Ok(params)
    }
}

/// `palp_force`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ForceValue {
    /// On B, about B's origin, in A's frame.
    pub wrench: WrenchValue,
    /// [m²]
    pub area: f64,
    /// [N]
    pub normal_force: f64,
    /// Contacts with depth.
    pub used: u64,
    /// Those that stick.
    pub sticking: u64,
    /// Those that slide.
    pub sliding: u64,
    /// Whether there is no answer.
    pub non_finite: i32,
    /// Whether contacts were not in the order of their ids.
    pub unsorted: i32,
}

impl From<Force> for ForceValue {
    fn from(f: Force) -> Self {
        Self {
            wrench: f.wrench.into(),
            area: f.area,
            normal_force: f.normal_force,
            used: f.used as u64,
            sticking: f.sticking as u64,
            sliding: f.sliding as u64,
            non_finite: f.non_finite.into(),
            unsorted: f.unsorted.into(),
        }
    }
}

/// `palp_limits`: infinity is no limit.
#[derive(Clone, Copy, Debug, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct LimitsValue {
    /// [N]
    pub force: f64,
    /// [N m]
    pub torque: f64,
    /// [N/s]
    pub force_rate: f64,
    /// [N m/s]
    pub torque_rate: f64,
}

/// `palp_limited`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct LimitedValue {
    /// Within the limits.
    pub wrench: WrenchValue,
    /// It was too large.
    pub saturated: i32,
    /// It changed too fast.
    pub slewed: i32,
    /// The wrench or the time was not finite.
    pub non_finite: i32,
    /// 0
    pub reserved: i32,
}

/// Runs `f` with the memory a handle names, or without for the handle of nothing.
fn with_memory<R>(
    friction: FrictionHandle,
    f: impl FnOnce(Option<&mut [ContactState; 2]>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if friction.id == 0 {
        return f(None);
    }
    handle::with(friction, "friction", |memory| f(Some(memory)))
}

/// The memory of one direction.
fn of_direction(memory: Option<&mut [ContactState; 2]>, swapped: bool) -> Option<&mut ContactState> {
    memory.map(|[b, a]| if swapped { a } else { b })
}

impl Pair {
    fn force(&self, params: &ForceParams, motion: &Twist, memory: Option<&mut [ContactState; 2]>) -> Force {
        let (last, pose) = (self.query.last(), &self.a_from_b);
        if self.both {
            return force::both(last, self.query.last_both()[1], params, pose, Some(motion), memory);
        }
        force::penalty(last, params, pose, Some(motion), of_direction(memory, last.swapped))
    }

    fn derivative(
        &self,
        params: &ForceParams,
        motion: &Twist,
        memory: Option<&[ContactState; 2]>,
    ) -> Derivative {
        let of = |c: &Contacts| {
            let state = memory.map(|m| &m[usize::from(c.swapped)]);
            force::derivative(c, params, &self.a_from_b, Some(motion), state)
        };
        let first = of(self.query.last());
        if self.both { (first + of(self.query.last_both()[1])) * 0.5 } else { first }
    }
}

export! {
    /// Memory of friction for one pair.
    fn palp_friction_create(friction: Out<'_, FrictionHandle>) {
        let mut friction = friction.ready("friction")?;
        friction.put(handle::insert(Memory::default())?);
        Ok(())
    }

    /// Forgets where contacts stick.
    fn palp_friction_clear(friction: FrictionHandle) {
        handle::with(friction, "friction", |memory| {
            memory.iter_mut().for_each(ContactState::clear);
            Ok(())
        })
    }

    /// Frees it.
    fn palp_friction_free(friction: FrictionHandle) {
        handle::free(friction, "friction")
    }

    /// The wrench on B of the contacts that the query found last.
    fn palp_query_force(
        query: QueryHandle,
        params: In<'_, ForceParamsValue>,
        motion: In<'_, TwistValue>,
        friction: FrictionHandle,
        force: Out<'_, ForceValue>,
    ) {
        let (params, mut out) = (params.get("params")?.params()?, force.ready("force")?);
        let motion = motion.optional().unwrap_or_default().into();
        handle::with(query, "query", |p| with_memory(friction, |memory| {
            let f = p.force(&params, &motion, memory);
            out.put(f.into());
            answered(f.non_finite)
        }))
    }

    /// Its derivative by the motion of B, 36 numbers row by row.
    fn palp_query_force_derivative(
        query: QueryHandle,
        params: In<'_, ForceParamsValue>,
        motion: In<'_, TwistValue>,
        friction: FrictionHandle,
        derivative: Out<'_, [[f64; 6]; 6]>,
    ) {
        let (params, mut out) = (params.get("params")?.params()?, derivative.ready("derivative")?);
        let motion: Twist = motion.optional().unwrap_or_default().into();
        handle::with(query, "query", |p| with_memory(friction, |memory| {
            out.put(p.derivative(&params, &motion, memory.as_deref()).rows());
            answered(!(p.a_from_b.is_finite() && motion.is_finite()))
        }))
    }

    /// The wrench on B of contacts that the caller has.
    fn palp_contacts_force(
        contacts: List<'_, Contact>,
        count: usize,
        origin: In<'_, [f64; 3]>,
        swapped: i32,
        a_from_b: In<'_, PoseValue>,
        params: In<'_, ForceParamsValue>,
        motion: In<'_, TwistValue>,
        friction: FrictionHandle,
        force: Out<'_, ForceValue>,
    ) {
        let (params, mut out) = (params.get("params")?.params()?, force.ready("force")?);
        let pose: Pose = a_from_b.get("a_from_b")?.pose();
        let contacts = Contacts {
            origin: origin.get("origin")?.into(),
            swapped: flag(swapped),
            list: contacts.get(count, "contacts")?.to_vec(),
        };
        let motion = motion.optional().unwrap_or_default().into();
        with_memory(friction, |memory| {
            let memory = of_direction(memory, contacts.swapped);
            let f = force::penalty(&contacts, &params, &pose, Some(&motion), memory);
            out.put(f.into());
            answered(f.non_finite)
        })
    }

    /// A wrench within limits; `last` is the one of the call before, and is replaced.
    fn palp_wrench_limit(
        limits: In<'_, LimitsValue>,
        wrench: In<'_, WrenchValue>,
        dt: f64,
        last: Out<'_, WrenchValue>,
        limited: Out<'_, LimitedValue>,
    ) {
        let (limits, wrench, mut out) = (limits.get("limits")?, wrench.get("wrench")?, limited.ready("limited")?);
        let LimitsValue { force, torque, force_rate, torque_rate } = limits;
        let limits = Limits { force, torque, force_rate, torque_rate };
        limits.check()?;
        let r = match last.optional() {
            None => limits.saturate(&wrench.into()),
            Some(mut last) => {
                let mut state = LimitState { last: last.get().into() };
                let r = limits.apply(&wrench.into(), dt, &mut state);
                last.put(state.last.into());
                r
            }
        };
        out.put(LimitedValue {
            wrench: r.wrench.into(),
            saturated: r.saturated.into(),
            slewed: r.slewed.into(),
            non_finite: r.non_finite.into(),
            reserved: 0,
        });
        answered(r.non_finite)
    }
}
