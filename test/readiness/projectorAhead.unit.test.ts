import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projections } from '../../projections/index.ts';
import { ProjectedBatches } from '../../src/modules/projections/projectedBatches.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { worklistModel, worklistPartition } from '../../src/modules/readiness/worklistModel.ts';
import { updateWorklist } from '../../src/modules/readiness/worklistUpdater.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog, FollowOptions } from '../../src/storage/eventLog.ts';
import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { freshClaim } from '../support/readiness.ts';
import { TestWorkspace } from '../support/samples.ts';

/** A log of which each batch has one event. */
function oneByOne(eventLog: EventLog): EventLog {
  return new Proxy(eventLog, {
    get(target, name) {
      if (name !== 'follow') return Reflect.get(target, name).bind(target);
      return async function* follow(options: FollowOptions) {
        for await (const { events, position, caughtUp } of target.follow(options)) {
          for (const event of events) yield { events: [event], position: event.position, caughtUp: false };
          yield { events: [], position, caughtUp };
        }
      };
    },
  });
}

test('encounters of one visit are all in the worklist, though the read models have them before it gets to their events', async () => {
  const folder = temporaryFolder();
  const eventLog = await openEventLog(`sqlite:${folder}/events.db`);
  const readModels = await openReadModels(`sqlite:${folder}/read-models.db`);
  const workspace = new TestWorkspace();
  const claim = freshClaim();
  // A finding names five of them: what the others depend on is not among these.
  const ids = Array.from({ length: 10 }, (_, at) => `twin-${at}`);
  const twins = ids.map((id) => ({ ...claim.encounter, id }));
  const records = [
    ...(['payer', 'provider', 'facility', 'patient'] as const).map((kind) => [kind, claim[kind]] as const),
    ...twins.map((twin) => ['encounter', twin] as const),
  ];
  for (const [kind, record] of records) {
    const type = `${kind[0]?.toUpperCase()}${kind.slice(1)}Upserted`;
    await eventLog.append(workspace.stream(`${kind}-${record.id}`), workspace.event(record, type), 'any');
  }
  const stop = new AbortController();
  const ports = { eventLog, readModels, onMismatch: () => undefined, onParked: () => undefined };
  await project(projections.map(ownTarget), ports, stop.signal, ({ caughtUp }) => caughtUp);

  const worklistPorts = { ...ports, eventLog: oneByOne(eventLog), batches: new ProjectedBatches() };
  const updating = updateWorklist(worklistPorts, stop.signal);
  const query = { partition: worklistPartition(workspace.id), limit: 2 * ids.length };
  await eventually(async () => {
    expect(await readModels.checkpoint(worklistModel)).toBe(await eventLog.head());
  });
  const rows = await readModels.page(worklistModel, query);
  expect(rows.map(({ body }) => 'encounter_id' in body && body.encounter_id)).toEqual(ids);
  stop.abort();
  await updating;
  await Promise.all([eventLog, readModels].map((store) => store.close()));
  rmSync(folder, { recursive: true });
});
