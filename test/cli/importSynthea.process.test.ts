import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { notePhi } from '../support/output.ts';
import { worklist } from '../support/readiness.ts';
import { specKinds } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, listAll, type TestService } from '../support/service.ts';
import { exportOf, isSyntheaThere, exportRows as rowsOf, syntheaFolder } from '../support/synthea.ts';

const sizes = { payer: 10, patient: 111, provider: 215, facility: 215, encounter: 7584 };
/** Those of whom everything goes in again. */
const AGAIN = 10;
/** A projector may have fallen far behind an import. */
const PROJECTED_MS = 120_000;

const sum = (counts: Record<string, number>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
    if (!isSyntheaThere) return;
    for (const { Id = '', SSN = '', FIRST = '', LAST = '' } of rowsOf('patients.csv'))
      notePhi(Id, SSN, FIRST, LAST);
  });
  afterAll(() => service.stop());

  /** Versions of all records of a kind, by id, through the list. */
  async function versionsOf(plural: string): Promise<Map<string, number>> {
    const items = await listAll(service, plural, PROJECTED_MS);
    return new Map(items.map(({ id, version }) => [id, version]));
  }

  /** Imports a folder; gives the types of the events appended, with how many of each. */
  async function importAll(
    folder: string,
    accepted: Record<string, number>,
    counts: { created?: number; updated?: number },
  ): Promise<Record<string, number>> {
    const cwd = temporaryFolder();
    const events = await changesBy(service, async () => {
      const result = await spawnCli(
        ['import', folder, '--format', 'synthea', '--url', service.url, '--json'],
        {
          cwd,
          env: { CHARTLEDGER_API_KEY: service.key as string },
        },
      );
      // A store that is busy may be away for a moment: that is waited for, and told.
      expect(result).toMatchObject({ code: 0, stderr: expect.stringMatching(/^(Waiting: .*\n)*$/) });
      expect(JSON.parse(result.stdout)).toEqual({
        accepted: sum(accepted),
        rejected: 0,
        created: 0,
        updated: 0,
        ...counts,
        unchanged: 0,
        warnings: 0,
        by_kind: Object.fromEntries(
          Object.entries(accepted).map(([kind, count]) => [kind, { accepted: count, rejected: 0 }]),
        ),
        seconds: expect.any(Number),
      });
    });
    expect(readdirSync(cwd)).toEqual([]);
    const types: Record<string, number> = {};
    for (const { type } of events) types[type] = (types[type] ?? 0) + 1;
    return types;
  }

  const eventsOf = (counts: Record<string, number>) =>
    Object.fromEntries(specKinds.map((kind) => [catalogEntry(kind).eventType, counts[kind]]));

  test.skipIf(!isSyntheaThere)(
    'a whole export goes in, and a part of it again, whose records are then at version 2',
    async () => {
      const all = sum(sizes);
      expect(await importAll(syntheaFolder, sizes, { created: all })).toEqual(eventsOf(sizes));
      const patients = rowsOf('patients.csv')
        .slice(0, AGAIN)
        .map(({ Id = '' }) => Id);
      const encounters = rowsOf('encounters.csv').filter(({ PATIENT = '' }) => patients.includes(PATIENT));
      const part = { ...sizes, patient: AGAIN, encounter: encounters.length };
      expect(await importAll(exportOf(patients), part, { updated: sum(part) })).toEqual(eventsOf(part));
      const again = new Set([...patients, ...encounters.map(({ Id = '' }) => Id)]);
      for (const kind of specKinds) {
        const versions = await versionsOf(catalogEntry(kind).plural);
        expect(versions.size).toBe(sizes[kind]);
        const isInPart = (id: string) => sizes[kind] === part[kind] || again.has(id);
        expect([...versions].filter(([id, version]) => version !== (isInPart(id) ? 2 : 1))).toEqual([]);
      }
      await expectSomeRecords();
      expect((await worklist(service, '', { timeoutMs: PROJECTED_MS })).counts).toEqual(expectedCounts());
    },
    300_000,
  );

  /** What is in the way of billing these encounters, by their rows alone, apart from the rules and the importer's mapping. */
  function expectedCounts() {
    const named = (file: string) => new Map(rowsOf(file).map((row) => [row.Id, row]));
    const [patients, payers, providers] = [
      named('patients.csv'),
      named('payers.csv'),
      named('providers.csv'),
    ];
    const organizations = named('organizations.csv');
    const insurances = new Map<string | undefined, Record<string, string>>();
    for (const row of rowsOf('payer_transitions.csv')) {
      const { START_DATE = '' } = insurances.get(row.PATIENT) ?? {};
      if ((row.START_DATE ?? '') >= START_DATE) insurances.set(row.PATIENT, row);
    }
    const encounters = rowsOf('encounters.csv').map(({ PATIENT, PROVIDER, ORGANIZATION, START = '' }) => {
      const day = START.slice(0, 10);
      const visit = [PATIENT, PROVIDER, day, ORGANIZATION].join();
      const insurance = insurances.get(PATIENT);
      const payer = payers.get(insurance?.PAYER)?.NAME ?? '';
      const sites = [providers.get(PROVIDER), organizations.get(ORGANIZATION)];
      return { day, visit, insurance, payer, patient: patients.get(PATIENT), sites };
    });
    const byVisit = Map.groupBy(encounters, ({ visit }) => visit);
    const count = (isSo: (encounter: (typeof encounters)[number]) => boolean | undefined) =>
      encounters.filter((encounter) => isSo(encounter)).length;
    const all = encounters.length;
    const isOfOther = (insurance: Record<string, string> | undefined) =>
      ['Guardian', 'Spouse'].includes(insurance?.PLAN_OWNERSHIP ?? '');
    const rules = {
      // The export has no NPI, taxonomy, EIN, payer code and type of a facility.
      ...{ provider_npi: all, taxonomy_code_missing: all, facility_tax_id: all },
      ...{ facility_npi_missing: all, facility_type_missing: all },
      // All encounters are years old.
      timely_filing: count(({ payer }) => payer === 'Medicare' || payer === 'Medicaid'),
      filing_limit_unknown: count(
        ({ payer }) => !['', 'NO_INSURANCE', 'Medicare', 'Medicaid'].includes(payer),
      ),
      // Who has no insurance pays, and needs neither payer code nor member number.
      payer_code_missing: count(({ payer }) => payer !== '' && payer !== 'NO_INSURANCE'),
      primary_insurance_missing: count(({ insurance }) => insurance === undefined),
      // Member numbers are random.
      medicare_member_id: count(({ payer }) => payer === 'Medicare'),
      medicare_subscriber: count(({ payer, insurance }) => payer === 'Medicare' && isOfOther(insurance)),
      medicaid_subscriber: count(({ payer, insurance }) => payer === 'Medicaid' && isOfOther(insurance)),
      // Whoever holds the policy of another has a name in it, and no date of birth.
      subscriber_birth_date_missing: count(({ insurance }) => isOfOther(insurance)),
      other_insurance: count(({ insurance }) => insurance !== undefined && insurance.SECONDARY_PAYER !== ''),
      // Every name ends with a number.
      name_form: all,
      coverage_not_in_force: count(
        ({ day, insurance }) =>
          insurance &&
          (day < (insurance.START_DATE ?? '').slice(0, 10) ||
            day > (insurance.END_DATE || '9999').slice(0, 10)),
      ),
      address_incomplete: count(
        ({ patient, sites }) => patient?.ZIP === '00000' || sites.some((site) => site?.ADDRESS === ''),
      ),
      po_box: count(({ sites }) => sites.some((site) => /^P[. ]{0,2}O\.? BOX /.test(site?.ADDRESS ?? ''))),
      zip_plus_four: count(({ sites }) => sites.some((site) => /^\d{5}$/.test(site?.ZIP ?? ''))),
      suspected_duplicate: count(({ visit }) => (byVisit.get(visit)?.length ?? 0) > 1),
    };
    return {
      states: { ready: 0, self_pay: 0, blocked: all, rejected: 0, not_completed: 0, voided: 0 },
      rules,
    };
  }

  /** Records whose rows are read here anew, apart from the importer's own mapping. */
  async function expectSomeRecords() {
    const patient = rowsOf('patients.csv')[0] as Record<string, string>;
    const transitions = rowsOf('payer_transitions.csv').filter(({ PATIENT }) => PATIENT === patient.Id);
    const latest = transitions.sort((a, b) => ((a.START_DATE ?? '') < (b.START_DATE ?? '') ? 1 : -1))[0];
    const read = await service.get(`/integration/patients/${patient.Id}`);
    expect(read.body.record).toMatchObject({
      first_name: patient.FIRST,
      last_name: patient.LAST,
      date_of_birth: patient.BIRTHDATE,
      ssn_last4: patient.SSN?.slice(-4),
      state: 'NE',
      primary_insurance: { payer_id: latest?.PAYER },
    });
    const stay = rowsOf('encounters.csv').find(({ ENCOUNTERCLASS }) => ENCOUNTERCLASS === 'snf');
    const encounter = await service.get(`/integration/encounters/${stay?.Id}`);
    expect(encounter.body.record).toEqual({
      id: stay?.Id,
      patient_id: stay?.PATIENT,
      provider_id: stay?.PROVIDER,
      rendering_provider_id: stay?.PROVIDER,
      facility_id: stay?.ORGANIZATION,
      date_of_service: stay?.START,
      visit_type: 'inpatient',
      status: 'finished',
      is_completed: true,
    });
  }
});
