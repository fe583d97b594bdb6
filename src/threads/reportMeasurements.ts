import { randomUUID } from 'node:crypto';
import { BroadcastChannel, getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';
import { type MeasurementsReport, measurements } from '../metrics/Measurements.ts';

/** Where the threads that are started find the name of the channel. */
const CHANNEL = 'chartledger.measurements';
/** How long changes gather. */
const TELL_MS = 1_000;

let gathered: BroadcastChannel | undefined;

/**
 * From now on what threads measure comes to the calling one, which is the first of them: at most a second later. To be called
 * before it starts others; without it they tell nothing.
 */
export function gatherMeasurements(): void {
  if (gathered !== undefined) return;
  const name = `${CHANNEL} ${randomUUID()}`;
  setEnvironmentData(CHANNEL, name);
  gathered = new BroadcastChannel(name);
  gathered.onmessage = (event) => measurements.merge((event as { data: MeasurementsReport }).data);
  gathered.unref();
}

/** Has the calling thread, which is not the first one, tell what it measures, where that is asked for. */
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
  // A thread that rests is not woken.
  let isDue = false;
  measurements.tellChanges(() => {
    if (!isDue) setTimeout(tell, TELL_MS).unref();
    isDue = true;
  });
}

/** Whether measurements go anywhere from this thread or the ones that it starts. */
export function isMeasured(): boolean {
  return getEnvironmentData(CHANNEL) !== undefined;
}
