import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ErasedVersion, RECORD_ERASED } from '../../src/domain/events/payloads.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { eventLeaf } from '../../src/domain/merkle.ts';
import { formatPosition } from '../../src/modules/eventStream/position.ts';
import { EventReader } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { samples, TestWorkspace } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('what was erased right after it was sent is not sent from memory to whoever reconnects', async () => {
    const { key } = await service.createKey('window', ['write', 'events']);
    const client = service.as(key);
    const workspace = new TestWorkspace(service.workspaceId('window'));
    const staying = await EventReader.open(client);
    await client.post('/integration/payers', samples.payer());
    await staying.count(1);
    // As a comment names it that keeps the connection alive.
    const headers = { 'Last-Event-ID': formatPosition(await service.eventLog.head()) };

    const patient = { ...samples.patient(), last_name: phi('Lopez') };
    const stream = recordStream(workspace.id, 'patient', patient.id);
    const tombstone = (erased: ErasedVersion[]) => {
      const about = { kind: 'patient', record_id: patient.id, reason: 'asked for', part: 1, parts: 1 };
      return workspace.event(
        { ...about, erasure_id: 'e', erased: erased.map((one) => ({ ...one })) },
        RECORD_ERASED,
      );
    };
    const appended = await appendedBy(service, async () => {
      await service.eventLog.appendEach([
        { stream, event: workspace.event(patient, 'PatientUpserted'), expected: 'none' },
        { stream, event: tombstone([]), expected: 0 },
      ]);
    });
    expect(appended).toEqual([
      `window.patient-${patient.id}: PatientUpserted`,
      `window.patient-${patient.id}: RecordErased`,
    ]);
    const told = (reader: EventReader) => reader.events.map(({ type }) => type.split('.')[2]);
    await staying.count(3);
    expect(told(staying)).toEqual(['upserted', 'upserted', 'erased']);
    const [upserted] = await service.eventLog.readStream(stream, { limit: 1 });
    if (upserted === undefined) throw new Error('nothing was appended');
    const { id, position, revision } = upserted;
    await service.eventLog.erase(stream, 1, [{ id, stream, revision, position, leaf: eventLeaf(upserted) }]);

    const again = await EventReader.open(client, '/events', headers);
    await again.count(1);
    expect(told(again)).toEqual(['erased']);
    again.kill();
    staying.kill();
  });
});
