import { expect, test } from 'vitest';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader, eventsOf, pseudonym } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { billedPath, type Claim, freshClaim, inStores, sendClaim, worklist } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy } from '../support/service.ts';
import { type Hook, HookSuite, LONG_MS, webhooksPath } from '../support/webhooks.ts';

const WAIT_MS = 20_000;
const CHANGED = 'chartledger.encounter.readiness_changed.v1';
const BILLED = 'chartledger.encounter.billed.v1';
const ACKNOWLEDGED = 'chartledger.encounter.billing_change_acknowledged.v1';
const ERASED = 'chartledger.encounter.readiness_erased.v1';
const APPLIED = 'chartledger.readiness.rules_applied.v1';

onEmbeddedEngines((start) => {
  const suite = new HookSuite(start);

  const post = async (path: string, body: object) =>
    expect((await suite.client.post(path, body)).status).toBe(200);
  const command = async (...args: string[]) => {
    const workspace = ['--workspace', suite.service.workspaceId(suite.label)];
    expect(await inStores(suite.service, ...args, ...workspace)).toMatchObject({ code: 0, stderr: '' });
  };
  /** The events of a selection, once those that the service appends by itself are there. */
  const stream = async (query: string): Promise<CloudEvent[]> => {
    await worklist(suite.client);
    return eventsOf(await suite.client.get(`/events?${query}`));
  };
  const typesOf = (events: readonly Pick<CloudEvent, 'type'>[]) => events.map(({ type }) => type);
  const subjectOf = ({ encounter }: Claim) => `readiness/${encodeURIComponent(String(encounter.id))}`;

  /** What the endpoint took, once it is so many messages. */
  const taken = async ({ endpoint }: Hook, count: number): Promise<CloudEvent[]> => {
    await eventually(() => expect(endpoint.accepted).toHaveLength(count), WAIT_MS);
    return endpoint.accepted.map(({ body }) => JSON.parse(body));
  };

  const change = async (claim: Claim, kind: keyof Claim, fields: object) => {
    Object.assign(claim[kind], fields);
    await sendClaim(suite.client, claim, kind);
    await worklist(suite.client);
  };

  test(
    'what becomes of an encounter in billing is told on the stream and by webhooks, in the form of each',
    async () => {
      const claim = freshClaim({ encounter: { is_completed: false } });
      const { encounter, payer } = claim;
      const live = await EventReader.open(suite.client, '/events?kinds=readiness');
      const full = await suite.open({ kinds: ['readiness'], payload: 'full' });
      const changes = await suite.open({ types: [CHANGED], payload: 'full' });
      const reference = await suite.open({ kinds: ['readiness'] });
      const deidentified = await suite.open({ kinds: ['readiness'], payload: 'deidentified' });
      const [claim_id, reason] = [phi('claim'), phi('Accepted as it was')];
      const service = suite.service;
      const appended = await appendedBy(service, async () => {
        await sendClaim(suite.client, claim);
        await worklist(suite.client);
        await change(claim, 'encounter', { is_completed: true });
        await change(claim, 'payer', { payer_code: null });
        await post(billedPath(claim), { claim_id });
        await change(claim, 'payer', { name: phi('Elm') });
        await post(`${billedPath(claim)}/acknowledge`, { reason });
        await worklist(suite.client);
      });
      const inLog = `${suite.label}.readiness-${encodeURIComponent(String(encounter.id))}`;
      expect(appended.filter((line) => line.startsWith(inLog))).toEqual([
        `${inLog}: EncounterBilled`,
        `${inLog}: BillingChangeAcknowledged`,
      ]);

      const told = await live.count(6);
      const [, completed] = await stream('kinds=encounter');
      const [, cleared, renamed] = await stream('kinds=payer');
      const ids = { subject: subjectOf(claim), source: `/workspaces/${service.workspaceId(suite.label)}` };
      const causeOf = (
        event: CloudEvent | undefined,
        kind: string,
        { id }: { id?: unknown },
        version = 2,
      ) => ({
        ...{ event_id: event?.id, kind, id, version },
      });
      const encounter_id = encounter.id;
      const rules_version = expect.stringMatching(/^readiness_v\d+\.\w+$/);
      const changed = ['cause', 'from', 'rules', 'rules_version', 'to'];
      const changeTold = (version: number, from: string, to: string, rules: string[], cause: object) => ({
        ...{ ...ids, type: CHANGED },
        data: { version, sent: { encounter_id, from, to, rules, rules_version, cause }, changed },
      });
      const [blocking, both] = [['payer_code_missing'], ['changed_after_billing', 'payer_code_missing']];
      expect(told).toMatchObject([
        changeTold(1, 'not_completed', 'ready', [], causeOf(completed, 'encounter', encounter)),
        changeTold(2, 'ready', 'blocked', blocking, causeOf(cleared, 'payer', payer)),
        {
          ...{ ...ids, type: BILLED },
          data: { version: 3, sent: { encounter_id, claim_id }, changed: ['claim_id', 'versions'] },
        },
        changeTold(4, 'blocked', 'blocked', both, causeOf(renamed, 'payer', payer, 3)),
        {
          ...{ ...ids, type: ACKNOWLEDGED },
          data: { version: 5, sent: { encounter_id, reason }, changed: ['reason', 'versions'] },
        },
        changeTold(6, 'blocked', 'blocked', blocking, causeOf(told[4], 'readiness', encounter, 5)),
      ]);
      expect(told[2]?.data.sent.versions).toContainEqual({
        ...{ part: 'payer', kind: 'payer', id: payer.id, version: 2 },
      });

      const ofReadiness = told.filter(({ type }) => type === CHANGED);
      // The same in pages, whatever selects them.
      expect(await stream('kinds=readiness')).toEqual(told);
      expect(await stream(`types=${CHANGED}&unchanged=skip`)).toEqual(ofReadiness);
      const all = await stream('limit=1000');
      expect(all.filter(({ subject }) => subject === ids.subject)).toEqual(told);
      expect(typesOf(await stream('kinds=encounter')).every((type) => type.endsWith('.upserted.v1'))).toBe(
        true,
      );

      const plain = ({ dataschema: _, ...event }: CloudEvent) => event;
      expect(await taken(full, 6)).toEqual(told.map(plain));
      expect(await taken(changes, 4)).toEqual(ofReadiness.map(plain));
      const hidden = await stream('kinds=readiness&view=deidentified');
      expect(await taken(deidentified, 6)).toEqual(hidden.map(plain));
      expect((await taken(reference, 6)).map(({ data }) => data)).toEqual(
        told.map(({ data: { version, changed } }) => ({ version, outcome: 'updated', changed })),
      );
      await eventually(async () => {
        const [attempt] = await suite.attempts(full.id);
        expect(attempt).toMatchObject({ type: CHANGED, kind: 'encounter', record_id: encounter_id });
        expect(attempt).not.toHaveProperty('version');
      }, WAIT_MS);

      // Nothing that says who it was, but hashes that join with the records.
      const text = JSON.stringify(hidden);
      for (const secret of [encounter_id, payer.id, claim_id, reason, told[1]?.id, cleared?.id]) {
        expect(text).not.toContain(String(secret));
        expect(text).not.toContain(encodeURIComponent(String(secret)));
      }
      const [, ofPayer, thenOfPayer] = await stream('kinds=payer&view=deidentified');
      const [ofEncounter] = await stream('kinds=encounter&view=deidentified');
      const hash = ofEncounter?.data.sent.id;
      expect(hidden[1]).toMatchObject({
        subject: `readiness/${hash}`,
        time: expect.stringMatching(/-01-01T00/),
      });
      expect(hidden.map(({ data }) => data.sent)).toEqual([
        {
          ...{ encounter_id: hash, from: 'not_completed', to: 'ready', rules: [] },
          cause: { event_id: pseudonym, kind: 'encounter', id: hash, version: 2 },
        },
        {
          ...{ encounter_id: hash, from: 'ready', to: 'blocked', rules: blocking },
          cause: { event_id: ofPayer?.id, kind: 'payer', id: ofPayer?.data.sent.id, version: 2 },
        },
        { encounter_id: hash, versions: expect.any(Array) },
        {
          ...{ encounter_id: hash, from: 'blocked', to: 'blocked', rules: both },
          cause: { event_id: thenOfPayer?.id, kind: 'payer', id: ofPayer?.data.sent.id, version: 3 },
        },
        { encounter_id: hash, versions: expect.any(Array) },
        {
          ...{ encounter_id: hash, from: 'blocked', to: 'blocked', rules: blocking },
          cause: { event_id: hidden[4]?.id, kind: 'readiness', id: hash, version: 5 },
        },
      ]);
      live.kill();
    },
    LONG_MS,
  );

  test(
    'of an erased encounter only the erasure is told',
    async () => {
      const claim = freshClaim();
      const id = String(claim.encounter.id);
      const live = await EventReader.open(suite.client, '/events?kinds=readiness');
      const hook = await suite.open({ kinds: ['readiness'], payload: 'full' });
      await sendClaim(suite.client, claim);
      await worklist(suite.client);
      await post(billedPath(claim), { claim_id: phi('claim') });
      const before = [CHANGED, BILLED];
      expect(typesOf(await live.count(2))).toEqual(before);
      expect(typesOf(await taken(hook, 2))).toEqual(before);
      await eventually(async () => expect(await suite.attempts(hook.id)).toHaveLength(2), WAIT_MS);
      await command('records', 'erase', 'encounter', id, '--reason', 'Request 2026-117');

      expect(typesOf(await live.count(3))).toEqual([...before, ERASED]);
      const erasure = { version: 3, sent: { encounter_id: id }, changed: [] };
      expect((await taken(hook, 3))[2]).toMatchObject({ subject: subjectOf(claim), data: erasure });
      await eventually(async () => {
        const attempts = await suite.attempts(hook.id);
        expect(attempts.map(({ type }: { type: string }) => type)).toEqual([ERASED]);
      }, WAIT_MS);

      // Who comes now gets nothing of what was before, neither from the log nor from what was remembered of it.
      expect(await stream('kinds=readiness')).toMatchObject([{ type: ERASED, data: erasure }]);
      const again = await EventReader.open(suite.client, '/events?kinds=readiness');
      expect(typesOf(await again.count(1))).toEqual([ERASED]);
      const [hidden] = await stream('kinds=readiness&view=deidentified');
      expect(hidden).toMatchObject({
        subject: `readiness/${hidden?.data.sent.encounter_id}`,
        data: { version: 3, sent: { encounter_id: pseudonym }, changed: [] },
      });
      for (const payload of ['full', 'deidentified']) {
        const late = await suite.open({ kinds: ['readiness'], payload });
        expect(typesOf(await taken(late, 1))).toEqual([ERASED]);
      }
      const reference = await suite.open({ types: [ERASED] });
      expect((await taken(reference, 1))[0]?.data).toEqual({ version: 3, outcome: 'erased', changed: [] });
      for (const reader of [live, again]) reader.kill();
    },
    LONG_MS,
  );

  test(
    'a change of the rules is told once, with counts, also by a webhook whose endpoint was away',
    async () => {
      const claims = [freshClaim(), freshClaim({ facility: { tax_id: null } })];
      for (const claim of claims) await sendClaim(suite.client, claim);
      await worklist(suite.client);
      const hook = await suite.open({ types: [APPLIED], payload: 'full' });
      hook.endpoint.answer = () => 500;
      for (const choice of ['off', 'default']) {
        await command('readiness', 'set', 'facility_tax_id', choice);
        await worklist(suite.client);
      }
      const states = (ready: number, blocked: number) => ({ ready, ...(blocked > 0 && { blocked }) });
      const events = await stream(`types=${APPLIED}`);
      expect(events).toMatchObject([
        { subject: 'readiness', data: { sent: { before: states(1, 1), after: states(2, 0) } } },
        { subject: 'readiness', data: { sent: { before: states(2, 0), after: states(1, 1) } } },
      ]);
      expect(events.map(({ data }) => data.changed)).toEqual(Array(2).fill(['after', 'before', 'cause']));
      expect(typesOf(await stream('kinds=readiness'))).toEqual([CHANGED, CHANGED, APPLIED, APPLIED]);
      await eventually(() => expect(hook.endpoint.received.length).toBeGreaterThan(0), WAIT_MS);
      hook.endpoint.answer = () => 200;
      await post(`${webhooksPath}/${hook.id}/retry`, {});
      const plain = ({ dataschema: _, ...event }: CloudEvent) => event;
      expect(await taken(hook, 2)).toEqual(events.map(plain));
      const [hidden] = await stream(`types=${APPLIED}&view=deidentified`);
      expect(hidden).toMatchObject({
        subject: 'readiness',
        data: { sent: { cause: pseudonym, before: states(1, 1), after: states(2, 0) } },
      });
    },
    LONG_MS,
  );

  test('who may not read events gets none of these, in no form', async () => {
    const { service, label } = suite;
    const query = `kinds=readiness&types=${CHANGED}`;
    const appended = await appendedBy(service, async () => {
      for (const permissions of [['read:encounter'], ['read', 'write'], ['webhooks']] as const) {
        const as = service.as((await service.createKey(label, [...permissions])).key);
        expect((await as.get(`/events?${query}`)).status).toBe(403);
        for (const payload of ['full', 'deidentified']) {
          const url = 'https://billing.example.com/hooks';
          expect((await as.post(webhooksPath, { url, types: [BILLED], payload })).status).toBe(403);
        }
      }
      const as = service.as((await service.createKey(label, ['events:deidentified', 'webhooks'])).key);
      expect((await as.get(`/events?${query}&view=full`)).status).toBe(403);
      expect((await as.get(`/events?${query}`)).status).toBe(200);
      const bad = await suite.client.get('/events?kinds=encounter&types=chartledger.encounter.billed.v1');
      expect(bad.body.details).toEqual([{ field: 'types', message: 'must be of the kinds in kinds' }]);
    });
    expect(appended.filter((line) => !line.startsWith('access: '))).toEqual([]);
  });
});
