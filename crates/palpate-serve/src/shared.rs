//! What the threads of the server have in common: the newest wish of the hand, the newest snapshot, the scene, and news of builds.

use crate::scenes::Entry;
use crate::source::Opener;
use crate::stage::{Act, Feel, Grip, Stage};
use palpate::math::Pose;
use palpate_haptic::Mode;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use tokio::sync::watch;

/// Encoded state of the scene at one tick, shared by all clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// Counts snapshots; 0: none yet.
    pub(crate) number: u64,
    /// As it goes to clients.
    pub(crate) bytes: Arc<Vec<u8>>,
}

/// What a client asks the builder for.
#[derive(Debug)]
pub(crate) enum Order {
    /// A scene of the list.
    Scene(Entry),
    /// A file: its label, its unit, its bytes.
    File(String, String, Vec<u8>),
    /// The program ends.
    End,
}

/// Where a build is, for people.
#[derive(Clone, Debug, Default)]
pub(crate) struct Building {
    pub(crate) title: String,
    pub(crate) stage: &'static str,
    /// Of the stage [1]; none where it is not known.
    pub(crate) part: Option<f64>,
}

/// What the hand wants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// The scene it is for: what is for an older one does not count.
    pub(crate) generation: u64,
    pub(crate) grip: Grip,
    /// Counts wishes to begin anew.
    pub(crate) resets: u64,
    /// The level whose nodes are told.
    pub(crate) level: Option<usize>,
    /// What touching is like.
    pub(crate) feel: Feel,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) entries: Vec<Entry>,
    /// What moves tools instead of the page's hand.
    pub(crate) device: Option<Arc<dyn Opener>>,
    pub(crate) wish: Mutex<Wish>,
    pub(crate) stage: Mutex<Option<Arc<Stage>>>,
    /// A new scene for the loop to take.
    pub(crate) next: Mutex<Option<Next>>,
    pub(crate) snapshot: watch::Sender<Snapshot>,
    /// The state of scene and build, as JSON.
    pub(crate) news: watch::Sender<Arc<String>>,
    building: Mutex<Option<Building>>,
    error: Mutex<Option<String>>,
    /// Counts orders: a build for an older one is stopped.
    pub(crate) orders: AtomicU64,
    pub(crate) order: Mutex<mpsc::Sender<(u64, Order)>>,
    pub(crate) clients: AtomicUsize,
    pub(crate) end: AtomicBool,
}

/// A scene on its way to the loop.
pub(crate) struct Next(pub(crate) Arc<Stage>, pub(crate) Box<dyn Act>);

impl std::fmt::Debug for Next {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Next({})", self.0.id)
    }
}

/// The lock, also after a thread that held it panicked: what is in there is replaced as a whole, never half.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(
        entries: Vec<Entry>,
        device: Option<Arc<dyn Opener>>,
        feel: Feel,
    ) -> (Arc<Self>, mpsc::Receiver<(u64, Order)>) {
        let (order, orders) = mpsc::channel();
        let shared = Self {
            entries,
            device,
            wish: Mutex::new(Wish { feel, ..Wish::default() }),
            stage: Mutex::default(),
            next: Mutex::default(),
            snapshot: watch::Sender::default(),
            news: watch::Sender::default(),
            building: Mutex::default(),
            error: Mutex::default(),
            orders: AtomicU64::new(0),
            order: Mutex::new(order),
            clients: AtomicUsize::new(0),
            end: AtomicBool::new(false),
        };
        shared.tell();
        (Arc::new(shared), orders)
    }

    /// Gives an order; a build under way is stopped.
    pub(crate) fn give(&self, order: Order) {
        let number = self.orders.fetch_add(1, Ordering::SeqCst) + 1;
        // The builder is gone only when the program ends.
        let _ = lock(&self.order).send((number, order));
    }

    /// Ends every thread.
    pub(crate) fn finish(&self) {
        self.end.store(true, Ordering::SeqCst);
        self.give(Order::End);
    }

    /// Whether the program ends.
    pub(crate) fn ends(&self) -> bool {
        self.end.load(Ordering::SeqCst)
    }

    /// The build is here now; none: nothing is being built.
    pub(crate) fn building(&self, building: Option<Building>) {
        *lock(&self.building) = building;
        self.tell();
    }

    /// A build failed, in words for people; none: it did not.
    pub(crate) fn failed(&self, error: Option<String>) {
        *lock(&self.error) = error;
        self.tell();
    }

    /// Touching is like this from now on.
    pub(crate) fn feels(&self, feel: Feel) {
        lock(&self.wish).feel = feel;
        self.tell();
    }

    /// A new scene is there.
    pub(crate) fn enter(&self, stage: Stage, act: Box<dyn Act>) {
        let stage = Arc::new(stage);
        {
            let mut wish = lock(&self.wish);
            *wish = Wish { generation: stage.generation, grip: stage.grip(), ..*wish };
        }
        *lock(&self.stage) = Some(stage.clone());
        *lock(&self.next) = Some(Next(stage, act));
        *lock(&self.building) = None;
        *lock(&self.error) = None;
        self.tell();
    }

    /// Tells clients how things are.
    fn tell(&self) {
        let scene = lock(&self.stage).as_ref().map_or(Value::Null, |s| describe(s));
        let building = lock(&self.building)
            .as_ref()
            .map_or(Value::Null, |b| json!({ "title": b.title, "stage": b.stage, "part": b.part }));
        let scenes: Vec<Value> =
            self.entries.iter().map(|e| json!({ "id": e.id, "title": e.title })).collect();
        let error = lock(&self.error).clone();
        let feel = lock(&self.wish).feel;
        let mode = if feel.mode == Mode::Held { "held" } else { "soft" };
        let news = json!({
            "type": "state", "scene": scene, "building": building, "error": error, "scenes": scenes,
            "feel": { "mode": mode, "friction": feel.friction }, "device": self.device.as_ref().map(|d| d.name()),
        });
        self.news.send_replace(Arc::new(news.to_string()));
    }
}

/// A pose as seven numbers: x y z, then the quaternion x y z w.
pub(crate) fn numbers(pose: &Pose) -> [f64; 7] {
    let (t, r) = (pose.translation, pose.rotation);
    [t.x, t.y, t.z, r.x, r.y, r.z, r.w]
}

/// A scene as the page needs it.
fn describe(stage: &Stage) -> Value {
    use crate::stage::Geometry;
    let bodies: Vec<Value> = stage
        .bodies
        .iter()
        .map(|body| {
            let b = body.geometry.aabb();
            let mut value = json!({
                "name": body.name, "kind": body.geometry.kind(), "pose": numbers(&body.pose),
                "min": b.min.to_array(), "max": b.max.to_array(),
            });
            if let Geometry::Shape(shape) = &body.geometry {
                let tree = shape.tree();
                let levels: Vec<usize> = (0..tree.levels()).map(|l| tree.nodes(l)).collect();
                value["triangles"] = json!(shape.mesh().triangles().len());
                value["voxel"] = json!(shape.field().lattice().voxel);
                value["dims"] = json!(shape.field().lattice().dims());
                value["points"] = json!(tree.len());
                value["levels"] = json!(levels);
                value["start"] = json!(tree.start());
                value["segments"] = json!(tree.segments());
                value["bytes"] = json!(shape.bytes());
            }
            value
        })
        .collect();
    let all = stage.aabb();
    json!({
        "generation": stage.generation, "id": stage.id, "title": stage.title, "words": stage.words, "bodies": bodies,
        "tool": stage.tool, "hand": numbers(&stage.hand), "up": stage.up.to_array(),
        "device": stage.device,
        "min": all.min.to_array(), "max": all.max.to_array(),
    })
}
