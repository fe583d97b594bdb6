import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createEncounter, documentForm, documentsPath, paths, pdf, samples } from '../support/samples.ts';
import {
  logLines,
  newEvents,
  openConnection,
  rawRequest,
  startTestService,
  statusesOf,
  type TestService,
} from '../support/service.ts';

/** More than the buffers between a service and its client take. */
const SIZE = 16 * 1024 * 1024;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({}, { httpTimes: { headers: 10_000, request: 10_000, stalled: 500 } });
});
afterAll(() => service.stop());

/** Opens a connection for a GET request. */
function get(path: string, key = service.key ?? '', headers: Record<string, string> = {}) {
  return openConnection(service.url, rawRequest('GET', path, { 'x-api-key': key, ...headers }));
}

test('a client that accepts nothing more of a download is disconnected; a quiet event stream goes on', async () => {
  const encounter = await createEncounter(service);
  const path = documentsPath(encounter, 'scan');
  await service.upload(
    documentsPath(encounter),
    documentForm({ document_id: 'scan', content: pdf('x'.repeat(SIZE)) }),
  );
  const downloads = () => logLines('/documents/:documentId"').length;
  const { key } = await service.createKey('clinic', ['events']);
  const live = get('/events', key, { accept: 'text/event-stream' });
  await eventually(() => expect(statusesOf(live.received())).toEqual([200]));
  const before = downloads();

  const added = await newEvents(service, async () => {
    const { socket, received, closed } = get(path);
    socket.pause();
    await eventually(() => expect(downloads()).toBe(before + 1));
    socket.resume();
    const whole = await closed();
    expect(statusesOf(received())).toEqual([200]);
    expect(whole.length).toBeLessThan(SIZE);
  });
  // The stream's own accesses are recorded when they are.
  const actions = added.map(({ data }) => data.action).filter((action) => action !== 'events.sent');
  expect(actions).toEqual(['document.download']);

  const payer = samples.payer();
  await service.post(paths.payer, payer);
  await eventually(() => expect(live.received()).toContain(payer.id));
  live.socket.destroy();
});

test('a client that reads gets all of it', async () => {
  const encounter = await createEncounter(service);
  const content = pdf('y'.repeat(SIZE));
  await service.upload(documentsPath(encounter), documentForm({ document_id: 'scan', content }));
  const answer = await service.get(documentsPath(encounter, 'scan'));
  expect(answer.status).toBe(200);
  expect(answer.bytes.equals(content)).toBe(true);
});
