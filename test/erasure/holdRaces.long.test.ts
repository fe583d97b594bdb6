import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import { holdsStream, recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { readHolds } from '../../src/modules/erasure/holdState.ts';
import { addHold, releaseHold } from '../../src/modules/erasure/holds.ts';
import { appendTombstones } from '../../src/modules/erasure/tombstones.ts';
import { ServiceError } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { openErasurePorts } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

const LONG_MS = 900_000;
/** Read models lag on a busy machine. */
const SOON_MS = 120_000;
/** Calls of the log, behind the tombstone, before which a hold comes. */
const AFTERWARDS = 3;
const REASON = 'Case 2031-17';

type Fields = Record<'patient' | 'encounter', unknown>;
type Name = { kind: string; id: string };

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  let ports: ErasurePorts;
  let close: () => Promise<unknown>;
  beforeAll(async () => {
    service = await start();
    ({ ports, close } = await openErasurePorts(service));
    await eventually(
      async () => expect((await service.get('/integration/patients')).status).toBe(200),
      SOON_MS,
    );
  }, LONG_MS);
  afterAll(async () => {
    await close();
    await service.stop();
  });

  const workspace = () => service.workspaceId('clinic');
  const caller = (): Caller => ({
    workspace: workspace(),
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  });
  const pathOf = ({ kind, id }: Name) => `/integration/${catalogEntry(kind).plural}/${id}`;

  /** The log, with `first` done before its call of a number; whether there was one of that number. */
  function logWith(call: number, first: () => Promise<unknown>) {
    let calls = 0;
    const eventLog = new Proxy(service.eventLog, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        // It returns an iterable, not a promise.
        if (name === 'follow') return own.bind(target);
        return async (...args: unknown[]) => {
          if (calls++ === call) await first();
          return own.apply(target, args);
        };
      },
    });
    return { eventLog, wasReached: () => calls > call };
  }

  const erase = ({ kind, id }: Name, eventLog: EventLog = service.eventLog) =>
    outcome('erased', () =>
      eraseRecord({ ...ports, eventLog }, caller(), catalogEntry(kind), id, {
        reason: 'Request 2026-117',
        withEncounters: kind === 'patient',
      }),
    );

  /** Asks again where read models lag on a busy machine; nothing is erased then. */
  const insistOnErasing = (one: Name, eventLog: EventLog) =>
    eventually(async () => {
      const told = await erase(one, eventLog);
      expect(told).not.toBe('unavailable');
      return told;
    }, SOON_MS);

  /** As an erasure leaves it that is cut off behind its tombstone, until the service goes on with it. */
  const beginErasure = ({ kind, id }: Name) =>
    outcome('begun', () => {
      const { title } = catalogEntry(kind);
      const taking = kind === 'patient' && { with_encounters: true as const };
      const erasure = { kind, record_id: id, reason: 'Request 2026-117', ...taking };
      const stream = recordStream(workspace(), kind, id);
      return appendTombstones(service.eventLog, caller(), stream, title, erasure);
    });

  const hold = (record: Name | undefined, eventLog: EventLog = service.eventLog) => {
    const held = record && { entry: catalogEntry(record.kind), id: record.id };
    return outcome('held', () => addHold(eventLog, caller(), held, REASON));
  };

  /** What came of it, or the code of its refusal. */
  async function outcome(done: string, work: () => Promise<unknown>): Promise<string> {
    try {
      await work();
      return done;
    } catch (error) {
      if (error instanceof ServiceError) return error.code;
      throw error;
    }
  }

  async function create() {
    const patient = { ...samples.patient(), last_name: phi('Lopez') };
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    for (const [kind, body] of [
      ['patient', patient],
      ['patient', { ...patient, email: 'ada@example.org' }],
      ['encounter', encounter],
    ] as const)
      expect((await service.post(`/integration/${catalogEntry(kind).plural}`, body)).status).toBe(200);
    const [ofPatient, ofEncounter] = [
      { kind: 'patient', id: patient.id },
      { kind: 'encounter', id: encounter.id },
    ];
    return { patient: ofPatient, encounter: ofEncounter };
  }

  type Both = Awaited<ReturnType<typeof create>>;
  const fieldsOf = async (one: Name) => {
    const { status, body } = await service.get(pathOf(one));
    const { version: _, created_at: _c, updated_at: _u, ...fields } = body;
    return status === 200 ? fields : status;
  };
  const fieldsOfBoth = async ({ patient, encounter }: Both) => ({
    patient: await fieldsOf(patient),
    encounter: await fieldsOf(encounter),
  });

  /** The record is gone, with its encounter, or there as it was, with its whole history. */
  async function expectKept(isKept: boolean, both: Both, erased: Name, before: Fields) {
    const encounterGoes = !isKept;
    const patientGoes = encounterGoes && erased.kind === 'patient';
    await eventually(
      async () =>
        expect(await fieldsOfBoth(both)).toEqual({
          patient: patientGoes ? 410 : before.patient,
          encounter: encounterGoes ? 410 : before.encounter,
        }),
      SOON_MS,
    );
    if (!isKept) return;
    const { body } = await service.get(`${pathOf(erased)}/history`);
    const [newest] = body.items;
    const outcomes: string[] = body.items.map(({ outcome }: { outcome: string }) => outcome);
    const sent = erased.kind === 'patient' ? ['updated', 'created'] : ['created'];
    if (outcomes.length > sent.length) {
      expect(outcomes).toEqual(['created', 'erased', ...sent]);
      expect(newest.principal).toMatchObject({ type: 'service', id: 'legal-hold' });
    } else expect(outcomes).toEqual(sent);
    expect((await service.get(`${pathOf(erased)}?version=1`)).status).toBe(200);
  }

  /** Whether a record has a tombstone that stands before the last hold of the workspace. */
  async function isErasedBeforeHold({ kind, id }: Name): Promise<boolean> {
    const lastOf = async (stream: string, type: string) => {
      const events = await service.eventLog.readStream(stream, { direction: 'backwards', limit: 10 });
      return events.find((event) => event.type === type)?.position ?? Number.POSITIVE_INFINITY;
    };
    const tombstone = await lastOf(recordStream(workspace(), kind, id), 'RecordErased');
    return tombstone < (await lastOf(holdsStream(workspace()), 'HoldAdded'));
  }

  async function releaseAll() {
    const { holds } = await readHolds(service.eventLog, workspace());
    for (const { id, released } of holds.values())
      if (!released) await releaseHold(service.eventLog, caller(), id, 'closed');
  }

  const cases: [string, (both: Both) => { erased: Name; held: Name | undefined }][] = [
    ['a patient, an encounter', ({ patient, encounter }) => ({ erased: patient, held: encounter })],
    ['an encounter, its patient', ({ patient, encounter }) => ({ erased: encounter, held: patient })],
    ['an encounter, its workspace', ({ encounter }) => ({ erased: encounter, held: undefined })],
  ];

  test.each(cases)(
    'wherever in an erasure of %s comes under hold, what is first in the log counts, and both are told so',
    async (_, namesOf) => {
      for (let call = 0, tooLate = 0; tooLate < AFTERWARDS; call++) {
        await releaseAll();
        const both = await create();
        const { erased, held } = namesOf(both);
        const before = await fieldsOfBoth(both);
        let told = '';
        const { eventLog } = logWith(call, async () => {
          told = await hold(held);
        });
        const erasure = await insistOnErasing(erased, eventLog);
        const isKept = erasure === 'conflict';
        // The others of a workspace, and a patient whose encounter is gone, can be held ever after.
        const isLeft = erased.kind === 'encounter' && !isKept;
        expect([erasure, told]).toEqual(isKept ? ['conflict', 'held'] : ['erased', isLeft ? 'held' : 'gone']);
        if (told === 'held') expect(await isErasedBeforeHold(erased)).toBe(!isKept);
        await expectKept(isKept, both, erased, before);
        tooLate += isKept ? 0 : 1;
      }
      await expectVerified();
    },
    LONG_MS,
  );

  test.each(cases)(
    'wherever in the holding an erasure of %s comes and is cut off, what is first in the log counts',
    async (_, namesOf) => {
      for (let call = 0; ; call++) {
        await releaseAll();
        const both = await create();
        const { erased, held } = namesOf(both);
        const before = await fieldsOfBoth(both);
        const { eventLog, wasReached } = logWith(call, () => beginErasure(erased));
        const told = await hold(held, eventLog);
        if (!wasReached()) break;
        const isKept = told === 'held' && !(await isErasedBeforeHold(erased));
        expect(told).toBe(isKept || erased.kind === 'encounter' ? 'held' : 'gone');
        await expectKept(isKept, both, erased, before);
      }
      await expectVerified();
    },
    LONG_MS,
  );

  async function expectVerified() {
    const env = { ...storesOf(service.config), DATA_DIR: folder };
    const verify = () => runCli(['verify', '--workspace', workspace()], { env });
    await eventually(async () => expect(await verify()).toMatchObject({ code: 0, stderr: '' }), SOON_MS);
  }
});
