import { afterAll, beforeAll, expect, test } from 'vitest';
import { incompleteBody } from '../../projections/projection.ts';
import {
  KEPT_EVERY,
  keptStateId,
  keptStatesModel,
  records,
  recordsModel,
} from '../../projections/records.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import type { RecordState } from '../../src/domain/records/fold.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { foldBatch, ownTarget, project } from '../../src/modules/projections/projector.ts';
import { type Moment, readRecordAt, readRecordHistory } from '../../src/modules/records/queries/history.ts';
import type { PrincipalNames } from '../../src/modules/records/queries/principalNames.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';
import { temporaryFolder } from '../support/cli.ts';
import { sendBatch } from '../support/client.ts';
import { eraserIn, openErasurePorts } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { newEvents, type TestService } from '../support/service.ts';

/** Two states are kept. */
const VERSIONS = 1_120;
/** After an erasure, with one more. */
const VERSIONS_AGAIN = 420;
const patient = catalogEntry('patient');
const names = { learn: async () => undefined, nameOf: () => undefined } as unknown as PrincipalNames;

onEveryEngine((start) => {
  let service: TestService;
  let ports: ErasurePorts;
  let close: () => Promise<unknown>;
  const id = phi('patient');
  const first = { ...samples.patient(), id, last_name: phi('Lopez') };
  beforeAll(async () => {
    service = await start();
    ({ ports, close } = await openErasurePorts(service));
  });
  afterAll(async () => {
    await close();
    await service.stop();
  });

  const workspace = () => service.workspaceId('clinic');
  const stream = () => recordStream(workspace(), 'patient', id);
  const keptIds = () => [1, 2].map((n) => keptStateId(stream(), n * KEPT_EVERY));
  const keptRows = async (readModels: ReadModels = ports.readModels) => {
    const rows = await readModels.load(keptStatesModel, keptIds());
    return rows.sort((a, b) => a.order - b.order);
  };
  const current = () =>
    eventually(async () => expect((await service.get('/integration/patients?limit=1')).status).toBe(200));

  /** Fields come and go: one is sent at first only, one is cleared, one is new in the last version. */
  const fieldsOf = (version: number) => ({
    id,
    ...(version === 1 ? first : {}),
    ...(version % 2 === 0 && { address_line_1: phi(`${version} Elm Street`) }),
    ...(version === 700 && { city: null }),
    ...(version === VERSIONS && { ssn_last4: '1234' }),
    ...{ first_name: first.first_name, last_name: first.last_name, date_of_birth: first.date_of_birth },
  });

  /** The log, which counts the events that it gives. */
  function counting(): { eventLog: EventLog; count: () => number } {
    let count = 0;
    const eventLog = new Proxy(ports.eventLog, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        if (name !== 'readStream') return own.bind(target);
        return async (...args: Parameters<EventLog['readStream']>) => {
          const events = await target.readStream(...args);
          count += events.length;
          return events;
        };
      },
    });
    return { eventLog, count: () => count };
  }

  const at = (moment: Moment, from: { eventLog: EventLog; readModels?: ReadModels } = ports) =>
    readRecordAt(from, workspace(), patient, id, moment);

  test('a record with many versions is read at any of them from the last kept state on, and is the same as by all of its events', async () => {
    const events = await newEvents(service, async () => {
      const lines = Array.from({ length: VERSIONS }, (_, n) => ({
        kind: 'patient',
        record: fieldsOf(n + 1),
      }));
      expect((await sendBatch(service, lines)).status).toBe(200);
    });
    expect(events.filter(({ type }) => type === 'PatientUpserted')).toHaveLength(VERSIONS);
    await current();
    expect((await keptRows()).map(({ body }) => (body as RecordState).version)).toEqual([500, 1_000]);
    const { eventLog } = ports;
    const versions = [1, 499, 500, 501, 999, 1_000, 1_001, VERSIONS];
    for (const version of versions) {
      const { eventLog: log, count } = counting();
      const view = await at({ version }, { ...ports, eventLog: log });
      expect(view).toEqual(await at({ version }, { eventLog }));
      expect(count()).toBeLessThanOrEqual(KEPT_EVERY + 1);
      expect((await service.get(`/integration/patients/${id}?version=${version}`)).body).toEqual(view);
    }
    const { eventLog: log, count } = counting();
    const moments = events.filter((_, n) => n % 300 === 0).map(({ recordedAt }) => Date.parse(recordedAt));
    for (const asOf of moments)
      expect(await at({ asOf }, { ...ports, eventLog: log })).toEqual(await at({ asOf }, { eventLog }));
    expect(count()).toBeLessThan(moments.length * 2 * (KEPT_EVERY + 1));
    await expect(at({ version: VERSIONS + 1 })).rejects.toMatchObject({ code: 'not_found' });
    await expect(at({ asOf: 0 })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('so is its history, also where a field was never sent before', async () => {
    let pageToken: string | undefined;
    do {
      const request = { limit: 90, pageToken };
      const { eventLog, count } = counting();
      const page = await readRecordHistory({ ...ports, eventLog, names }, workspace(), patient, id, request);
      const byEvents = { eventLog: ports.eventLog, names };
      expect(page).toEqual(await readRecordHistory(byEvents, workspace(), patient, id, request));
      expect(count()).toBeLessThan(2 * KEPT_EVERY + 400);
      pageToken = page.next_page_token ?? undefined;
    } while (pageToken !== undefined);
  });

  test('an erasure empties what is kept, and nothing that is kept is shown after it', async () => {
    const before = await keptRows();
    const late = { load: async () => before } as unknown as ReadModels;
    const events = await newEvents(service, () =>
      eventually(async () => {
        const options = { reason: 'Request 2026-117' };
        expect((await eraseRecord(ports, eraserIn(service), patient, id, options)).isComplete).toBe(true);
      }),
    );
    expect(events.map(({ type }) => type)).toEqual(['RecordErased']);
    for (const moment of [
      { version: 1_000 },
      { version: 1_010 },
      { asOf: Date.now() },
      { asOf: Date.parse(before[1] ? (before[1].body as RecordState).updatedAt : '') },
    ])
      await expect(at(moment, { ...ports, readModels: late })).rejects.toMatchObject({ code: 'gone' });
    await current();
    expect((await keptRows()).map(({ body }) => body)).toEqual([{}, {}]);
    expect((await service.get(`/integration/patients/${id}?version=1000`)).status).toBe(410);
    // Used again, it keeps states again.
    const lines = Array.from({ length: VERSIONS_AGAIN }, (_, n) => ({
      kind: 'patient',
      record: { ...first, city: `City ${n}` },
    }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    await current();
    const version = VERSIONS + 1 + VERSIONS_AGAIN;
    const { eventLog, count } = counting();
    expect(await at({ version }, { ...ports, eventLog })).toEqual(
      await at({ version }, { eventLog: ports.eventLog }),
    );
    expect(count()).toBeLessThanOrEqual(KEPT_EVERY + 1);
  });

  test('a rebuilt read model keeps the same', async () => {
    const readModels = await openReadModels(`sqlite:${temporaryFolder()}/read-models.db`);
    const { eventLog } = ports;
    const { signal } = new AbortController();
    const onParked = () => undefined;
    await project(
      [ownTarget(records)],
      { eventLog, readModels, onParked },
      signal,
      ({ caughtUp }) => caughtUp,
    );
    const ids = [...keptIds(), keptStateId(stream(), 3 * KEPT_EVERY)];
    const bodiesIn = async (models: ReadModels) =>
      new Map((await models.load(keptStatesModel, ids)).map((row) => [row.id, row.body]));
    const kept = await bodiesIn(readModels);
    expect(kept.size).toBe(3);
    expect(kept).toEqual(await bodiesIn(ports.readModels));
    await readModels.close();
  });

  test('what is kept of a stream with a parked event is emptied, too', async () => {
    const [tombstone] = (await service.eventLog.readStream(stream(), { from: VERSIONS, limit: 1 })) as [
      RecordedEvent,
    ];
    expect(tombstone.type).toBe('RecordErased');
    const row: Row = { id: stream(), partition: 'p', order: 1, position: 2, body: incompleteBody };
    const readModels = { load: async () => [row] } as unknown as ReadModels;
    const batch = { events: [tombstone], position: tombstone.position, listed: new Map() };
    const onParked = () => undefined;
    const written = await foldBatch(ownTarget(records), { readModels, onParked }, batch);
    expect(written.flatMap(({ rows }) => rows.map((one) => [one.id, one.body]))).toEqual([
      ...keptIds().map((kept) => [kept, {}]),
      [stream(), incompleteBody],
    ]);
    expect(written.every(({ model }) => model === recordsModel)).toBe(true);
  });
});
