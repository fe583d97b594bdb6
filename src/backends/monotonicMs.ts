/** Whole milliseconds on a clock that all threads of the process have; that of `performance` begins with each thread. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  // With fractions, a window that was just begun may seem to last longer than it does.
  return seconds * 1_000 + Math.floor(nanoseconds / 1_000_000);
}
