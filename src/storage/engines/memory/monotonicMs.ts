/** Returns whole milliseconds on a clock shared by all threads of the process; that of `performance` starts with each thread. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  // With fractions, a window that just began could seem to last longer than it does.
  return seconds * 1_000 + Math.floor(nanoseconds / 1_000_000);
}
