import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, spawnCli, temporaryFolder } from '../support/cli.ts';
import { clientKeys, TestEmr } from '../support/emr.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

notePhi('Pullman', 'Pulla', 'Pullo');
const keys = { RS384: await clientKeys('RS384'), ES384: await clientKeys('ES384', 'key-2') };

const person = (id: string, family = 'Pullman') => ({
  ...{ resourceType: 'Patient', id, birthDate: '1984-02-29' },
  name: [{ family, given: ['Bea'] }],
});
const visit = (id: string, patient: string) => ({
  ...{ resourceType: 'Encounter', id, status: 'finished', class: { code: 'AMB' } },
  subject: { reference: `Patient/${patient}` },
});

onEmbeddedEngines((start) => {
  let service: TestService;
  let emr: TestEmr;
  beforeAll(async () => {
    service = await start();
    emr = await TestEmr.start([keys.RS384.publicJwk, keys.ES384.publicJwk]);
  });
  afterAll(async () => {
    await emr.stop();
    await service.stop();
  });

  function pullInto(folder: string, alg: 'RS384' | 'ES384' = 'RS384') {
    const keyFile = join(temporaryFolder(), 'client.jwk.json');
    writeFileSync(keyFile, JSON.stringify(keys[alg].privateJwk));
    const env = { CHARTLEDGER_API_KEY: service.key as string, CHARTLEDGER_URL: service.url };
    const args = ['pull', 'fhir', '--fhir', emr.url, '--client-id', 'chartledger', '--client-key', keyFile];
    emr.requests.length = 0;
    return { env, args: [...args, '--folder', folder, '--types', 'Patient,Encounter', '--json'] };
  }
  async function pulled(folder: string, how: string[], alg?: 'RS384' | 'ES384') {
    const { args, env } = pullInto(folder, alg);
    const { code, stdout, stderr } = await runCli([...args, ...how], { env });
    return { code, stderr, counts: stdout === '' ? undefined : JSON.parse(stdout) };
  }
  const group = ['--group', 'billing'];
  /** What `work` had appended, and the numbers that the audit trail has of each file. */
  async function recordedBy(work: () => Promise<unknown>) {
    let events: string[] = [];
    const accesses = await accessesBy(service, async () => {
      events = await appendedBy(service, work);
    });
    const files = accesses.filter(({ action }) => action === 'file.imported').map(({ query }) => query);
    return { events, files };
  }
  const linesOf = (folder: string, beginning: string) => {
    const name = readdirSync(folder).find((one) => one.startsWith(beginning)) as string;
    return readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  };

  test('an export goes in in the order of references, one audit entry a file; the next one asks for what changed since', async () => {
    const folder = temporaryFolder();
    emr.contents = {
      output: [
        { type: 'Encounter', lines: [visit('pull-visit-1', 'pull-1')] },
        { type: 'Patient', lines: [person('pull-1'), { ...person('pull-2'), birthDate: 'never' }] },
      ],
      deleted: [
        {
          type: 'Bundle',
          lines: [
            {
              ...{ resourceType: 'Bundle', type: 'transaction' },
              entry: [{ request: { method: 'DELETE', url: 'Patient/pull-9' } }],
            },
          ],
        },
      ],
      error: [{ type: 'OperationOutcome', lines: [{ resourceType: 'OperationOutcome' }] }],
    };
    const { events, files } = await recordedBy(async () => {
      const { code, counts } = await pulled(folder, group);
      expect([code, counts]).toEqual([
        1,
        {
          ...{ accepted: 2, rejected: 2, files: 4, files_of_deletions: 1 },
          ...{ since: null, until: '2026-03-14T09:30:00.000Z' },
        },
      ]);
    });
    expect(events).toEqual([
      'clinic.patient-pull-1: PatientUpserted',
      'clinic.encounter-pull-visit-1: EncounterUpserted',
    ]);
    const file = { sha256: expect.stringMatching(/^[0-9a-f]{64}$/), format: 'fhir', origin: 'bulk_export' };
    expect(files).toEqual([
      { ...file, accepted: 1, rejected: 1 },
      { ...file, accepted: 1, rejected: 0 },
    ]);
    expect(linesOf(folder, 'deleted-')).toEqual([{ deleted: 'Patient/pull-9' }]);
    expect(linesOf(folder, 'errors-')).toEqual([{ resourceType: 'OperationOutcome' }]);
    expect(linesOf(folder, 'rejected-')).toMatchObject([{ kind: 'Patient', id: 'pull-2', status: 400 }]);
    expect(readdirSync(folder).filter((name) => /^\d/.test(name) || name.startsWith('import-'))).toEqual([]);
    expect(emr.requests.at(-1)).toBe('DELETE /fhir/jobs/1');

    emr.contents = { output: [{ type: 'Patient', lines: [person('pull-1', 'Pulla')] }] };
    emr.transactionTime = '2026-03-15T09:30:00.000Z';
    // Signed with the other kind of key.
    const next = await pulled(folder, group, 'ES384');
    expect([next.code, next.counts]).toMatchObject([0, { accepted: 1, since: '2026-03-14T09:30:00.000Z' }]);
    expect(emr.requests.find((line) => line.includes('$export'))).toContain(
      ' _since=2026-03-14T09:30:00.000Z',
    );
    const { body } = await service.get('/integration/patients/pull-1');
    expect(body).toMatchObject({ version: 2, record: { last_name: 'Pulla' } });
  });

  test('a server that exports no locations with a group, as HAPI, is asked for the other types', async () => {
    emr.contents = { output: [{ type: 'Patient', lines: [person('hapi-1')] }] };
    emr.onRequest = (line) => (/\$export.*(?:Location|PractitionerRole)/.test(line) ? 400 : undefined);
    const { events } = await recordedBy(async () => {
      const { code, counts, stderr } = await pulled(temporaryFolder(), [
        ...[...group, '--types', 'Location,Practitioner,Patient'],
      ]);
      expect([code, counts]).toMatchObject([0, { accepted: 1, rejected: 0 }]);
      expect(stderr).toBe(
        'The EMR refused the request (400). Requesting it without Location and PractitionerRole.\n',
      );
    });
    emr.onRequest = () => undefined;
    expect(events).toEqual(['clinic.patient-hapi-1: PatientUpserted']);
    expect(emr.requests.findLast((line) => line.includes('$export'))).toContain(
      ' _type=Practitioner,Patient ',
    );
  });

  test('a first pull that brings nothing fails, and the next one asks for everything again', async () => {
    for (const how of [group, ['--search']]) {
      const folder = temporaryFolder();
      emr.contents = { output: [] };
      const { code, stderr, counts } = await pulled(folder, how);
      expect({ code, counts }).toMatchObject({ code: 1, counts: { accepted: 0, rejected: 0, since: null } });
      expect(stderr).toContain('The EMR returned nothing');
      emr.contents = { output: [{ type: 'Patient', lines: [person('pull-empty')] }] };
      expect(await pulled(folder, how)).toMatchObject({ code: 0, counts: { accepted: 1, since: null } });
      emr.contents = { output: [] };
      expect(await pulled(folder, how)).toMatchObject({
        code: 0,
        counts: { accepted: 0, since: expect.any(String) },
      });
    }
  });

  test('searches read every page, and the next one begins before the time of the last', async () => {
    const folder = temporaryFolder();
    emr.contents = {
      output: [{ type: 'Patient', lines: ['1', '2', '3'].map((n) => person(`search-${n}`)) }],
    };
    const first = await pulled(folder, ['--search']);
    expect([first.code, first.counts]).toMatchObject([0, { accepted: 3, files: 2, since: null }]);
    const second = await pulled(folder, ['--search']);
    expect(second.counts).toMatchObject({ accepted: 3, since: first.counts.until });
    expect(emr.requests).toContain(`GET /fhir/Patient _lastUpdated=ge${first.counts.until} _count=500`);
    const { body } = await service.get('/integration/patients/search-3');
    expect(body).toMatchObject({ version: 1 });
  });

  test('a pull that was killed at any request goes on, and sends nothing twice', async () => {
    const folder = temporaryFolder();
    emr.contents = {
      output: [
        { type: 'Patient', lines: [person('killed-1'), person('killed-2')] },
        { type: 'Encounter', lines: [visit('killed-visit', 'killed-1')] },
      ],
    };
    const places = ['jobs/1', 'files/output-0', 'files/output-1', 'DELETE'];
    const { events, files } = await recordedBy(async () => {
      for (const place of places) {
        const kill = new AbortController();
        emr.onRequest = (line) => {
          if (!line.includes(place)) return undefined;
          kill.abort();
          return 503;
        };
        const { args, env } = pullInto(folder);
        const { code } = await spawnCli([...args, ...group], { env, kill: kill.signal });
        expect(code).toBeNull();
      }
      emr.onRequest = () => undefined;
      const { code, counts, stderr } = await pulled(folder, group);
      expect([code, counts]).toMatchObject([0, { accepted: 3, rejected: 0 }]);
      expect(stderr).toBe('Going on with the pull that was not completed.\n');
    });
    expect(emr.requests.some((line) => line.includes('$export'))).toBe(false);
    expect(events.toSorted()).toEqual([
      'clinic.encounter-killed-visit: EncounterUpserted',
      ...['clinic.patient-killed-1: PatientUpserted', 'clinic.patient-killed-2: PatientUpserted'],
    ]);
    expect(files).toMatchObject([{ accepted: 2 }, { accepted: 1 }]);
  });

  test('a token that ended is replaced; an EMR that limits requests is asked again', async () => {
    let faults = 0;
    emr.contents = { output: [{ type: 'Patient', lines: [person('token-1', 'Pullo')] }] };
    emr.onRequest = (line) => {
      if (line.includes('files/') && faults < 2) {
        faults += 1;
        if (faults === 2) return 429;
        emr.endTokens();
      }
      return undefined;
    };
    const { code, counts } = await pulled(temporaryFolder(), group);
    emr.onRequest = () => undefined;
    expect([code, counts]).toMatchObject([0, { accepted: 1 }]);
    expect(emr.requests.filter((line) => line.endsWith('/token')).length).toBe(2);
  });

  test('what cannot work says what to do', async () => {
    const folder = temporaryFolder();
    const { args, env } = pullInto(folder);
    const ended = async (...more: string[]) => (await runCli([...args, ...more], { env })).stderr;
    expect(await ended()).toContain('specify either --group or --search');
    expect(await ended('--group', 'other')).toContain('did not begin an export');
    expect(await ended('--search')).toContain('holds a pull of something else');
    expect(await ended('--group', 'other', '--client-id', 'stranger')).toContain(
      'issued no token (invalid_client)',
    );
    const pem = join(temporaryFolder(), 'client.pem');
    writeFileSync(pem, 'no key');
    expect(await ended(...group, '--client-key', pem)).toContain('The client key must be a private key');
  });
});
