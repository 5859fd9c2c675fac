/**
 * Milliseconds since some moment, with fractions, on a clock that never goes back. `performance.now()` gives the same,
 * but its first touch loads modules for a millisecond, in which a short run does a good part of its work.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
