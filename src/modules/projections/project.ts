import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { isBookkeeping } from '../../domain/events/streamNames.ts';
import { measurements } from '../../platform/metrics/Measurements.ts';
import { isTracing, type TracedWork, traced } from '../../platform/traced.ts';
import type { EventBatch, EventLog, FollowOptions } from '../../storage/eventLog.ts';
import { type FoldPorts, foldBatch, type Target } from './foldBatch.ts';
import { Tombstones } from './Tombstones.ts';

/** How often an idle projection checks whether its read model was set back. */
const PAUSE_MS = 1_000;

const batchDuration = measurements.histogram('chartledger.projector.batch.duration', {});
const projected = measurements.counter('chartledger.projector.events', {});

export interface ProjectorPorts extends FoldPorts {
  eventLog: EventLog;
  /** How long events may gather, as in `FollowOptions`. */
  gather?: FollowOptions['gather'];
}

/** A target and its progress. */
interface Progress {
  target: Target;
  /** Types of events; undefined: all. */
  wanted: Set<string> | undefined;
  position: Position;
}

/**
 * Folds the log into read models, from their checkpoints on: until the signal, or until `isDone` returns true for a
 * batch that was written. The log is read once for all of them, from the earliest checkpoint on. Rejects when a store
 * cannot be reached; calling it again continues from the checkpoints, which are read anew because a store that failed
 * over may have lost them, and so may a rebuilt one: that is also checked while nothing is appended.
 */
export async function project(
  targets: readonly Target[],
  ports: ProjectorPorts,
  signal: AbortSignal,
  isDone: (batch: EventBatch) => boolean = () => false,
): Promise<void> {
  const { eventLog, readModels, gather } = ports;
  const all = await Promise.all(
    targets.map(async (target): Promise<Progress> => {
      const position = await readModels.checkpoint(target.model);
      const { eventTypes } = target.projection;
      return { target, wanted: eventTypes && new Set(eventTypes), position };
    }),
  );
  const after = Math.min(...all.map(({ position }) => position));
  const wanted = targets.map(({ projection }) => projection.eventTypes);
  const types = wanted.every((some) => some !== undefined) ? [...new Set(wanted.flat())] : undefined;
  const tombstones = new Tombstones(eventLog);
  const wants = types ? { filter: { eventTypes: types } } : { erased: true };
  const follow = (until: AbortSignal) => eventLog.follow({ after, ...wants, gather, signal: until });
  for await (const batch of withPauses(follow, signal)) {
    if (batch === undefined) {
      await readModels.write(
        ...all.map(({ target: { model }, position }) => ({ model, rows: [], checkpoint: position })),
      );
      continue;
    }
    const behind = all.filter(({ position }) => position < batch.position);
    const startedAt = performance.now();
    await traced(workOf(batch), async () => {
      const told = { ...batch, listed: await tombstones.listed(batch.erased) };
      const folded = await Promise.all(
        behind.map(({ target, wanted, position }) =>
          foldBatch(
            target,
            ports,
            ownPart(told, wanted, (event) => event.position > position),
          ),
        ),
      );
      await readModels.write(...folded.flat());
    });
    batchDuration.observe((performance.now() - startedAt) / 1_000);
    projected.add(batch.events.length);
    for (const progress of behind) progress.position = batch.position;
    if (isDone(batch)) return;
  }
}

/** Returns the work of folding a batch: it results from the requests that its events come from. */
function workOf({ events }: EventBatch): TracedWork {
  const links = isTracing() ? events.map(({ metadata }) => metadata.traceparent) : [];
  return { name: 'project', kind: 'CONSUMER', links, attributes: { 'chartledger.events': events.length } };
}

/** Returns what a projection takes of a batch: events of the wanted types (undefined: all) for which `isIn` holds, and erased ones. */
export function ownPart<Batch extends Pick<EventBatch, 'events' | 'unreadable' | 'erased'>>(
  batch: Batch,
  wanted: ReadonlySet<string> | undefined,
  isIn: (event: Pick<RecordedEvent, 'stream' | 'position'>) => boolean,
): Batch {
  const isOwn = (event: Pick<RecordedEvent, 'stream' | 'position'>) =>
    isIn(event) && !isBookkeeping(event.stream);
  const isWanted = (event: Pick<RecordedEvent, 'type' | 'stream' | 'position'>) =>
    isOwn(event) && (wanted?.has(event.type) ?? true);
  const { events, unreadable = [], erased = [] } = batch;
  return {
    ...batch,
    events: events.filter(isWanted),
    unreadable: unreadable.filter(isWanted),
    erased: erased.filter(isOwn),
  };
}

/** Yields what the iteration yields, and `undefined` whenever nothing came for `PAUSE_MS`. */
async function* withPauses<Item>(
  follow: (signal: AbortSignal) => AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item | undefined> {
  const stop = new AbortController();
  const iterator = follow(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ; ) {
      const { promise: pause, resolve } = Promise.withResolvers<undefined>();
      const timer = setTimeout(resolve, PAUSE_MS, undefined);
      const result = await Promise.race([next, pause]).finally(() => clearTimeout(timer));
      if (result?.done) return;
      yield result?.value;
      if (result) next = iterator.next();
    }
  } finally {
    // An iteration waiting for its next item would only then learn that it is to end.
    stop.abort();
    await iterator.return?.();
  }
}
