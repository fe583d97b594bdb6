import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendBatch } from '../support/client.ts';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { freshClaim, neighbours, sendClaim, type WorklistItem, worklist } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, sharedService, type TestService } from '../support/service.ts';

const MANY = 7;

interface Told {
  rule: string;
  owner: string;
  record: { kind: string; id: string } | null;
  encounters: number;
  blocked: number;
  oldest_day: string | null;
  encounter_ids: string[];
}

const path = '/integration/readiness/causes';
const groupings = {
  record: (_: WorklistItem, { record }: WorklistItem['findings'][number]) => record,
  payer: ({ payer_id: id }: WorklistItem) => (id === null ? null : { kind: 'payer', id }),
  facility: ({ facility_id: id }: WorklistItem) => (id === null ? null : { kind: 'facility', id }),
  provider: ({ provider_id: id }: WorklistItem) => (id === null ? null : { kind: 'provider', id }),
};

/** What the causes have to be, by the worklist. */
function counted(items: readonly WorklistItem[], grouping: keyof typeof groupings, owner?: string) {
  const groups = new Map<string, { encounters: Set<WorklistItem>; blocked: Set<string> }>();
  for (const item of items) {
    for (const finding of item.findings.filter((one) => owner === undefined || one.owner === owner)) {
      const key = JSON.stringify([finding.rule, finding.owner, groupings[grouping](item, finding)]);
      const group = groups.get(key) ?? { encounters: new Set(), blocked: new Set() };
      groups.set(key, group);
      group.encounters.add(item);
      if (finding.severity === 'blocks' && item.state === 'blocked') group.blocked.add(item.id);
    }
  }
  return new Map(
    [...groups].map(([key, { encounters, blocked }]) => {
      const days = [...encounters].flatMap(({ date_of_service }) => date_of_service?.slice(0, 10) ?? []);
      return [key, [encounters.size, blocked.size, days.sort()[0] ?? null]];
    }),
  );
}

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
    for (const [index, claim] of neighbours(MANY).entries()) {
      if (index === 0) Object.assign(claim.encounter, { is_completed: false, facility_id: undefined });
      if (index === 1) claim.patient.address_line_1 = 'UNKNOWN';
      if (index === 2) claim.patient.primary_insurance = undefined;
      if (index === 3) claim.encounter.date_of_service = undefined;
      claim.facility.tax_id = index % 2 === 0 ? undefined : '12-3456789';
      claim.provider.first_name = 'Unknown';
      await sendClaim(service, claim);
    }
  });
  afterAll(() => service.stop());

  const causes = async (query = '') => {
    const { status, body } = await service.get(`${path}?limit=1000${query}`);
    expect(status).toBe(200);
    return body as { items: Told[]; encounters: number; is_whole: boolean };
  };

  test('are the findings of the worklist, grouped by rule and record, or by what encounters have in common', async () => {
    const { items: all } = await worklist(service);
    const filters: [string, (item: WorklistItem) => boolean][] = [
      ['', () => true],
      ['&state=blocked', ({ state }) => state === 'blocked'],
      ['&from=2026-03-11', ({ date_of_service: date }) => date !== null && date >= '2026-03-11'],
    ];
    for (const grouping of Object.keys(groupings) as (keyof typeof groupings)[]) {
      for (const [query, isWanted] of filters) {
        const { items, encounters, is_whole } = await causes(`&group_by=${grouping}${query}`);
        const wanted = all.filter(isWanted);
        expect(
          new Map(
            items.map(({ rule, owner, record, encounters, blocked, oldest_day }) => [
              JSON.stringify([rule, owner, record]),
              [encounters, blocked, oldest_day],
            ]),
          ),
        ).toEqual(counted(wanted, grouping));
        expect([encounters, is_whole]).toEqual([
          wanted.filter(({ findings }) => findings.length > 0).length,
          true,
        ]);
        const blocked = items.map((one) => one.blocked);
        expect(blocked).toEqual(blocked.toSorted((a, b) => b - a));
      }
    }
  });

  test('are those of one owner, or of one rule, and the worklist is limited to an owner as well', async () => {
    const { items: all } = await worklist(service);
    // What one rule finds in records of two kinds has two owners.
    const owned = await causes('&rule=placeholder');
    expect(new Set(owned.items.map(({ owner, record }) => `${owner} ${record?.kind}`))).toEqual(
      new Set(['registration patient', 'credentialing provider']),
    );
    for (const owner of ['registration', 'credentialing', 'practice', 'clinician']) {
      const { items } = await causes(`&owner=${owner}`);
      expect(items.length).toBeGreaterThan(0);
      expect(items.map((one) => one.owner)).toEqual(items.map(() => owner));
      expect(items).toHaveLength(counted(all, 'record', owner).size);
      const limited = await worklist(service, `&owner=${owner}&to=2026-03-31`);
      const isOf = ({ findings, date_of_service }: WorklistItem) =>
        date_of_service !== null && findings.some((finding) => finding.owner === owner);
      expect(new Set(limited.items)).toEqual(new Set(all.filter(isOf)));
    }
    expect((await causes('&owner=billing')).items).toEqual([]);
  });

  test('come in pages, and as a file, each with an entry in the audit trail', async () => {
    const document = await fetchDocument(service);
    const { items } = await causes();
    const paged: Told[] = [];
    for (let token = ''; ; ) {
      const answer = await service.get(`${path}?limit=2${token}`);
      expectDocumented(document, 'listReadinessCauses', answer);
      paged.push(...answer.body.items);
      if (answer.body.next_page_token === null) break;
      token = `&page_token=${answer.body.next_page_token}`;
    }
    expect(paged).toEqual(items);
    const read = await accessesBy(service, async () => {
      expect(await appendedBy(service, () => causes('&owner=practice'))).toEqual([]);
    });
    expect(read).toMatchObject([
      {
        ...{ action: 'record.readiness', kind: 'encounter' },
        query: { limit: 1000, group_by: 'record', owner: 'practice' },
        shown: { count: 1, things: expect.arrayContaining([expect.objectContaining({ kind: 'facility' })]) },
      },
    ]);
    let file = '';
    const exported = await accessesBy(service, async () => {
      ({ text: file } = await service.get(`${path}.csv?owner=practice`));
    });
    const { record, encounters, blocked, oldest_day, encounter_ids } = (await causes('&owner=practice'))
      .items[0] as Told;
    expect(file.split('\r\n')).toEqual([
      'rule,severity,owner,record_kind,record_id,encounters,blocked,oldest_day,filing_last_day,example_encounter_id',
      `facility_tax_id,blocks,practice,facility,${record?.id},${encounters},${blocked},${oldest_day},,${encounter_ids[0]}`,
      '',
    ]);
    expect(exported).toMatchObject([
      { action: 'readiness.export', query: { group_by: 'record', owner: 'practice', format: 'csv' } },
    ]);
  });

  test('a defect of one record is one cause, with the nearest filing limit of its encounters', async () => {
    const claim = freshClaim({ facility: { tax_id: undefined } });
    await sendClaim(service, claim);
    const lines = ['2026-03-11', '2026-03-10'].map((date_of_service) => ({
      kind: 'encounter',
      record: { ...claim.encounter, id: phi('encounter'), date_of_service },
    }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    const ofFacility = `&facility_id=${claim.facility.id}&rule=facility_tax_id`;
    await worklist(service);
    expect((await causes(ofFacility)).items).toMatchObject([
      {
        record: { kind: 'facility', id: claim.facility.id },
        ...{ encounters: 3, blocked: 3, oldest_day: '2026-03-10', filing: null },
        encounter_ids: [claim.encounter.id, ...lines.map(({ record }) => record.id)],
      },
    ]);
  });

  test('a query that is wrong is refused, and names the field', async () => {
    const bad = { group_by: 'day', owner: 'nobody', rule: 'none', page_token: 'x', payer_id: 'nobody' };
    for (const [field, value] of Object.entries(bad)) {
      const appended = await appendedBy(service, async () => {
        const answer = await service.get(`${path}?${field}=${value}`);
        expect(answer).toMatchObject({ status: 400, body: { details: [{ field }] } });
      });
      expect(appended).toEqual([]);
    }
  });
});
