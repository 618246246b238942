//! Run-time choice of SIMD kernels; the only file with unsafe loads.
