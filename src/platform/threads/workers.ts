import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import {
  BroadcastChannel,
  getEnvironmentData,
  setEnvironmentData,
  type Transferable,
  threadId,
  Worker,
} from 'node:worker_threads';
import { type MeasurementsReport, measurements } from '../metrics/metrics.ts';

/**
 * Ends this worker thread, whose work is done: a connection that a driver left open must not keep it, and with it the
 * shutdown of the service, waiting.
 */
export function exitWorker(): never {
  process.exit();
}

const RESTART_MS = 1_000;

/** Receives what happens in a thread that is kept. */
interface ThreadListener<Message> {
  /** `answer` sends it a message, and what is transferred with it. */
  onMessage(message: Message, answer: (message: unknown, transfer?: Transferable[]) => void): void;
  /** It failed; another one is started. */
  onError(error: Error): void;
}

/**
 * Starts a worker thread, and another one whenever it ends. The returned function stops it, by the message `stop`, and resolves
 * once it is gone, also when it failed.
 */
export function superviseWorker<Message>(
  url: URL,
  workerData: unknown,
  { onMessage, onError }: ThreadListener<Message>,
): () => Promise<void> {
  let worker: Worker;
  let stopping = false;
  let restart: NodeJS.Timeout | undefined;

  const start = () => {
    const started = new Worker(url, { workerData });
    const { threadId } = started;
    worker = started;
    worker.on('message', (message) =>
      onMessage(message, (reply, transfer) => started.postMessage(reply, transfer)),
    );
    worker.on('error', onError);
    worker.on('exit', () => {
      measurements.forget(threadId);
      if (!stopping) restart = setTimeout(start, RESTART_MS);
    });
  };
  start();

  return async () => {
    stopping = true;
    clearTimeout(restart);
    if (worker.threadId === -1) return;
    // `once` of node:events would reject with the error of a thread that fails as it ends.
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('stop');
    await exited;
  };
}

/** Where the threads that are started find the name of the channel. */
const CHANNEL = 'chartledger.measurements';
/** How long changes gather. */
const REPORT_DELAY_MS = 1_000;

let gathered: BroadcastChannel | undefined;

/**
 * From now on, what threads measure is reported to the calling one, which is the first: at most a second later. To be
 * called before it starts others; without it they report nothing.
 */
export function gatherMeasurements(): void {
  if (gathered !== undefined) return;
  const name = `${CHANNEL} ${randomUUID()}`;
  setEnvironmentData(CHANNEL, name);
  gathered = new BroadcastChannel(name);
  gathered.onmessage = (event) => measurements.merge((event as { data: MeasurementsReport }).data);
  gathered.unref();
}

/** Has the calling thread, which is not the first one, report what it measures, where that is asked for. */
export function reportMeasurements(): void {
  const name = getEnvironmentData(CHANNEL);
  if (typeof name !== 'string') return;
  const channel = new BroadcastChannel(name);
  channel.unref();
  const tell = () => {
    isDue = false;
    const report: MeasurementsReport = { thread: threadId, series: measurements.collectReport() };
    channel.postMessage(report);
  };
  // An idle thread is not woken.
  let isDue = false;
  measurements.notifyOnChange(() => {
    if (!isDue) setTimeout(tell, REPORT_DELAY_MS).unref();
    isDue = true;
  });
}

/** Whether measurements from this thread, or from those that it starts, go anywhere. */
export function isMeasured(): boolean {
  return getEnvironmentData(CHANNEL) !== undefined;
}

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
  const sample = () => {
    const now = performance.eventLoopUtilization();
    utilization.set(performance.eventLoopUtilization(now, before).utilization);
    before = now;
    // It measures how long a round of its timer takes.
    const late = (ns: number) => Math.max(0, ns / NS - RESOLUTION_MS / 1_000);
    p99.set(late(delay.percentile(99)));
    max.set(late(delay.max));
    delay.reset();
  };
  sample();
  const timer = setInterval(sample, WINDOW_MS).unref();
  return () => {
    clearInterval(timer);
    delay.disable();
  };
}

/** Requests come first: where all processors are busy, this thread waits. Linux has a priority for each thread. */
export function lowerThreadPriority(): void {
  try {
    setPriority(
      Number(basename(readlinkSync('/proc/thread-self'))),
      constants.priority.PRIORITY_BELOW_NORMAL,
    );
  } catch {
    // Elsewhere all threads are equal, which only costs speed.
  }
}
