import { randomUUID } from 'node:crypto';
import { BroadcastChannel, getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';
import { type MeasurementsReport, measurements } from '../metrics/Measurements.ts';

/** Where the threads that are started find the name of the channel. */
const CHANNEL = 'chartledger.measurements';
/** How long changes gather. */
const TELL_MS = 1_000;

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
    const report: MeasurementsReport = { thread: threadId, series: measurements.takeReport() };
    channel.postMessage(report);
  };
  // An idle thread is not woken.
  let isDue = false;
  measurements.tellChanges(() => {
    if (!isDue) setTimeout(tell, TELL_MS).unref();
    isDue = true;
  });
}

/** Whether measurements from this thread, or from those that it starts, go anywhere. */
export function isMeasured(): boolean {
  return getEnvironmentData(CHANNEL) !== undefined;
}
