import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { eraseRecord, erasureOf, type RecordedErasure } from '../../src/modules/erasure/erase.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { untilPurged } from '../../src/modules/erasure/purge.ts';
import { appendTombstones, takenWith } from '../../src/modules/erasure/tombstones.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { eraserIn, openErasurePorts } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { newEvents, type TestService } from '../support/service.ts';

/** More than are worked on side by side. */
const ENCOUNTERS = 40;
const REASON = 'Request 2026-117';

onSharedService((start) => {
  let service: TestService;
  let ports: ErasurePorts;
  let close: () => Promise<unknown>;
  beforeAll(async () => {
    service = await start();
    ({ ports, close } = await openErasurePorts(service));
  });
  afterAll(async () => {
    await close();
    await service.stop();
  });

  /** A patient with that many encounters, and a document of the first one. */
  async function createPatient(encounters: number) {
    const patient = { ...samples.patient(), last_name: phi('Lopez') };
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
    const ids = Array.from({ length: encounters }, () => phi('encounter'));
    for (const id of ids) {
      const visit = { id, patient_id: patient.id };
      expect((await service.post('/integration/encounters', visit)).status).toBe(200);
    }
    const form = documentForm({ document_id: phi('document') });
    for (const id of ids.slice(0, 1))
      expect((await service.upload(documentsPath(id), form)).status).toBe(200);
    // An erasure is refused while read models lag.
    await eventually(async () => expect((await service.get('/integration/patients')).status).toBe(200));
    return patient.id;
  }

  /** Erases a patient with its encounters; returns what was asked of the log and of checkpoints, in order. */
  async function callsOfErasure(id: string) {
    const calls: string[] = [];
    const noting = <Port extends object>(
      port: Port,
      of: (name: string, args: unknown[]) => string | undefined,
    ) =>
      new Proxy(port, {
        get(target, name) {
          const own = Reflect.get(target, name);
          if (typeof own !== 'function') return own;
          return (...args: unknown[]) => {
            const call = of(String(name), args);
            if (call) calls.push(call);
            return own.apply(target, args);
          };
        },
      });
    const eventLog = noting<EventLog>(ports.eventLog, (name, args) => {
      if (name === 'erase') return 'remove';
      if (name === 'head') return 'wait';
      return name === 'append' ? String((args[1] as { type: string }).type) : undefined;
    });
    const options = { reason: REASON, withEncounters: true };
    const { tombstones, isComplete } = await eraseRecord(
      { ...ports, eventLog },
      eraserIn(service),
      catalogEntry('patient'),
      id,
      options,
    );
    expect(isComplete).toBe(true);
    return { calls, tombstones };
  }

  test('a patient is erased with all tombstones first, and read models are awaited as often for many encounters as for one', async () => {
    const [one, many] = [await createPatient(1), await createPatient(ENCOUNTERS)];
    const erasureOfOne = await callsOfErasure(one);
    const { calls, tombstones } = await callsOfErasure(many);
    const types = tombstones.map(({ type }) => type);
    expect(types).toEqual([...Array(ENCOUNTERS + 1).fill('RecordErased'), 'DocumentErased']);
    expect(calls.filter((call) => call.endsWith('Erased'))).toEqual(types);
    const lastTombstone = calls.lastIndexOf('DocumentErased');
    expect(calls.slice(0, lastTombstone)).not.toContain('remove');
    expect(calls.slice(lastTombstone).filter((call) => call === 'remove')).toHaveLength(ENCOUNTERS + 2);
    const waits = (all: string[]) => all.filter((call) => call === 'wait').length;
    expect(waits(calls)).toBe(waits(erasureOfOne.calls));
  });

  test('one that was cut off behind its first tombstone is finished by the service, and its bytes are purged up to the last', async () => {
    const id = await createPatient(2);
    const stream = recordStream(service.workspaceId('clinic'), 'patient', id);
    const erasure = { kind: 'patient', record_id: id, reason: REASON, with_encounters: true as const };
    let last = 0;
    const events = await newEvents(service, async () => {
      await appendTombstones(service.eventLog, eraserIn(service), stream, 'Patient', erasure);
      await eventually(async () => {
        const [document] = await service.eventLog.readStream(stream, { limit: 1 });
        expect(document?.type).toBe('RecordErased');
        last = await service.eventLog.head();
      });
    });
    expect(events.map(({ type }) => type)).toEqual([
      'RecordErased',
      'RecordErased',
      'RecordErased',
      'DocumentErased',
    ]);
    await untilPurged(ports, last);
  });

  const streamOf = (kind: string, id: string) => recordStream(service.workspaceId('clinic'), kind, id);
  const streamsOf = (erasure: RecordedErasure | undefined) =>
    erasure?.tombstones.map(({ stream }) => stream).sort();

  test('one whose tombstones are all there, but nothing is removed, is complete only once everything is', async () => {
    const id = await createPatient(1);
    const caller = eraserIn(service);
    const encounterId = await encounterOf(id);
    const taking = { kind: 'patient', record_id: id, reason: REASON, with_encounters: true } as const;
    const taken = {
      kind: 'encounter',
      record_id: encounterId,
      reason: REASON,
      with_patient: true,
      patient_id: id,
    } as const;
    const [patient, encounter] = [streamOf('patient', id), streamOf('encounter', encounterId)];
    const removed = new Set<string>();
    const eventLog = new Proxy(ports.eventLog, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        return (...args: unknown[]) => {
          if (name === 'erase') removed.add(String(args[0]));
          return own.apply(target, args);
        };
      },
    });
    const events = await newEvents(service, async () => {
      await appendTombstones(service.eventLog, caller, patient, 'Patient', taking);
      await appendTombstones(service.eventLog, caller, encounter, 'Encounter', taken);
      const erasure = await eventually(async () => {
        const found = await erasureOf({ ...ports, eventLog }, patient);
        expect(found?.isComplete).toBe(true);
        return found;
      });
      const streams = streamsOf(erasure) ?? [];
      expect(streams).toHaveLength(3);
      expect(streams).toEqual(expect.arrayContaining([patient, encounter]));
      expect([...removed].sort()).toEqual(streams);
    });
    expect(events.map(({ type }) => type)).toEqual(['RecordErased', 'RecordErased', 'DocumentErased']);
  });

  test('of what one request erases, each patient has only what went with it', async () => {
    const [first, second] = [await createPatient(1), await createPatient(1)];
    const [own, others] = [await encounterOf(first), await encounterOf(second)];
    const moved = phi('encounter');
    const alone = phi('encounter');
    const third = await createPatient(0);
    for (const [id, patient_id] of [
      [moved, first],
      [moved, second],
      [alone, third],
    ])
      expect((await service.post('/integration/encounters', { id, patient_id })).status).toBe(200);
    const caller = eraserIn(service);
    const erase = (kind: string, id: string) =>
      eventually(async () => {
        const options = { reason: REASON, withEncounters: kind === 'patient' };
        const { isComplete } = await eraseRecord(ports, caller, catalogEntry(kind), id, options);
        expect(isComplete).toBe(true);
      });
    const events = await newEvents(service, async () => {
      await erase('patient', first);
      await erase('patient', second);
      await erase('encounter', alone);
    });
    expect(events).toHaveLength(8);
    const erasureOfPatient = async (id: string) =>
      streamsOf(await erasureOf(ports, streamOf('patient', id)))?.filter(
        (stream) => !stream.includes('.document-'),
      );
    expect(await erasureOfPatient(first)).toEqual([streamOf('encounter', own), streamOf('patient', first)]);
    expect(await erasureOfPatient(second)).toEqual(
      [streamOf('encounter', others), streamOf('encounter', moved), streamOf('patient', second)].sort(),
    );
  });

  test('tombstones of earlier versions, which do not name the patient, go with the patient before them', async () => {
    const [first, second] = [await createPatient(1), await createPatient(1)];
    const caller = eraserIn(service);
    const tombstone = async (kind: string, record_id: string, how: object) => {
      const erasure = { kind, record_id, reason: REASON, ...how };
      await appendTombstones(service.eventLog, caller, streamOf(kind, record_id), 'Record', erasure);
    };
    const patients = [];
    for (const id of [first, second]) patients.push({ id, encounterId: await encounterOf(id) });
    for (const { id, encounterId } of patients) {
      await tombstone('patient', id, {});
      await tombstone('encounter', encounterId, { with_patient: true });
    }
    for (const { id, encounterId } of patients) {
      const taken = await takenWith(service.eventLog, await lastOf(streamOf('patient', id)));
      expect(taken[0]?.stream).toBe(streamOf('encounter', encounterId));
      expect(taken.filter(({ type }) => type === 'RecordErased')).toHaveLength(1);
    }
  });

  const lastOf = async (stream: string) =>
    (await service.eventLog.readStream(stream, { direction: 'backwards', limit: 1 }))[0] as RecordedEvent;

  /** The only encounter of a patient. */
  async function encounterOf(patientId: string): Promise<string> {
    const { body } = await service.get(`/integration/encounters?patient_id=${patientId}`);
    return body.items[0].id;
  }
});
