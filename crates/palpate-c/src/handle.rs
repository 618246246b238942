//! Handles: numbers that name objects, and that say so when their object is gone.
//!
//! A handle is 64 bits: kind (8), generation (32), place (24). A place is used again with the next generation, so that a handle
//! never names another object than the one it was made for: after 2³² objects a place is given up.
//!
//! Places are in blocks that are never moved or freed, so that finding one takes no lock; an object has a lock of its own, which is
//! held while the object is used. Two threads meet at a lock only if they use the same object.

use crate::error::{Failure, Status};
use std::any::Any;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const PLACE_BITS: u32 = 24;
const GENERATION_BITS: u32 = 32;
/// Places of the first block; each block has twice those of the one before.
const FIRST: usize = 64;
/// Blocks: all places that the bits of a handle can name.
const BLOCKS: usize = 19;

/// What a handle names.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    object: Option<Box<dyn Any + Send>>,
}

static SLOTS: [OnceLock<Box<[Mutex<Slot>]>>; BLOCKS] = [const { OnceLock::new() }; BLOCKS];
/// Places to be used again, and how many there are in all.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

/// A kind of handle: what it names and how messages call it.
pub(crate) trait Kind: Copy {
    const KIND: u8;
    const NAME: &'static str;
    type Object: Send + 'static;
    fn id(self) -> u64;
    fn from_id(id: u64) -> Self;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $kind:literal, $text:literal, $object:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::AnyBitPattern)]
        #[repr(C)]
        pub struct $name {
            /// 0 is no object.
            pub id: u64,
        }

        impl Kind for $name {
            const KIND: u8 = $kind;
            const NAME: &'static str = $text;
            type Object = $object;
            fn id(self) -> u64 {
                self.id
            }
            fn from_id(id: u64) -> Self {
                Self { id }
            }
        }
    )*};
}

kinds! {
    /// `palp_mesh`
    MeshHandle = 1, "mesh", std::sync::Arc<palpate::Mesh>;
    /// `palp_shape`
    ShapeHandle = 2, "shape", palpate::Shape;
    /// `palp_query`
    QueryHandle = 3, "query", crate::query::Pair;
    /// `palp_friction`
    FrictionHandle = 4, "friction memory", crate::force::Memory;
    /// `palp_batch`
    BatchHandle = 5, "batch", Vec<palpate::Contacts>;
    /// `palp_solid`
    SolidHandle = 6, "solid", crate::solid::Solid;
    /// `palp_pair`
    PairHandle = 7, "pair", crate::pair::Colliders;
}

/// Numbers of kinds.
const KINDS: core::ops::RangeInclusive<u8> = 1..=7;

/// The kind that an id claims to be of.
pub(crate) fn kind_of(id: u64) -> u8 {
    (id >> (PLACE_BITS + GENERATION_BITS)) as u8
}

fn kind_name(kind: u8) -> &'static str {
    match kind {
        MeshHandle::KIND => MeshHandle::NAME,
        ShapeHandle::KIND => ShapeHandle::NAME,
        QueryHandle::KIND => QueryHandle::NAME,
        FrictionHandle::KIND => FrictionHandle::NAME,
        BatchHandle::KIND => BatchHandle::NAME,
        SolidHandle::KIND => SolidHandle::NAME,
        PairHandle::KIND => PairHandle::NAME,
        _ => "number that names nothing",
    }
}

/// The block and the place in it.
fn place(index: usize) -> (usize, usize) {
    let block = (index / FIRST + 1).ilog2() as usize;
    (block, index - FIRST * ((1 << block) - 1))
}

/// A lock; what a panic left behind it is sound, if perhaps half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn slot(index: usize) -> Option<&'static Mutex<Slot>> {
    let (block, at) = place(index);
    SLOTS.get(block)?.get()?.get(at)
}

/// A handle for a new object.
pub(crate) fn insert<K: Kind>(object: K::Object) -> Result<K, Failure> {
    let object: Box<dyn Any + Send> = Box::new(object);
    let index = {
        let (free, count) = &mut *lock(&FREE);
        match free.pop() {
            Some(index) => index,
            None if *count >= 1 << PLACE_BITS => {
                return Err(Failure::argument("there are 16,777,216 objects already; free some"));
            }
            None => {
                *count += 1;
                *count - 1
            }
        }
    };
    let (block, at) = place(index);
    let fault = || Failure::new(Status::Panic, format!("place {index} of a handle is not there"));
    let block = SLOTS.get(block).ok_or_else(fault)?.get_or_init(|| {
        std::iter::repeat_with(Mutex::default).take(FIRST << block).collect::<Vec<_>>().into_boxed_slice()
    });
    let mut slot = lock(block.get(at).ok_or_else(fault)?);
    slot.object = Some(object);
    let id = u64::from(K::KIND) << (PLACE_BITS + GENERATION_BITS)
        | u64::from(slot.generation) << PLACE_BITS
        | index as u64;
    Ok(K::from_id(id))
}

/// The lock of a handle's object, which is there and of its kind.
#[inline]
fn find<K: Kind>(handle: K, name: &str) -> Result<(usize, MutexGuard<'static, Slot>), Failure> {
    let id = handle.id();
    let index = (id & ((1 << PLACE_BITS) - 1)) as usize;
    let generation = (id >> PLACE_BITS) as u32;
    if let Some(slot) = slot(index) {
        let slot = lock(slot);
        let kind = kind_of(id);
        if slot.generation == generation
            && kind == K::KIND
            && slot.object.as_ref().is_some_and(|o| o.is::<K::Object>())
        {
            return Ok((index, slot));
        }
        return Err(refuse::<K>(id, name, Some((slot.generation, slot.object.is_some()))));
    }
    Err(refuse::<K>(id, name, None))
}

/// Why a handle is refused; `found` is the generation of its place, and whether there is an object.
#[cold]
fn refuse<K: Kind>(id: u64, name: &str, found: Option<(u32, bool)>) -> Failure {
    let kind = kind_of(id);
    let generation = (id >> PLACE_BITS) as u32;
    let wanted = K::NAME;
    if id == 0 {
        return Failure::new(Status::BadHandle, format!("{name} is no {wanted}: its id is 0"));
    }
    match found {
        Some((now, _)) if KINDS.contains(&kind) && generation < now => {
            let what = kind_name(kind);
            Failure::new(Status::Freed, format!("{name} was freed: the {what} with id {id:#x} is gone"))
        }
        Some((now, true)) if kind != K::KIND && KINDS.contains(&kind) && generation == now => {
            let what = kind_name(kind);
            Failure::new(Status::WrongKind, format!("{name} must be a {wanted} but {id:#x} is a {what}"))
        }
        _ => {
            Failure::new(Status::BadHandle, format!("{name} has the id {id:#x}, which no {wanted} ever had"))
        }
    }
}

/// Uses a handle's object; nothing else can meanwhile.
///
/// An uncontended lock: see `lookup_cost` in `tests/cost.rs` for what it takes. Objects are locked in the order of their kinds.
#[inline]
pub(crate) fn with<K: Kind, R>(
    handle: K,
    name: &str,
    f: impl FnOnce(&mut K::Object) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let (_, mut slot) = find(handle, name)?;
    match slot.object.as_mut().and_then(|o| o.downcast_mut::<K::Object>()) {
        Some(object) => f(object),
        None => Err(refuse::<K>(handle.id(), name, None)),
    }
}

/// A copy of a handle's object, for those whose clones share memory: the lock is not held.
pub(crate) fn cloned<K: Kind>(handle: K, name: &str) -> Result<K::Object, Failure>
where
    K::Object: Clone,
{
    with(handle, name, |object| Ok(object.clone()))
}

/// Frees a handle's object; the handle of nothing is freed already.
pub(crate) fn free<K: Kind>(handle: K, name: &str) -> Result<(), Failure> {
    if handle.id() == 0 {
        return Ok(());
    }
    let object = {
        let (index, mut slot) = find(handle, name)?;
        let object = slot.object.take();
        // The last generation is never reached: the place is given up before.
        slot.generation += 1;
        if slot.generation < u32::MAX {
            lock(&FREE).0.push(index);
        }
        object
    };
    drop(object);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate::Contacts;

    fn status<T: core::fmt::Debug>(r: Result<T, Failure>) -> Status {
        r.unwrap_err().status
    }

    #[test]
    fn places_fill_blocks_in_order() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place((1 << PLACE_BITS) - 1).0 < BLOCKS);
    }

    #[test]
    fn freed_handles_stay_freed() {
        let first: BatchHandle = insert(vec![Contacts::default()]).unwrap();
        assert_eq!(with(first, "x", |v| Ok(v.len())).unwrap(), 1);
        free(first, "x").unwrap();
        assert_eq!(status(free(first, "x")), Status::Freed);
        // Whatever takes the place later, the old handle does not name it.
        let many: Vec<BatchHandle> = (0..300).map(|_| insert(Vec::new()).unwrap()).collect();
        assert!(many.iter().all(|h| *h != first));
        assert_eq!(status(with(first, "x", |_| Ok(()))), Status::Freed);
        // Another kind, numbers that were never given out, and nothing.
        let wrong = MeshHandle { id: many[0].id };
        assert_eq!(status(with(wrong, "x", |_| Ok(()))), Status::WrongKind);
        let forged = MeshHandle { id: many[0].id & !(0xff << 56) | 1 << 56 };
        assert_eq!(status(with(forged, "x", |_| Ok(()))), Status::BadHandle);
        for id in [0, 1, u64::MAX, many[0].id + (1 << PLACE_BITS), many[0].id | 0xff_ffff] {
            assert_eq!(status(with(BatchHandle { id }, "x", |_| Ok(()))), Status::BadHandle, "{id:#x}");
        }
        free(BatchHandle::default(), "x").unwrap();
        many.into_iter().for_each(|h| free(h, "x").unwrap());
    }

    #[test]
    fn threads_make_use_and_free() {
        std::thread::scope(|scope| {
            for t in 0..4 {
                scope.spawn(move || {
                    for i in 0..2000 {
                        let h: BatchHandle = insert(vec![Contacts::default(); (t + i) % 7]).unwrap();
                        assert_eq!(with(h, "x", |v| Ok(v.len())).unwrap(), (t + i) % 7);
                        free(h, "x").unwrap();
                        assert_eq!(status(with(h, "x", |_| Ok(()))), Status::Freed);
                    }
                });
            }
        });
    }
}
