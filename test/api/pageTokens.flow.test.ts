import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { documentForm, documentsPath, paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';
import { createWebhook, webhooksPath } from '../support/webhooks.ts';

/** A list with more than one page, as one of the API's callers reads it. */
interface List {
  name: string;
  client: Client;
  path: string;
  /** Set for a search. */
  body?: object;
}

/** Every token is sent to every other list. */
const LONG_MS = 240_000;

onEmbeddedEngines(() => {
  let service: TestService;
  let lists: List[];
  beforeAll(async () => {
    service = await sharedService();
    lists = [...(await listsOf('one')), ...(await listsOf('other'))];
  });
  afterAll(() => service.stop());

  async function listsOf(label: string): Promise<List[]> {
    const { key } = await service.createKey(label, ['read', 'write', 'webhooks', 'events']);
    const client = service.as(key);
    const accept = async (path: string, body: object) => {
      expect((await client.post(path, body)).status).toBe(200);
    };
    const [payer, otherPayer] = [samples.payer(), samples.payer()];
    const patients = [samples.patient(), samples.patient()];
    const encounters = patients.flatMap(({ id }) => [samples.encounter(id), samples.encounter(id)]);
    for (const one of [payer, otherPayer, payer, otherPayer]) await accept(paths.payer, one);
    for (const one of patients) {
      await accept(paths.patient, { ...one, primary_insurance: { payer_id: payer.id }, state: 'NE' });
    }
    for (const one of encounters) await accept(paths.encounter, { ...one, is_completed: true });
    for (const id of [encounters[0]?.id as string, encounters[1]?.id as string]) {
      for (const document_id of ['scan', 'scan', 'report']) {
        expect((await client.upload(documentsPath(id), documentForm({ document_id }))).status).toBe(200);
      }
    }
    for (let count = 0; count < 2; count += 1) {
      await createWebhook(client);
      expect((await client.post(paths.payer, {})).status).toBe(400);
      expect((await client.post(paths.provider, {})).status).toBe(400);
    }
    const list = (name: string, path: string, body?: object): List => ({
      ...{ name: `${name} of ${label}`, client, path },
      ...(body !== undefined && { body }),
    });
    const [mine, hers] = encounters.map(({ id }) => documentsPath(id)) as [string, string];
    return [
      list('payers', `${paths.payer}?`),
      list('payers, last changed first', `${paths.payer}?sort=-updated_at&`),
      list('patients', `${paths.patient}?`),
      list('encounters', `${paths.encounter}?`),
      list('encounters of a patient', `${paths.encounter}?patient_id=${patients[0]?.id}&`),
      list('encounters of another', `${paths.encounter}?patient_id=${patients[1]?.id}&`),
      list('versions of a payer', `${paths.payer}/${payer.id}/history?`),
      list('versions of another', `${paths.payer}/${otherPayer.id}/history?`),
      list('documents', `${mine}?`),
      list('documents of another encounter', `${hers}?`),
      list('versions of a document', `${mine}/scan/history?`),
      list('versions of a document of another encounter', `${hers}/scan/history?`),
      list('worklist', '/integration/readiness?'),
      list('worklist of blocked encounters', '/integration/readiness?state=blocked&'),
      list('webhooks', `${webhooksPath}?`),
      list('refused requests', '/integration/requests?'),
      list('refused requests of a code', '/integration/requests?code=validation_failed&'),
      list('search', '/integration/search', { q: 'Lopez' }),
      list('search for another', '/integration/search', { q: 'Aetna' }),
      list('search for patients', '/integration/search', { q: 'Lopez', kind: 'patient' }),
    ];
  }

  function read({ client, path, body }: List, token?: string) {
    if (body === undefined) return client.get(`${path}limit=1${token ? `&page_token=${token}` : ''}`);
    return client.post(path, { ...body, limit: 1, ...(token && { page_token: token }) });
  }

  test(
    'a page token is valid for the list that gave it, and for no other',
    async () => {
      const tokens = new Map<string, string>();
      for (const list of lists) {
        const { status, body } = await read(list);
        expect([list.name, status, typeof body.next_page_token]).toEqual([list.name, 200, 'string']);
        expect((await read(list, body.next_page_token)).status).toBe(200);
        tokens.set(list.name, body.next_page_token);
      }
      const appended = await appendedBy(service, async () => {
        const accepted: string[] = [];
        for (const list of lists) {
          for (const [name, token] of tokens) {
            if (name === list.name) continue;
            const { status, body } = await read(list, token);
            if (status === 400) expect(body.details).toMatchObject([{ field: 'page_token' }]);
            else accepted.push(`${list.name} took a token of ${name}`);
          }
        }
        expect(accepted).toEqual([]);
      });
      expect(appended).toEqual([]);
    },
    LONG_MS,
  );

  test('a page token that lost, gained or changed a character is refused', async () => {
    const appended = await appendedBy(service, async () => {
      const accepted: string[] = [];
      for (const list of lists.slice(0, lists.length / 2)) {
        const token = (await read(list)).body.next_page_token as string;
        const last = token.length - 1;
        const damaged = [
          ...[token.slice(0, -1), token.slice(1), token.slice(0, 4) + token.slice(5)],
          ...[`${token}A`, `${token}=`, `${token}.`, `0${token}`, `1${token}`, ` ${token}`],
          // The decoder skips the last bits of a text whose length is no multiple of three bytes.
          ...['A', 'B', 'E', 'Q', 'g', 'w', '-'].map((other) => token.slice(0, last) + other),
          ...[`${token.slice(0, 9)}.${token.slice(9)}`, token.toUpperCase()],
        ].filter((one) => one !== token);
        for (const one of damaged) {
          const { status, body } = await read(list, encodeURIComponent(one));
          if (status === 400) expect(body.details).toMatchObject([{ field: 'page_token' }]);
          else accepted.push(`${list.name} took ${one} for ${token}`);
        }
      }
      expect(accepted).toEqual([]);
    });
    expect(appended).toEqual([]);
  });
});
