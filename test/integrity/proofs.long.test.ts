import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { eventLeaf } from '../../src/domain/merkle.ts';
import { signStatement } from '../../src/modules/integrity/signing.ts';

import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, newEvents, readAll, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  const payer = samples.payer();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
    for (let n = 0; n < 3; n++) await service.post('/integration/payers', payer);
    for (let n = 0; n < 80; n++) await service.post('/integration/payers', samples.payer());
    writeFileSync(inFolder('key.pem'), (await cli('secrets', 'show', 'signing')).stdout);
    await eventually(async () => expect((await service.get(proofPath(1))).status).toBe(200), LONG_MS);
  }, LONG_MS);
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const cli = (...args: string[]): Promise<CliResult> =>
    runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });
  /** Offline: of the environment it gets nothing but the path. */
  const verify = (name: string, ...args: string[]) =>
    runCli(['verify', inFolder(name), '--public-key', inFolder('key.pem'), ...args]);
  const saveHead = (name: string) => cli('verify', '--workspace', clinic(), '--save-head', inFolder(name));
  const read = (name: string) => JSON.parse(readFileSync(inFolder(name), 'utf8'));
  const write = (name: string, value: object) => writeFileSync(inFolder(name), JSON.stringify(value));
  const proofPath = (version: number | string, id: string = payer.id) =>
    `/integration/payers/${id}/history/${version}/proof`;

  /** The workspace's own events, in log order. */
  async function events(): Promise<RecordedEvent[]> {
    return (await readAll(service.eventLog)).filter(({ metadata }) => metadata.workspace === clinic());
  }

  async function expectRefusal(name: string, message: RegExp | string, ...args: string[]) {
    const { code, stdout, stderr } = await verify(name, ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }

  test('a version is proved through the interface, for the tree as it is, and the read is audited', async () => {
    const own = await events();
    const index = own.findIndex(({ stream, revision }) => stream.endsWith(payer.id) && revision === 1);
    const { id, type, stream, revision, recordedAt, metadata, data } = own[index] as RecordedEvent;
    let answer: Awaited<ReturnType<TestService['get']>> | undefined;
    const added = await newEvents(service, async () => {
      answer = await service.get(proofPath(2));
    });
    expect(answer?.status).toBe(200);
    expect(answer?.body).toEqual({
      type: 'chartledger.proof.v1',
      event: { id, type, stream, revision, recordedAt, metadata, data },
      leaf: eventLeaf(own[index] as RecordedEvent),
      index,
      inclusion: expect.any(Array),
      tree_head: {
        type: 'chartledger.tree_root.v1',
        workspace: clinic(),
        size: expect.any(Number),
        root: expect.any(String),
      },
    });
    expect(added.map((event) => [event.type, event.data])).toEqual([
      [
        'AccessRecorded',
        { action: 'record.proof', kind: 'payer', record_id: payer.id, query: { version: 2 } },
      ],
    ]);
  });

  test('with the signed head of its size it is checked offline, and refused without one', async () => {
    await saveHead('head.json');
    const { size } = read('head.json');
    const answer = await service.get(`${proofPath(3)}?tree_size=${size}`);
    expect(answer.body.tree_head).toEqual({
      type: 'chartledger.tree_root.v1',
      workspace: clinic(),
      size,
      root: read('head.json').root,
    });
    write('answer.json', answer.body);
    expect(await verify('answer.json', '--head', inFolder('head.json'))).toEqual({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(
        /^Version 3 of \S+, recorded at \S+, is event \d+ of \d+ of \S+; tree head [0-9a-f]{64}\n$/,
      ),
    });
    await expectRefusal(
      'answer.json',
      'tree_head is not signed; specify the signed head of the same size with --head',
    );
    await saveHead('later.json');
    await expectRefusal('answer.json', /the given head of \d+/, '--head', inFolder('later.json'));
  });

  test('what is not there, or not yet in a tree of that size, is refused, and so is a key that may not read', async () => {
    const cases: [string, number, RegExp][] = [
      [proofPath(4), 404, /^The payer has no version 4\.$/],
      [proofPath(0), 404, /^The payer has no such version\.$/],
      [proofPath('first'), 404, /^The payer has no such version\.$/],
      [proofPath(1, 'nobody'), 404, /^Payer not found\.$/],
      [`${proofPath(1)}?tree_size=1`, 400, /tree_size/],
      [`${proofPath(1)}?tree_size=1000000`, 400, /tree_size/],
      [`${proofPath(1)}?tree_size=x`, 400, /tree_size/],
    ];
    const added = await newEvents(service, async () => {
      for (const [path, status, message] of cases) {
        const answer = await service.get(path);
        expect({ path, status: answer.status }).toEqual({ path, status });
        expect(status === 404 ? answer.body.error : answer.body.details[0].field).toMatch(message);
      }
      const { key } = await service.createKey('clinic', ['write']);
      expect((await service.as(key).get(proofPath(1))).status).toBe(403);
    });
    const refusals = added.filter(({ type }) => type === 'AccessRecorded');
    expect(new Set(refusals.map(({ data }) => data.action))).toEqual(new Set(['request.refused']));
    expect(added.filter(({ type }) => type !== 'AccessRecorded').map(({ type }) => type)).toEqual([
      'ApiKeyCreated',
    ]);
  });

  test('the versions of a document are proved as well', async () => {
    const encounter = await createEncounter(service);
    const form = documentForm();
    await service.upload(documentsPath(encounter), form);
    const name = form.get('document_id') as string;
    await service.delete(documentsPath(encounter, name));
    const path = `${documentsPath(encounter, name)}/history/2/proof`;
    const added = await accessesBy(service, async () => {
      const { status, body } = await service.get(path);
      expect({ status, type: body.event?.type }).toEqual({ status: 200, type: 'DocumentRemoved' });
    });
    const subject = { kind: 'document', record_id: encounter, document_id: name };
    expect(added).toEqual([{ action: 'document.proof', ...subject, query: { version: 2 } }]);
    const args = ['document', name, '--encounter', encounter, '--workspace', clinic(), '--version', '1'];
    expect((await cli('records', 'prove', ...args, '--out', inFolder('document.json'))).code).toBe(0);
    expect((await verify('document.json')).stdout).toContain('Version 1 of ');
  });

  test('the command writes a proof that needs nothing but the public key', async () => {
    const added = await newEvents(service, async () => {
      const args = ['records', 'prove', 'payer', payer.id, '--workspace', clinic(), '--version', '3'];
      const { code, stdout, stderr } = await cli(...args, '--out', inFolder('proof.json'));
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Version 3 is event \d+ of \d+ of \S+: the proof is in /);
    });
    expect(added.map(({ data, metadata }) => [data, metadata.principal])).toEqual([
      [
        { action: 'record.proof', kind: 'payer', record_id: payer.id, query: { version: 3 } },
        { type: 'operator', id: userInfo().username },
      ],
    ]);
    expect(await verify('proof.json')).toMatchObject({ code: 0, stderr: '' });
  });

  test('a proof that cannot be put in its place is left in no other', async () => {
    const out = temporaryFolder();
    const args = [
      'records',
      'prove',
      'payer',
      payer.id,
      '--workspace',
      clinic(),
      '--version',
      '3',
      '--out',
      out,
    ];
    const stderr = `${out} cannot be read or written (EISDIR).\n`;
    expect(await cli(...args)).toEqual({ code: 1, stdout: '', stderr });
    expect(existsSync(`${out}.draft`)).toBe(false);
  });

  test('a proof for an earlier head holds for that head', async () => {
    await saveHead('early.json');
    await service.post('/integration/payers', samples.payer());
    const args = ['records', 'prove', 'payer', payer.id, '--workspace', clinic(), '--version', '1'];
    const { stdout } = await cli(...args, '--head', inFolder('early.json'));
    expect(JSON.parse(stdout).tree_head).toEqual(read('early.json'));
    writeFileSync(inFolder('earlier.json'), stdout);
    expect((await verify('earlier.json')).code).toBe(0);
  });

  test('a proof with any field altered is refused, by its name', async () => {
    await cli(
      'records',
      'prove',
      'payer',
      payer.id,
      '--workspace',
      clinic(),
      '--version',
      '2',
      '--out',
      inFolder('good.json'),
    );
    const good = read('good.json');
    const { event, tree_head } = good;
    const other = (hash: string) => hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    const { privateKey } = generateKeyPairSync('ed25519');
    const { signature, key_id, ...unsigned } = tree_head;
    const cases: [object, RegExp][] = [
      ...Object.entries(event).map(([field, value]): [object, RegExp] => {
        const changed =
          typeof value === 'string'
            ? `${value}0`
            : typeof value === 'number'
              ? value + 1
              : { ...(value as object), x: 1 };
        return [{ ...good, event: { ...event, [field]: changed } }, /: event or leaf was changed/];
      }),
      [{ ...good, event: { ...event, position: 1 } }, /: event\.position does not have the form/],
      [{ ...good, leaf: other(good.leaf) }, /: event or leaf was changed/],
      [{ ...good, index: good.index + 1 }, /: inclusion does not lead from leaf and index/],
      [{ ...good, index: 1e6 }, /: index is 1000000, but tree_head has only/],
      [{ ...good, inclusion: good.inclusion.slice(1) }, /: inclusion has more or fewer hashes/],
      [{ ...good, inclusion: good.inclusion.with(1, other(good.inclusion[1])) }, /: inclusion does not lead/],
      [{ ...good, inclusion: [1] }, /: inclusion\.0 does not have the form/],
      [{ ...good, type: 'chartledger.proof.v2' }, /: type does not have the form/],
      [{ ...good, more: 1 }, /: more does not have the form/],
      ...Object.keys(unsigned)
        .filter((field) => field !== 'type')
        .map((field): [object, RegExp] => {
          const value = tree_head[field];
          const changed =
            typeof value === 'number' ? value + 1 : /^[0-9a-f]{64}$/.test(value) ? other(value) : `${value}0`;
          const problem =
            field === 'workspace'
              ? /: event belongs to the workspace/
              : /: tree_head: its signature does not match/;
          return [{ ...good, tree_head: { ...tree_head, [field]: changed } }, problem];
        }),
      [{ ...good, tree_head: { ...tree_head, key_id: 'ab' } }, /: tree_head: it was signed with the key ab/],
      [
        { ...good, tree_head: { ...tree_head, signature: 'AAAA' } },
        /: tree_head: its signature does not match/,
      ],
      [
        { ...good, tree_head: signStatement(unsigned, privateKey) },
        /: tree_head: it was signed with the key/,
      ],
      [
        { ...good, tree_head: { ...tree_head, type: 'chartledger.tree_root.v1' } },
        /: tree_head\.\w+ does not have the form/,
      ],
    ];
    for (const [proof, problem] of cases) {
      write('bad.json', proof);
      await expectRefusal('bad.json', new RegExp(`The proof is not valid${problem.source}`));
    }
  });

  test('two heads are proved to be of one history, offline; altered, exchanged or forged ones are refused', async () => {
    await saveHead('one.json');
    for (let n = 0; n < 5; n++) await service.post('/integration/payers', samples.payer());
    await saveHead('two.json');
    const consistency = (first: string, second: string, ...args: string[]) =>
      cli('heads', 'prove', inFolder(first), inFolder(second), '--workspace', clinic(), ...args);
    const written = await consistency('one.json', 'two.json', '--out', inFolder('consistency.json'));
    expect(written).toMatchObject({ code: 0, stderr: '' });
    const [one, two] = [read('one.json'), read('two.json')];
    expect(await verify('consistency.json')).toEqual({
      code: 0,
      stderr: '',
      stdout: `The ${one.size} events of ${clinic()} are those with which its ${two.size} events begin; tree head ${two.root}\n`,
    });
    const good = read('consistency.json');
    const cases: [object, RegExp][] = [
      [{ ...good, first: { ...one, size: one.size - 1 } }, /: first: its signature/],
      [{ ...good, second: { ...two, root: one.root } }, /: second: its signature/],
      [{ ...good, first: two, second: one }, /: first has more events than second/],
      [{ ...good, consistency: good.consistency.slice(1) }, /: consistency does not lead/],
      [{ ...good, consistency: good.consistency.toReversed() }, /: consistency does not lead/],
      [{ ...good, consistency: 1 }, /: consistency does not have the form/],
    ];
    for (const [proof, problem] of cases) {
      write('bad.json', proof);
      await expectRefusal('bad.json', problem);
    }
    expect(await consistency('two.json', 'one.json')).toMatchObject({ code: 1, stdout: '' });
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(inFolder('forged.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    const forge = ({ signature, key_id, ...head }: Record<string, unknown>, changes: object) =>
      signStatement({ ...head, ...changes }, privateKey);
    write('forged1.json', forge(one, { root: 'ab'.repeat(32) }));
    write('forged2.json', forge(two, {}));
    const forged = await consistency('forged1.json', 'forged2.json', '--public-key', inFolder('forged.pem'));
    expect(forged).toMatchObject({ code: 1, stdout: '' });
    expect(forged.stderr).toContain(`does not match the head that was signed at ${one.created_at}`);
  });
});
