//! The thread that builds scenes, one at a time, and tells how far it is.

use crate::scenes;
use crate::shared::{Building, Order, Shared, lock};
use palpate::progress::Progress;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// How often clients are told where a build is.
const EVERY: Duration = Duration::from_millis(60);

/// Tells clients where a build is, and stops it when something else was ordered.
struct Told<'a> {
    shared: &'a Shared,
    number: u64,
    title: String,
    stage: Mutex<(&'static str, u64, Instant)>,
    done: AtomicU64,
}

impl Told<'_> {
    fn tell(&self) {
        let (stage, steps, _) = *lock(&self.stage);
        let part = (steps > 0).then(|| (self.done.load(Ordering::Relaxed) as f64 / steps as f64).min(1.0));
        self.shared.building(Some(Building { title: self.title.clone(), stage, part }));
    }
}

impl Progress for Told<'_> {
    fn stage(&self, name: &'static str, steps: u64) {
        self.done.store(0, Ordering::Relaxed);
        *lock(&self.stage) = (name, steps, Instant::now());
        self.tell();
    }

    fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
        // Whoever finds the lock taken lets the other thread tell.
        let Ok(mut stage) = self.stage.try_lock() else { return };
        if stage.2.elapsed() < EVERY {
            return;
        }
        stage.2 = Instant::now();
        drop(stage);
        self.tell();
    }

    fn cancelled(&self) -> bool {
        self.shared.orders.load(Ordering::SeqCst) != self.number
    }
}

/// Builds what is ordered until the program ends.
pub(crate) fn run(shared: &Arc<Shared>, orders: &mpsc::Receiver<(u64, Order)>) {
    while let Ok((number, order)) = orders.recv() {
        // Only the newest order counts.
        if number != shared.orders.load(Ordering::SeqCst) {
            continue;
        }
        let title = match &order {
            Order::End => return,
            Order::Scene(entry) => entry.title.to_owned(),
            Order::File(label, ..) => label.clone(),
        };
        shared.failed(None);
        let told = Told {
            shared,
            number,
            title,
            stage: Mutex::new(("mesh", 0, Instant::now())),
            done: AtomicU64::new(0),
        };
        told.tell();
        // A file may be anything: whatever it does to the build, the server goes on.
        let built = catch_unwind(AssertUnwindSafe(|| match &order {
            Order::Scene(entry) => scenes::build(entry, number, &told),
            Order::File(label, unit, bytes) => scenes::dropped(label, unit, bytes, number, &told),
            Order::End => Err("the program ends".to_owned()),
        }));
        let stopped = told.cancelled();
        match built {
            _ if stopped => {}
            Ok(Ok((mut stage, mut act))) => {
                stage.device = shared.device.as_ref().filter(|d| act.lend(d)).map(|d| d.name());
                shared.enter(stage, act);
            }
            Ok(Err(words)) => {
                shared.building(None);
                shared.failed(Some(words));
            }
            Err(_) => {
                shared.building(None);
                shared
                    .failed(Some("internal error while building; please report it with the file".to_owned()));
            }
        }
    }
}
