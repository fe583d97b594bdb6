import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AuditEntry, spanNames, spanNumber, sumTallies } from '../../projections/auditAggregation.ts';
import { auditModel, ENTRIES_A_CHUNK } from '../../projections/auditTrail.ts';
import { INSTALLATION } from '../../src/domain/events/streams.ts';
import { recordAccess } from '../../src/modules/audit/recordAccess.ts';
import {
  type AuditFilter,
  lastUses,
  readAuditTrail,
  readTallies,
  wholeAuditTrail,
} from '../../src/modules/audit/trail.ts';
import { encodeToken } from '../../src/modules/records/queries/paging.ts';
import { ServiceError } from '../../src/platform/errors.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, readAll, type TestService } from '../support/service.ts';

const MOST_TRIES = 15;

onSharedService((start) => {
  let service: TestService;
  let readModels: ReadModels;
  beforeAll(async () => {
    service = await start();
    readModels = await openReadModels(service.config.readModelUrl);
    // The projector of a service that has just started may still be on its way.
    await eventually(() => trail('clinic'), 30_000);
  });
  afterAll(async () => {
    await readModels.close();
    await service.stop();
  });

  const ports = () => ({ eventLog: service.eventLog, readModels });
  /** Asks again for a trail that lags, a few times, as callers do. */
  const trail = async (label: string, filter: AuditFilter = {}, limit = 100, pageToken?: string) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await readAuditTrail(ports(), service.workspaceId(label), filter, { limit, pageToken });
      } catch (error) {
        const lags = error instanceof ServiceError && error.code === 'unavailable';
        if (!lags || tries === MOST_TRIES) throw error;
      }
    }
  };
  const entries = async (label: string, filter?: AuditFilter) => (await trail(label, filter)).items;

  async function whole(label: string, filter: AuditFilter = {}): Promise<AuditEntry[]> {
    const all: AuditEntry[] = [];
    for await (const some of await wholeAuditTrail(ports(), service.workspaceId(label), filter))
      all.push(...some);
    return all;
  }

  /** A client for a workspace of its own, whose key may write and read. */
  async function open(label: string) {
    const created = await service.createKey(label);
    return { client: service.as(created.key), keyId: created.id };
  }

  async function upsertMany(client: TestService | ReturnType<TestService['as']>, count: number) {
    for (let sent = 0; sent < count; sent += 25) {
      const wave = Math.min(25, count - sent);
      await Promise.all(
        Array.from({ length: wave }, () => client.post('/integration/payers', samples.payer())),
      );
    }
  }

  test('shows who did what to what, from where, and the outcome, newest first', async () => {
    const { client, keyId } = await open('told');
    const agent = { 'user-agent': 'emr-connector/4.2' };
    const payer = samples.payer();
    await client.post('/integration/payers', payer, agent);
    const read = await client.get(`/integration/payers/${payer.id}`, agent);
    const refused = await client.post('/integration/payers', { id: payer.id }, agent);
    const principal = { type: 'api_key', id: keyId };
    const about = {
      principal,
      clientIp: '127.0.0.1',
      userAgent: 'emr-connector/4.2',
      kind: 'payer',
      id: payer.id,
    };
    const operator = { type: 'operator', id: 'test' };
    const common = {
      position: expect.any(Number),
      eventId: expect.any(String),
      recordedAt: expect.any(String),
    };
    expect(await entries('told')).toEqual([
      {
        ...common,
        ...about,
        eventId: refused.headers['request-id'],
        type: 'AccessRecorded',
        action: 'request.refused',
        code: 'validation_failed',
        method: 'POST',
        route: '/integration/payers',
        status: 400,
        fields: ['name'],
      },
      {
        ...common,
        ...about,
        eventId: read.headers['request-id'],
        type: 'AccessRecorded',
        action: 'record.read',
      },
      { ...common, ...about, type: 'PayerUpserted', version: 1 },
      {
        ...common,
        type: 'ApiKeyCreated',
        principal: operator,
        requestId: expect.any(String),
        kind: 'api_key',
        id: keyId,
      },
      {
        ...common,
        type: 'WorkspaceCreated',
        principal: operator,
        requestId: expect.any(String),
        kind: 'workspace',
        id: service.workspaceId('told'),
      },
    ]);
  });

  describe('finds by', () => {
    let keyId: string;
    let patient: string;
    let encounter: string;
    let document: string;
    beforeAll(async () => {
      const opened = await open('found');
      keyId = opened.keyId;
      patient = phi('patient');
      document = phi('document');
      encounter = await createEncounter(opened.client);
      // The same id for two kinds: neither is found for the other.
      await opened.client.post('/integration/payers', { ...samples.payer(), id: patient });
      await opened.client.post('/integration/patients', { ...samples.patient(), id: patient });
      await opened.client.upload(documentsPath(encounter), documentForm({ document_id: document }));
      await opened.client.get(`/integration/patients/${patient}`);
      await opened.client.get(`/integration/patients/${phi('patient')}`);
      await upsertMany(opened.client, 2 * ENTRIES_A_CHUNK);
    });

    const found = async (filter: AuditFilter) =>
      (await entries('found', filter)).map(({ action, type }) => action ?? type);

    test('key', async () => {
      expect(
        new Set((await entries('found', { principal: keyId })).map(({ principal }) => principal.id)),
      ).toEqual(new Set([keyId]));
      expect(await found({ principal: 'test' })).toEqual(['ApiKeyCreated', 'WorkspaceCreated']);
      expect(await found({ principal: 'key_of_nobody' })).toEqual([]);
    });

    test('record id, kind and action', async () => {
      expect(await found({ id: patient })).toEqual(['record.read', 'PatientUpserted', 'PayerUpserted']);
      expect(await found({ id: patient, kind: 'payer' })).toEqual(['PayerUpserted']);
      expect(await found({ kind: 'document' })).toEqual(['DocumentUploaded']);
      expect(await entries('found', { id: encounter, kind: 'document' })).toMatchObject([
        { documentId: document, version: 1 },
      ]);
      expect(await found({ action: 'record.read' })).toEqual(['record.read']);
      expect(await found({ id: keyId })).toEqual(['ApiKeyCreated']);
    });

    test('outcome', async () => {
      expect(await found({ outcome: 'refused' })).toEqual(['request.refused']);
      const accepted = await whole('found', { outcome: 'accepted' });
      expect(accepted).toHaveLength((await whole('found')).length - 1);
    });

    test('time', async () => {
      const all = await whole('found');
      const times = [...new Set(all.map(({ recordedAt }) => recordedAt))];
      for (const from of [times[0], times[Math.floor(times.length / 2)], times.at(-1)] as string[]) {
        expect(await whole('found', { from })).toEqual(all.filter(({ recordedAt }) => recordedAt >= from));
        expect(await whole('found', { to: from })).toEqual(all.filter(({ recordedAt }) => recordedAt < from));
      }
      const [to, from] = [times[1] as string, times.at(-2) as string];
      expect(await whole('found', { from, to })).toEqual(
        all.filter(({ recordedAt }) => recordedAt >= from && recordedAt < to),
      );
    });

    test('workspace alone', async () => {
      expect(await entries('other', { id: patient })).toEqual([]);
      expect(await trail('nowhere')).toEqual({ items: [], next_page_token: null, lookedBackTo: null });
    });
  });

  test.each([{}, { kind: 'payer' }] as AuditFilter[])(
    'pages of %j neither skip nor repeat an entry while new ones arrive',
    async (filter) => {
      const { client } = await open('paged');
      await upsertMany(client, 2 * ENTRIES_A_CHUNK + 20);
      const before = await whole('paged', filter);
      const paged: AuditEntry[] = [];
      for (let token: string | undefined; ; ) {
        const [page] = await Promise.all([trail('paged', filter, 7, token), upsertMany(client, 3)]);
        paged.push(...page.items);
        if (page.next_page_token === null) break;
        token = page.next_page_token;
      }
      const known = new Set(before.map(({ eventId }) => eventId));
      expect(paged.filter(({ eventId }) => known.has(eventId))).toEqual(before);
      expect(new Set(paged.map(({ eventId }) => eventId)).size).toBe(paged.length);
    },
  );

  test('a time before the first entry has none, and no further page', async () => {
    const { client } = await open('before');
    await upsertMany(client, ENTRIES_A_CHUNK + 20);
    const page = await trail('before', { to: '2020-01-01T00:00:00.000Z' }, 7);
    expect([page.items, page.next_page_token]).toEqual([[], null]);
  });

  test('what concerns no single workspace is in the trail of the installation', async () => {
    const principal = { type: 'user' as const, id: phi('usr') };
    const caller = { workspace: INSTALLATION, principal, requestId: uuidv7(), clientIp: '192.0.2.7' };
    await recordAccess(service.eventLog, caller, { action: 'sign_in' });
    await recordAccess(
      service.eventLog,
      { ...caller, requestId: uuidv7() },
      { action: 'sign_in.refused', outcome: 'refused', code: 'wrong_password' },
    );
    const page = { limit: 10, pageToken: undefined };
    const { items } = await readAuditTrail(ports(), INSTALLATION, { principal: principal.id }, page);
    expect(items).toMatchObject([
      { principal, action: 'sign_in.refused', code: 'wrong_password', clientIp: '192.0.2.7' },
      { principal, action: 'sign_in' },
    ]);
    expect((await lastUses(ports(), INSTALLATION)).get(principal.id)).toMatchObject({
      code: 'wrong_password',
      count: 2,
    });
  });

  test('a token that no page gave is refused', async () => {
    await expect(trail('clinic', {}, 10, 'seven')).rejects.toMatchObject({ code: 'validation_failed' });
    const beyond = encodeToken(1_000_000, [auditModel, service.workspaceId('clinic'), {}]);
    await expect(trail('clinic', {}, 10, beyond)).rejects.toMatchObject({ code: 'validation_failed' });
  });

  test('each key has a last use, and each minute its numbers', async () => {
    const { client, keyId } = await open('used');
    const other = await service.createKey('used', ['read']);
    await upsertMany(client, ENTRIES_A_CHUNK);
    await client.post('/integration/payers', {});
    await service.as(other.key).get('/integration/payers');
    const workspace = service.workspaceId('used');
    await eventually(async () => {
      const uses = await lastUses(ports(), workspace);
      expect(Object.fromEntries(uses)).toEqual({
        [keyId]: { at: expect.any(String), code: 'validation_failed', count: ENTRIES_A_CHUNK + 1 },
        [other.id]: { at: expect.any(String), count: 1 },
      });
      const [newest] = await entries('used', { principal: keyId });
      expect(uses.get(keyId)?.at).toBe(newest?.recordedAt);
    });
    for (const span of spanNames) {
      const first = spanNumber(span, Date.now()) - 2;
      const tallies = await readTallies(ports(), workspace, span, { first, count: 4 });
      expect(tallies.map(({ number }) => number)).toEqual([first, first + 1, first + 2, first + 3]);
      expect(sumTallies(0, tallies)).toMatchObject({
        requests: ENTRIES_A_CHUNK + 2,
        writes: ENTRIES_A_CHUNK,
        refused: { validation_failed: 1 },
        kinds: { payer: ENTRIES_A_CHUNK },
        keys: {
          [keyId]: { requests: ENTRIES_A_CHUNK + 1, writes: ENTRIES_A_CHUNK, refused: 1 },
          [other.id]: { requests: 1, writes: 0, refused: 0 },
        },
      });
    }
  });

  test('is read over HTTP, oldest first, from a position on, with a permission of its own', async () => {
    const { client } = await open('siem');
    await upsertMany(client, ENTRIES_A_CHUNK + 10);
    await client.post('/integration/payers', { id: phi('payer') });
    const workspace = service.workspaceId('siem');
    const created = await service.createKey('siem', ['audit']);
    const siem = service.as(created.key);
    const expected = (await readAll(service.eventLog))
      .filter(({ metadata }) => metadata.workspace === workspace)
      .map(({ position, id }) => ({ position, id }));
    const lines = async (query: Record<string, string>) => {
      const { status, text, headers } = await siem.get(`/integration/audit?${new URLSearchParams(query)}`);
      expect(status).toBe(200);
      const entries = text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      return { entries, after: String(headers['chartledger-position']) };
    };
    const all: Record<string, unknown>[] = [];
    let after = '0';
    for (;;) {
      const page = await lines({ after, limit: '25' });
      all.push(...page.entries);
      after = page.after;
      if (page.entries.length === 0) break;
    }
    const reads = all.filter(({ action }) => action === 'audit.read');
    const others = all.filter(({ action }) => action !== 'audit.read');
    expect(others.map(({ position, event_id: id }) => ({ position, id }))).toEqual(expected);
    expect(others.at(-2)).toMatchObject({ action: 'request.refused', code: 'validation_failed' });
    // Each page that shows something of others is recorded, with what was asked for; one with only such reads is not.
    expect(reads.length).toBe(Math.ceil(expected.length / 25));
    expect(reads[0]).toMatchObject({ principal_id: created.id, query: 'after=0&limit=25' });
    const appended = await appendedBy(service, async () => {
      expect((await lines({ after })).entries).toEqual([]);
      expect((await siem.get('/integration/audit?after=no')).status).toBe(400);
      expect((await client.get('/integration/audit')).status).toBe(403);
      expect((await siem.get('/integration/payers')).status).toBe(403);
    });
    expect(appended).toEqual([]);
  });
});
