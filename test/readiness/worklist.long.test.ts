import { afterAll, beforeAll, expect, test } from 'vitest';
import { readinessModel } from '../../projections/projection.ts';
import type { DisclosedRange } from '../../src/domain/events/payloads.ts';
import { readinessCountsStream, recordStream } from '../../src/domain/events/streams.ts';
import { minuteOf, type WorklistEntry, worklistModel } from '../../src/modules/readiness/worklistModel.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { Row } from '../../src/storage/readModels.ts';

import { sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import {
  billedPath,
  type Claim,
  countsOf,
  freshClaim,
  inStores,
  neighbours,
  sendClaim,
  type WorklistItem,
  worklist,
} from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, refusalsBy, type TestService } from '../support/service.ts';

/** More than are evaluated with the change itself. */
const MANY = 230;

const DAY_MS = 86_400_000;

/** Sets up to when the service has looked at the clock. */
async function setClock({ config }: TestService, at: number): Promise<void> {
  const readModels = await openReadModels(config.readModelUrl);
  const clock = { id: 'clock', partition: 'clock', order: 0, body: { minute: minuteOf(at) } };
  const [known] = await readModels.load(readinessModel, ['clock']);
  const rows = [{ ...clock, position: (known?.position ?? 0) + 1 }];
  await readModels.write({ model: readinessModel, rows, checkpoint: 0 });
  await readModels.close();
}

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('is narrowed by all of its filters, with counts, in pages', async () => {
    const claims = neighbours(9);
    for (const [index, claim] of claims.entries()) {
      if (index % 3 === 0) claim.encounter.is_completed = false;
      if (index === 5) claim.encounter.voided_at = '2026-03-20';
      if (index % 4 === 0)
        claim.patient.primary_insurance = {
          ...(claim.patient.primary_insurance as object),
          policy_number: undefined,
        };
      await sendClaim(service, claim);
    }
    for (const claim of [claims[1], claims[4]] as Claim[]) {
      expect((await service.post(billedPath(claim), { claim_id: phi('claim') })).status).toBe(200);
    }
    const { items: all } = await worklist(service);
    expect(all.filter(({ billed }) => billed !== null)).toHaveLength(2);
    const { payer, facility, provider } = claims[0] as (typeof claims)[number];
    const rule = 'policy_number_missing';
    const has = (item: (typeof all)[number]) => item.findings.some((finding) => finding.rule === rule);
    const day = (item: (typeof all)[number]) => item.date_of_service?.slice(0, 10) ?? '';
    const filters: [string, (item: (typeof all)[number]) => boolean][] = [
      ['&state=blocked', ({ state }) => state === 'blocked'],
      [`&rule=${rule}`, has],
      ['&owner=registration', ({ findings }) => findings.some(({ owner }) => owner === 'registration')],
      [`&payer_id=${payer.id}`, ({ payer_id }) => payer_id === payer.id],
      [`&facility_id=${facility.id}`, ({ facility_id }) => facility_id === facility.id],
      [`&provider_id=${provider.id}`, ({ provider_id }) => provider_id === provider.id],
      ['&from=2026-03-11', (item) => day(item) >= '2026-03-11'],
      ['&billed=false', ({ billed }) => billed === null],
      ['&to=2026-03-11', (item) => day(item) !== '' && day(item) <= '2026-03-11'],
    ];
    const isVoid = ({ state }: (typeof all)[number]) => state === 'voided';
    const isBilled = ({ billed }: (typeof all)[number]) => billed !== null;
    const alone = [...filters, ['&state=voided', isVoid] as const, ['&billed=true', isBilled] as const];
    for (const [query, isWanted] of alone) {
      const wanted = all.filter(isWanted);
      expect(wanted.length).toBeGreaterThan(0);
      const { items, counts } = await worklist(service, query, { limit: 2 });
      expect(new Set(items)).toEqual(new Set(wanted));
      expect(items).toHaveLength(wanted.length);
      if (query.startsWith('&state')) expect(counts.rules).toEqual(countsOf(wanted).rules);
      else if (query.startsWith('&rule')) expect(counts.states).toEqual(countsOf(wanted).states);
      else expect(counts).toEqual(countsOf(wanted));
    }
    const { body } = await service.get(`/integration/readiness/causes?group_by=payer&rule=${rule}`);
    const ofPayer = (id: unknown) => all.filter((item) => has(item) && item.payer_id === id).length;
    expect(body).toMatchObject({ encounters: all.filter(has).length, next_page_token: null });
    expect(body.items).toEqual(
      body.items.map(({ record }: { record: { id: string } }) =>
        expect.objectContaining({ rule, encounters: ofPayer(record.id) }),
      ),
    );
    const together = filters.map(([query]) => query);
    const both = await worklist(service, together.slice(0, 3).join(''));
    expect(both.items).toEqual(
      all.filter((item) => filters.slice(0, 3).every(([, isWanted]) => isWanted(item))),
    );
    expect(both.counts.states.blocked).toBe(both.items.length);
    const unbilled = await worklist(service, '&state=ready&billed=false');
    expect(unbilled.items).toEqual(all.filter((item) => item.state === 'ready' && !isBilled(item)));
    expect(unbilled.counts.states.ready).toBe(unbilled.items.length);
    const inDays = await worklist(service, '&from=2026-03-11&billed=false');
    expect(new Set(inDays.items)).toEqual(
      new Set(all.filter((item) => day(item) >= '2026-03-11' && !isBilled(item))),
    );
    const several = await worklist(service, together.join(''));
    expect(several).toEqual({
      items: all.filter((item) => filters.every(([, isWanted]) => isWanted(item))),
      counts: null,
    });
  });

  test('a change of what many encounters rest on reaches them all, also across a restart', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const lines = Array.from({ length: MANY }, () => ({
      kind: 'encounter',
      record: { ...claim.encounter, id: phi('encounter') },
    }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    const ofPayer = `&payer_id=${claim.payer.id}`;
    expect((await worklist(service, ofPayer)).counts.states).toEqual({
      ready: MANY + 1,
      blocked: 0,
      rejected: 0,
      not_completed: 0,
      self_pay: 0,
      voided: 0,
    });
    Object.assign(claim.payer, { payer_code: null });
    await sendClaim(service, claim, 'payer');
    await service.restart();
    const { items, counts } = await worklist(service, ofPayer);
    expect(counts).toEqual({
      states: { ready: 0, self_pay: 0, blocked: MANY + 1, rejected: 0, not_completed: 0, voided: 0 },
      rules: { payer_code_missing: MANY + 1, suspected_duplicate: MANY + 1 },
    });
    expect(items.every(({ findings }) => findings.length === 1 + 5)).toBe(true);
    // Too many for one entry of the audit trail, which still names each.
    const accesses = await accessesBy(service, () =>
      service.get(`/integration/readiness?limit=1000${ofPayer}`),
    );
    const shown = accesses.map((access) => access.shown as unknown as Required<DisclosedRange>);
    expect(shown).toHaveLength(5);
    expect(shown.reduce((sum, { count }) => sum + count, 0)).toBe(MANY + 1);
    const named = shown.flatMap(({ things }) => things.filter(({ kind }) => kind === 'encounter'));
    expect(new Set(named.map(({ record_id }) => record_id))).toEqual(new Set(items.map(({ id }) => id)));
    expect(shown.every(({ things }) => things.some(({ kind }) => kind === 'payer'))).toBe(true);
    // One that all others name is of another visit, and named no more.
    Object.assign(claim.encounter, { date_of_service: '2026-03-13' });
    await sendClaim(service, claim, 'encounter');
    const after = (await worklist(service, ofPayer)).items.map(({ id, findings }) => [
      id === claim.encounter.id,
      findings.length,
      findings.some(({ record }) => record.id === claim.encounter.id),
    ]);
    expect(after).toEqual([[true, 1, false], ...Array(MANY).fill([false, 1 + 5, false])]);
  });

  test('is the same when it was built anew', async () => {
    const before = await worklist(service);
    expect(before.items.length).toBeGreaterThan(0);
    const rebuilt = await inStores(service, 'projections', 'rebuild', 'readiness');
    expect(rebuilt).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('evaluates all encounters again'),
    });
    expect(await worklist(service)).toEqual(before);
  });

  test('is rebuilt at a start when other rules built it', async () => {
    const before = await worklist(service);
    const [item] = before.items as [WorklistItem];
    const readModels = await openReadModels(service.config.readModelUrl);
    const stream = recordStream(service.workspaceId('clinic'), 'encounter', item.id);
    const [row] = (await readModels.load(worklistModel, [stream])) as [Row<WorklistEntry>];
    const [built] = (await readModels.load(worklistModel, ['begun'])) as [Row];
    const otherwise = { ...row, position: row.position + 1, body: { ...row.body, findings: [] } };
    const byOthers = { ...built, position: built.position + 1, body: { ...built.body, rules: 'others' } };
    await readModels.write({ model: worklistModel, rows: [otherwise], checkpoint: 0 });
    await service.restart();
    const found = (list: typeof before) => list.items.find(({ id }) => id === item.id)?.findings;
    expect([found(before), found(await worklist(service))]).toEqual([expect.any(Array), []]);
    await readModels.write({ model: worklistModel, rows: [byOthers], checkpoint: 0 });
    await readModels.close();
    await service.restart();
    // The projector rebuilds it after the start.
    await eventually(async () => expect(await worklist(service)).toEqual(before));
  });

  test('has again what was evaluated before a rebuilt read model had it', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const before = await worklist(service);
    const stream = recordStream(service.workspaceId('clinic'), 'encounter', String(claim.encounter.id));
    const readModels = await openReadModels(service.config.readModelUrl);
    const [row] = await readModels.load(worklistModel, [stream]);
    const { lists: _lists, ...rest } = row as Row;
    const leftOut = { ...rest, partition: 'left out', position: rest.position + 1, body: {} };
    await readModels.write({ model: worklistModel, rows: [leftOut], checkpoint: 0 });
    await readModels.close();
    expect((await worklist(service)).items).toHaveLength(before.items.length - 1);
    expect((await inStores(service, 'projections', 'rebuild', 'records')).code).toBe(0);
    await eventually(async () => expect(await worklist(service)).toEqual(before));
  });

  test('what ends by itself leaves it', async () => {
    const soon = new Date(Date.now() + 3_000).toISOString();
    const claim = freshClaim({ encounter: { date_of_service: soon } });
    await sendClaim(service, claim);
    const ofFacility = `&facility_id=${claim.facility.id}`;
    expect((await worklist(service, ofFacility)).items).toMatchObject([
      { findings: [{ rule: 'service_date_in_future' }] },
    ]);
    await eventually(async () => {
      expect(await worklist(service, ofFacility)).toMatchObject({
        items: [{ state: 'ready', findings: [] }],
        counts: { states: { ready: 1, blocked: 0 }, rules: {} },
      });
    });
  });

  test('is read with the permission to read all kinds, and the audit trail tells of what was shown', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined } });
    await sendClaim(service, claim);
    const ofPayer = `&payer_id=${claim.payer.id}`;
    await worklist(service, ofPayer);
    const one = service.as((await service.createKey('clinic', ['read:encounter'])).key);
    const refusals = await refusalsBy(service, async () => {
      expect(await one.get('/integration/readiness')).toMatchObject({
        status: 403,
        body: { code: 'permission_denied' },
      });
    });
    expect(refusals).toHaveLength(1);
    const accesses = await accessesBy(service, async () => {
      expect(
        await appendedBy(service, () => service.get(`/integration/readiness?limit=10${ofPayer}`)),
      ).toEqual([]);
    });
    expect(accesses).toEqual([
      {
        ...{ action: 'record.readiness', kind: 'encounter', query: { limit: 10, payer_id: claim.payer.id } },
        shown: {
          ...{ ranges: [], count: 1 },
          things: [
            { kind: 'encounter', record_id: claim.encounter.id },
            { kind: 'payer', record_id: claim.payer.id },
          ],
        },
      },
    ]);
  });

  test('how many there were at the end of a day is kept, once', async () => {
    const { states } = (await worklist(service)).counts;
    const yesterday = new Date(Date.now() - DAY_MS);
    const stream = readinessCountsStream(service.workspaceId('clinic'));
    const counted = () => service.eventLog.readStream(stream, { limit: 10 });
    expect(await counted()).toEqual([]);
    for (const minutes of [0, 1]) {
      // As after a night in which the service was down.
      await service.restart(() => setClock(service, yesterday.getTime() + minutes * 60_000));
      await eventually(async () =>
        expect((await counted()).map(({ type }) => type)).toEqual(['ReadinessCounted']),
      );
      await worklist(service);
    }
    const [event] = await counted();
    expect(event?.data).toMatchObject({ day: yesterday.toISOString().slice(0, 10) });
    const told = event?.data.states as object;
    expect({ ready: 0, self_pay: 0, blocked: 0, rejected: 0, not_completed: 0, voided: 0, ...told }).toEqual(
      states,
    );
  });

  test('what cannot be asked for is refused by its field', async () => {
    const bad = { state: 'done', rule: 'none', from: '2026-13-01', to: 'today', limit: '0', page_token: 'x' };
    for (const [field, value] of Object.entries(bad)) {
      const answer = await service.get(`/integration/readiness?${field}=${value}`);
      expect(answer).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', details: [{ field }] },
      });
    }
  });
});
