//! Numbers as people read them: lengths, times, sizes and counts with a fitting unit.

/// A length in the unit that gives 1 to 999 before the point, three digits: `0.5e-3` is `0.5 mm`.
pub fn length(metres: f64) -> String {
    let units = [(1e3, "km"), (1.0, "m"), (1e-3, "mm"), (1e-6, "µm"), (1e-9, "nm")];
    with_unit(metres, &units)
}

/// An area: `104 cm²`.
pub fn area(square_metres: f64) -> String {
    with_unit(square_metres, &[(1.0, "m²"), (1e-4, "cm²"), (1e-6, "mm²")])
}

/// A volume: `31.2 cm³`.
pub fn volume(cubic_metres: f64) -> String {
    with_unit(cubic_metres, &[(1.0, "m³"), (1e-6, "cm³"), (1e-9, "mm³")])
}

/// A time: `2.5 s`, `31 ms`.
pub fn seconds(seconds: f64) -> String {
    with_unit(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// A size in binary units: `3.42 MiB`.
pub fn bytes(bytes: u64) -> String {
    let units = [(1024.0_f64.powi(3), "GiB"), (1024.0_f64.powi(2), "MiB"), (1024.0, "KiB"), (1.0, "B")];
    with_unit(bytes as f64, &units)
}

/// A whole number with commas between thousands: `69,451`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `x` with three significant digits and no trailing zeros; in scientific notation where that is shorter to read.
pub fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let power = x.abs().log10().floor();
    if !(-4.0..7.0).contains(&power) {
        return format!("{x:.2e}").replace(".00e", "e");
    }
    let decimals = (2.0 - power).max(0.0) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn with_unit(x: f64, units: &[(f64, &str)]) -> String {
    let Some(last) = units.last() else { return number(x) };
    if x == 0.0 || !x.is_finite() {
        let plain = units.iter().find(|u| u.0 == 1.0).unwrap_or(last);
        return format!("{x} {}", plain.1);
    }
    // 0.9995 of a unit would be printed as 1000 of the next one down.
    let unit = units.iter().find(|u| x.abs() >= 0.9995 * u.0).unwrap_or(last);
    format!("{} {}", number(x / unit.0), unit.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_value() {
        assert_eq!(length(0.5e-3), "500 µm");
        assert_eq!(length(0.0123), "12.3 mm");
        assert_eq!(length(-2.0), "-2 m");
        assert_eq!(length(0.0), "0 m");
        assert_eq!(length(0.999_96), "1 m");
        assert_eq!(length(f64::INFINITY), "inf m");
        assert_eq!(seconds(0.0314), "31.4 ms");
        assert_eq!(bytes(3_586_129), "3.42 MiB");
        assert_eq!(count(1_069_451), "1,069,451");
        assert_eq!(count(12), "12");
        assert_eq!(area(0.0104), "104 cm²");
        assert_eq!(volume(3.12e-5), "31.2 cm³");
        assert_eq!(volume(-2e-9), "-2 mm³");
        assert_eq!(number(1200.4), "1200");
        assert_eq!(number(1e-9), "1e-9");
    }
}
