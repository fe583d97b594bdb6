import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { measurements } from '../metrics/Measurements.ts';
import { isMeasured } from './reportMeasurements.ts';

/** The period over which it is measured. */
const WINDOW_MS = 10_000;
/** How often it is checked: each time wakes the thread for microseconds. */
const RESOLUTION_MS = 20;
const NS = 1e9;

/**
 * Measures how late the calling thread's event loop is, where anything is measured. The returned function ends it.
 */
export function watchEventLoop(thread: number): () => void {
  if (!isMeasured()) return () => undefined;
  const attributes = { 'chartledger.thread': thread };
  const p99 = measurements.gauge('nodejs.eventloop.delay.p99', attributes);
  const max = measurements.gauge('nodejs.eventloop.delay.max', attributes);
  const utilization = measurements.gauge('nodejs.eventloop.utilization', attributes);
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let before: ReturnType<typeof performance.eventLoopUtilization> | undefined;
  const look = () => {
    const now = performance.eventLoopUtilization();
    utilization.set(performance.eventLoopUtilization(now, before).utilization);
    before = now;
    // It measures how long a round of its timer takes.
    const late = (ns: number) => Math.max(0, ns / NS - RESOLUTION_MS / 1_000);
    p99.set(late(delay.percentile(99)));
    max.set(late(delay.max));
    delay.reset();
  };
  look();
  const timer = setInterval(look, WINDOW_MS).unref();
  return () => {
    clearInterval(timer);
    delay.disable();
  };
}
