//! Where and from what a run was made.

use serde::Serialize;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine and the build of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processor and number of threads it offers, fit for a folder's name.
    pub name: String,
    /// Processor as it calls itself.
    pub cpu: String,
    /// Threads the system offers.
    pub cores: usize,
    /// Memory [bytes].
    pub memory_bytes: u64,
    /// Load average of the last minute when the run began; above `cores` the times are pessimistic.
    pub load: f64,
}

/// What was measured: revision, build and call.
#[derive(Clone, Debug, Serialize)]
pub struct Origin {
    /// Short commit, with `-dirty` where files differ from it.
    pub commit: String,
    /// Day of the run, UTC, `YYYY-MM-DD`.
    pub date: String,
    /// The command line.
    pub command: String,
    /// Build profile and compile-time target features.
    pub flags: String,
}

impl Machine {
    /// This machine, now.
    pub fn here() -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |key: &str| {
            let line = cpuinfo.lines().find(|l| l.starts_with(key))?;
            line.split_once(':').map(|(_, value)| value.trim().to_owned())
        };
        let cpu = field("model name").unwrap_or_else(|| std::env::consts::ARCH.into());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            name: slug(&cpu, cores),
            cpu,
            cores,
            memory_bytes: kib("/proc/meminfo", "MemTotal:"),
            load: load.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0.0),
        }
    }
}

impl Origin {
    /// This program, called as it was.
    pub fn here() -> Self {
        let git = |args: &[&str]| {
            let out =
                Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(args).output().ok()?;
            out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
        };
        let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".into());
        let dirty = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let features =
            [("avx2", cfg!(target_feature = "avx2")), ("avx512f", cfg!(target_feature = "avx512f"))];
        let features: Vec<&str> = features.iter().filter(|f| f.1).map(|f| f.0).collect();
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        Self {
            commit: if dirty { format!("{commit}-dirty") } else { commit },
            date: date(seconds),
            command: command(),
            flags: [&[profile], features.as_slice()].concat().join(" "),
        }
    }
}

/// High-water mark of this process's resident memory [bytes]; 0 where the system does not say.
pub fn peak_rss_bytes() -> u64 {
    kib("/proc/self/status", "VmHWM:")
}

/// The command line without the program's folder, which says nothing about the run.
fn command() -> String {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    let name =
        std::path::Path::new(&program).file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
    [name].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn kib(path: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with(key)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|w| w.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// `intel-xeon-2` from `Intel(R) Xeon(R) Processor @ 2.60GHz` and 2.
fn slug(cpu: &str, cores: usize) -> String {
    let plain = cpu.replace("(R)", " ").replace("(TM)", " ").replace("CPU", " ").replace("Processor", " ");
    let words = plain.split('@').next().unwrap_or("").split_whitespace();
    let clean = |w: &str| w.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let mut words: Vec<String> = words.map(clean).filter(|w| !w.is_empty()).collect();
    words.push(cores.to_string());
    words.join("-")
}

/// `YYYY-MM-DD` of seconds since 1970, UTC: years are counted from March, so that the leap day comes last.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + 400 * era + carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_pass_leap_days_and_centuries() {
        let cases = [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (951_868_800, "2000-03-01")];
        let more = [(1_798_761_599, "2026-12-31"), (4_107_542_400, "2100-03-01")];
        for (seconds, day) in cases.into_iter().chain(more) {
            assert_eq!(date(seconds), day);
        }
    }

    #[test]
    fn a_machine_has_a_name_fit_for_a_folder() {
        assert_eq!(slug("Intel(R) Xeon(R) Processor @ 2.60GHz", 2), "intel-xeon-2");
        assert!(Machine::here().name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
    }
}
