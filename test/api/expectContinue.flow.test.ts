import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import {
  createEncounter,
  documentForm,
  documentLine,
  documentsPath,
  paths,
  samples,
} from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  appendedBy,
  openConnection,
  rawRequest,
  sharedService,
  statusesOf,
  type TestService,
} from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  /** Sends the head of a request whose body waits to be asked for. */
  function ask(path: string, length: number, headers: Record<string, string>) {
    const head = { 'x-api-key': service.key ?? '', 'content-length': String(length), expect: '100-continue' };
    return openConnection(service.url, rawRequest('POST', path, { ...head, ...headers }));
  }

  test('the body of an upsert is asked for after the checks', async () => {
    const payer = samples.payer();
    const body = JSON.stringify(payer);
    const appended = await appendedBy(service, async () => {
      const { socket, received } = ask(paths.payer, body.length, { 'content-type': 'application/json' });
      await eventually(() => expect(statusesOf(received())).toEqual([100]));
      socket.write(body);
      await eventually(() => expect(statusesOf(received())).toEqual([100, 200]));
      socket.destroy();
    });
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  });

  test('the file of an upload is asked for after the checks', async () => {
    const encounter = await createEncounter(service);
    const encoded = new Response(documentForm({ document_id: 'report-1' }));
    const body = Buffer.from(await encoded.arrayBuffer());
    const type = { 'content-type': encoded.headers.get('content-type') ?? '' };
    const appended = await appendedBy(service, async () => {
      const { socket, received } = ask(documentsPath(encounter), body.length, type);
      await eventually(() => expect(statusesOf(received())).toEqual([100]));
      socket.write(body);
      await eventually(() => expect(statusesOf(received())).toEqual([100, 200]));
      socket.destroy();
    });
    expect(appended).toEqual([documentLine(encounter, 'report-1')]);
  });

  test.each([
    ['without a key', 401, paths.payer, 2, { 'x-api-key': '', 'content-type': 'application/json' }],
    ['of another type', 415, paths.payer, 2, { 'content-type': 'text/plain' }],
    ['too large', 413, paths.payer, 2_000_000, { 'content-type': 'application/json' }],
    [
      'for nobody',
      404,
      documentsPath(phi('nobody')),
      2,
      { 'content-type': 'multipart/form-data; boundary=x' },
    ],
    ['to nowhere', 404, '/nowhere', 2, {}],
  ])(
    'a body %s is never asked for: %i, and the connection is closed',
    async (_, status, path, length, headers) => {
      const appended = await appendedBy(service, async () => {
        const received = await ask(path, length, headers as Record<string, string>).closed();
        expect(statusesOf(received)).toEqual([status]);
        expect(received).toContain('Connection: close');
      });
      expect(appended).toEqual([]);
    },
  );
});
