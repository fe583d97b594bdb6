import type { Projection } from '../../../projections/projection.ts';
import type { Position } from '../../domain/events/event.ts';
import type { SameLogPorts } from './beginIfOther.ts';
import { ownTarget, type Target } from './foldBatch.ts';
import { type ProjectorPorts, project } from './project.ts';
import { resumeAfter } from './resumeAfter.ts';
import { whileSameLog } from './whileSameLog.ts';

/** How far, in positions, a read model may be behind the others for the log to be read for them together. */
const NEAR = 10_000;

/**
 * Keeps the read models of all projections up to date with the log, until the signal. They are updated together, so
 * that each event is read once; one that is far behind, such as a new one, catches up by itself while the others
 * continue. One that belongs to another log is rebuilt from the start. Rejects when a store cannot be reached, or the
 * log is another one.
 */
export async function projectAll(
  projections: readonly Projection[],
  ports: ProjectorPorts & SameLogPorts,
  signal: AbortSignal,
): Promise<void> {
  const targets = projections.map(ownTarget);
  while (!signal.aborted) {
    const positions = await Promise.all(targets.map(({ model }) => resumeAfter(model, ports)));
    const furthest: Position = Math.max(...positions);
    const isBehind = (_: Target, index: number) => (positions[index] as Position) < furthest - NEAR;
    const behind = targets.filter(isBehind);
    const together = targets.filter((target, index) => !isBehind(target, index));
    await untilCaughtUp(together, behind, ports, signal);
  }
}

/**
 * Resolves when those behind have caught up: from then on all continue together. With none behind, resolves at the
 * signal.
 */
async function untilCaughtUp(
  together: Target[],
  behind: Target[],
  ports: ProjectorPorts,
  signal: AbortSignal,
): Promise<void> {
  const round = new AbortController();
  const until = AbortSignal.any([signal, round.signal]);
  const keepingUp = project(together, ports, until);
  const catchUps = behind.map((target) => project([target], ports, until, ({ caughtUp }) => caughtUp));
  try {
    const ends = behind.length > 0 ? [Promise.all(catchUps), keepingUp] : [keepingUp];
    await Promise.race([...ends, whileSameLog(ports.eventLog, until)]);
  } finally {
    round.abort();
    await Promise.allSettled([keepingUp, ...catchUps]);
  }
}
