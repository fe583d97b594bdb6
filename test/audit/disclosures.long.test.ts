import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DisclosureTerms } from '../../src/domain/events/payloads.ts';
import type { Disclosure } from '../../src/modules/audit/disclosures.ts';
import type { Permission } from '../../src/modules/auth/permissions.ts';

import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { newEvents, type TestService } from '../support/service.ts';
import {
  createWebhook,
  HookEndpoint,
  memberOf,
  openLoopback,
  patch,
  webhooksPath,
} from '../support/webhooks.ts';

const LONG_MS = 120_000;

const billing = {
  recipient: 'Billing Partners',
  recipient_address: '12 Main St, Omaha',
  purpose: 'payment',
} as const;
const registry = {
  recipient: '=State registry',
  purpose: 'other',
  purpose_statement: 'Required by state law',
} as const;

onEveryEngine((start) => {
  let service: TestService;
  let endpoint: HookEndpoint;
  const [patient, other] = [samples.patient(), samples.patient()];
  const [own, moved] = [phi('encounter'), phi('encounter')];
  const form = documentForm();
  const documentId = form.get('document_id') as string;
  const keys: Record<string, { id: string; client: Client }> = {};
  let webhookId: string;
  let unreachedId: string;

  beforeAll(async () => {
    service = await start(openLoopback);
    endpoint = await HookEndpoint.open();
    const post = async (path: string, body: object) => {
      expect((await service.post(path, body)).status).toBe(200);
    };
    for (const one of [patient, other]) await post('/integration/patients', one);
    await post('/integration/encounters', { id: own, patient_id: patient.id });
    await post('/integration/encounters', { id: moved, patient_id: patient.id });
    await post('/integration/encounters', { id: moved, patient_id: other.id });
    expect((await service.upload(documentsPath(own), form)).status).toBe(200);
    await post(`/integration/encounters/${encodeURIComponent(own)}/billed`, { claim_id: phi('claim') });
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await endpoint.down();
  });

  const clinic = () => service.workspaceId('clinic');
  const cli = async (...args: string[]) => {
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    const result = await runCli([...args, '--workspace', clinic()], { env });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    return result.stdout;
  };
  const report = async (...more: string[]): Promise<Disclosure[]> =>
    JSON.parse(await cli('disclosures', 'patient', patient.id, '--format', 'json', ...more)).disclosures;

  async function keyOf(name: string, permissions: Permission[], terms: DisclosureTerms = {}) {
    const { id, key } = await service.keys.createKey(clinic(), name, permissions, terms);
    keys[name] = { id, client: service.as(key) };
    return service.as(key);
  }
  const idOf = (name: string) => keys[name]?.id;
  const by = (found: Disclosure[], name: string) =>
    found.filter(({ principal }) => principal.id === idOf(name));
  const pathOf = ({ id }: { id: string }) => `/integration/patients/${encodeURIComponent(id)}`;
  const encounterPath = (id: string) => `/integration/encounters/${encodeURIComponent(id)}`;

  describe('to whom data of a patient went', () => {
    let found: Disclosure[];
    beforeAll(async () => {
      const reader = await keyOf('billing', ['read'], billing);
      await reader.get(pathOf(patient));
      await service.keys.updateKey(String(idOf('billing')), { purpose: 'other', recipient_address: null });
      await eventually(async () => {
        await reader.get(`${pathOf(patient)}/history`);
        const last = (await report()).find(({ action }) => action === 'record.history');
        expect(last?.purpose).toBe('other');
      });
      const registryReader = await keyOf('registry', ['read'], registry);
      await registryReader.get(encounterPath(moved));
      await registryReader.get(documentsPath(own, documentId));
      await (await keyOf('lister', ['read'])).get('/integration/patients');
      await (await keyOf('events', ['events'])).get('/events?kinds=patient,document');
      await (await keyOf('claims', ['events'])).get('/events?kinds=readiness');
      await (await keyOf('analytics', ['events:deidentified'])).get('/events');
      const blind = await keyOf('blind', ['read', 'events']);
      await blind.get(pathOf(other));
      await blind.get('/events?kinds=payer');
      await (await keyOf('refused', ['write'])).get(pathOf(patient));
      const maker = await keyOf('maker', ['webhooks', 'events']);
      const hook = await createWebhook(maker, {
        url: endpoint.url,
        payload: 'full',
        start: 'beginning',
        ...billing,
      });
      webhookId = hook.id;
      await eventually(() => expect(endpoint.accepted).toHaveLength(7));
      await cli(
        ...['export', '--format', 'ndjson', '--kind', 'encounter', '--recipient', 'Auditor'],
        '--purpose',
        'operations',
      );
      await cli('export', '--format', 'ndjson', '--kind', 'payer');
      await cli('export', '--format', 'ndjson', '--until', '2020-01-01', '--recipient', 'Nobody');
      const watcher = await keyOf('watcher', ['webhooks', 'events']);
      const away = await HookEndpoint.open();
      await away.down();
      const unreached = await createWebhook(maker, { url: away.url, payload: 'full', start: 'beginning' });
      unreachedId = unreached.id;
      await eventually(async () => {
        const { body } = await watcher.get(`${webhooksPath}/${unreachedId}/attempts`);
        expect(body.items.length).toBeGreaterThanOrEqual(5);
      });
      await maker.delete(`${webhooksPath}/${unreachedId}`);
      found = await report();
    }, LONG_MS);

    test('is told of each access, by name or within a range, and of nobody else', () => {
      expect(by(found, 'lister')).toMatchObject([
        { action: 'record.list', found_by: 'range', what: [{ kind: 'patient', id: patient.id }] },
      ]);
      expect(by(found, 'registry')).toMatchObject([
        {
          action: 'document.download',
          found_by: 'id',
          what: [{ kind: 'document', id: own, document_id: documentId }],
        },
        { action: 'record.read', what: [{ kind: 'encounter', id: moved }] },
      ]);
      expect(by(found, 'events')).toMatchObject([
        {
          action: 'events.read',
          what: [
            { kind: 'patient', id: patient.id, versions: '1' },
            { kind: 'document', id: own, document_id: documentId, versions: '1' },
          ],
        },
      ]);
      expect(by(found, 'claims')).toMatchObject([{ what: [{ kind: 'readiness', id: own, versions: '1' }] }]);
      for (const name of ['blind', 'refused', 'maker']) expect(by(found, name)).toEqual([]);
      const exports = found.filter(({ action }) => action === 'export');
      expect(exports).toMatchObject([
        {
          what: [
            { id: own, versions: '1' },
            { id: moved, versions: '1-2' },
          ],
          status: 'exempt',
          recipient: 'Auditor',
        },
      ]);
    });

    test('does not list a webhook whose endpoint could not be reached', () => {
      const sentTo = found
        .filter(({ action }) => action === 'webhook.sent')
        .map(({ webhook_id }) => webhook_id);
      expect(sentTo).toContain(webhookId);
      expect(sentTo).not.toContain(unreachedId);
    });

    test('is told with the recipient and purpose that were in force then, and plainly where nobody said', () => {
      const purposes = new Set(by(found, 'billing').map(({ action, purpose }) => `${action} ${purpose}`));
      expect(purposes).toContain('record.read payment');
      expect(by(found, 'billing').at(-1)).toMatchObject({ ...billing, status: 'exempt' });
      expect(by(found, 'billing')[0]).toMatchObject({ recipient_address: null, status: 'accountable' });
      expect(by(found, 'registry')[0]).toMatchObject({ ...registry, status: 'accountable', exemption: null });
      const untold = { recipient: null, purpose: null, status: 'purpose_not_given' };
      expect(by(found, 'lister')).toMatchObject([untold]);
      expect(by(found, 'events')).toMatchObject([untold]);
      expect(by(found, 'analytics')).toMatchObject([{ status: 'deidentified', view: 'deidentified' }]);
      const sent = found.filter(({ webhook_id }) => webhook_id === webhookId);
      expect(sent[0]).toMatchObject({ ...billing, status: 'exempt', exemption: '45 CFR 164.528(a)(1)(i)' });
    });

    test(
      'what a webhook is sent after its purpose was changed counts under the new one',
      async () => {
        const maker = keys.maker?.client as Client;
        const terms = { ...registry, recipient_address: null };
        expect((await patch(maker, memberOf({ id: webhookId }), terms)).body).toMatchObject(terms);
        let version: unknown;
        const sentTo = async () => (await report()).filter(({ webhook_id }) => webhook_id === webhookId);
        await eventually(async () => {
          version = (await service.post('/integration/patients', { ...patient, city: phi('city') })).body
            .version;
          const sent = await sentTo();
          expect(sent[0]).toMatchObject({ ...registry, status: 'accountable' });
          expect(sent.at(-1)).toMatchObject({ ...billing, status: 'exempt' });
          const underBilling = sent.filter(({ purpose }) => purpose === billing.purpose);
          expect(new Set(underBilling.flatMap(({ what }) => what.map(({ kind }) => kind)))).toEqual(
            new Set(['patient', 'encounter', 'document', 'readiness']),
          );
        }, LONG_MS);
        await eventually(async () => {
          expect((await sentTo())[0]?.what.at(-1)?.versions).toMatch(new RegExp(`\\b${version}$`));
        }, LONG_MS);
        expect((await maker.delete(memberOf({ id: webhookId }))).status).toBe(200);
      },
      LONG_MS,
    );

    test('an accounting tells of disclosures alone, marks what is exempt, and can be summed up', async () => {
      const accounting = await report('--accounting');
      const statuses = new Set(accounting.map(({ status }) => status));
      expect([...statuses].sort()).toEqual(['accountable', 'exempt', 'purpose_not_given']);
      const owed = await report('--omit-exempt');
      expect(owed).toEqual(accounting.filter(({ status }) => status !== 'exempt'));
      const csv = await cli('disclosures', 'patient', patient.id, '--accounting', '--format', 'csv');
      const lines = csv.trim().split('\r\n');
      expect(lines).toHaveLength(accounting.length + 1);
      expect(lines[0]).toMatch(
        /^disclosed_at,recipient,recipient_address,description,purpose,purpose_statement,exempt,exemption,what,/,
      );
      expect(csv).toContain(",'=State registry,not given,");
      expect(csv).toContain(',not given,not given,');
      expect(csv).toContain(',yes,45 CFR 164.528(a)(1)(i),');
      expect(csv).not.toContain(String(patient.last_name));

      const summary = JSON.parse(
        await cli('disclosures', 'patient', patient.id, '--summary', '--format', 'json'),
      ).disclosures;
      const ofRegistry = accounting.filter(({ recipient }) => recipient === registry.recipient);
      expect(summary.filter(({ recipient }: Disclosure) => recipient === registry.recipient)).toEqual([
        expect.objectContaining({
          ...registry,
          disclosures: ofRegistry.length,
          first_disclosed_at: ofRegistry.at(-1)?.disclosed_at,
          last_disclosed_at: ofRegistry[0]?.disclosed_at,
          what: ofRegistry.at(-1)?.what,
        }),
      ]);
      const total = summary.reduce(
        (sum: number, { disclosures }: { disclosures: number }) => sum + disclosures,
        0,
      );
      expect(total).toBe(accounting.length);
    });

    test('a period limits it; an accounting without one goes six years back, from the beginning of that day', async () => {
      const all = await report('--accounting');
      const middle = all[2] as Disclosure;
      const later = await report('--accounting', '--since', middle.disclosed_at);
      const earlier = await report('--accounting', '--until', middle.disclosed_at);
      expect([...later, ...earlier]).toEqual(all);
      const whole = JSON.parse(
        await cli('disclosures', 'patient', patient.id, '--accounting', '--format', 'json'),
      );
      const today = new Date().toISOString();
      expect(whole).toMatchObject({
        form: 'accounting',
        workspace: clinic(),
        patient_id: patient.id,
        from: `${Number(today.slice(0, 4)) - 6}${today.slice(4, 10)}T00:00:00.000Z`,
        to: null,
      });
    });

    test('each report is in the audit trail, and so in the next one', async () => {
      const events = await newEvents(service, () => report('--accounting'));
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        [
          'AccessRecorded',
          {
            action: 'record.disclosures',
            kind: 'patient',
            record_id: patient.id,
            query: { form: 'accounting', from: expect.any(String), format: 'json' },
          },
        ],
      ]);
      const [last] = await report();
      expect(last).toMatchObject({ event_id: events[0]?.id, status: 'internal_use' });
    });

    test(
      'all of it is told after the patient and encounters are erased, also from read models made anew',
      async () => {
        const before = await report();
        await cli('records', 'erase', 'encounter', moved, '--reason', 'Sent by mistake');
        await cli(
          'records',
          'erase',
          'patient',
          patient.id,
          '--with-encounters',
          '--reason',
          'Request 2026-117',
        );
        await cli('export', '--format', 'ndjson', '--kind', 'encounter');
        const toldAgain = async () => {
          const told = await report();
          return told.slice(-before.length).map(({ what, event_id, status }) => ({ what, event_id, status }));
        };
        const expected = before.map(({ what, event_id, status }) => ({ what, event_id, status }));
        expect(await toldAgain()).toEqual(expected);
        const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
        expect(await runCli(['projections', 'rebuild', 'records'], { env })).toMatchObject({ code: 0 });
        expect(await runCli(['projections', 'rebuild', 'documents'], { env })).toMatchObject({ code: 0 });
        expect(await toldAgain()).toEqual(expected);
      },
      LONG_MS,
    );
  });

  test('a patient that never was has no report, and no event says that one was made', async () => {
    const events = await newEvents(service, async () => {
      const args = ['disclosures', 'patient', 'nobody', '--workspace', clinic(), '--format', 'csv'];
      const { code, stderr } = await runCli(args, { env: storesOf(service.config) });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^Patient .*not/) });
    });
    expect(events).toEqual([]);
  });
});
