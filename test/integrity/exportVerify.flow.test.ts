import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventLeaf } from '../../src/domain/merkle.ts';
import type { ExportManifest } from '../../src/modules/integrity/exportArchive.ts';
import { PublicKeys } from '../../src/modules/integrity/publicKeys.ts';
import { signStatement } from '../../src/modules/integrity/signing.ts';
import { verifyExport } from '../../src/modules/integrity/verifyExport.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { newEvents, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;
const formats = ['ndjson', 'csv'] as const;

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  const publicKey = inFolder('public.pem');
  let service: TestService;
  beforeAll(async () => {
    service = await start();
    for (let n = 0; n < 12; n++) await service.post('/integration/payers', samples.payer());
    const env = { ...storesOf(service.config), DATA_DIR: folder };
    const workspace = service.workspaceId('clinic');
    for (const format of formats) {
      for (const [name, filter] of [
        ['all', []],
        ['some', ['--kind', 'payer']],
      ] as const) {
        const args = ['--workspace', workspace, '--format', format, '--out', inFolder(`${name}.${format}`)];
        expect((await runCli(['export', ...args, ...filter], { env })).code).toBe(0);
      }
    }
    writeFileSync(publicKey, (await runCli(['secrets', 'show', 'signing'], { env })).stdout);
  }, LONG_MS);
  afterAll(() => service.stop());

  /** Offline: of the environment it gets nothing but the path. */
  const verify = (path: string, key = publicKey) => runCli(['verify', path, '--public-key', key]);

  /** A copy of an export, with its manifest. */
  function copyOf(name: string): { path: string; text: string; manifest: Record<string, unknown> } {
    const path = inFolder(`copy-${name}`);
    for (const end of ['', '.manifest.json']) copyFileSync(inFolder(name) + end, path + end);
    const manifest = JSON.parse(readFileSync(`${path}.manifest.json`, 'utf8'));
    return { path, text: readFileSync(path, 'utf8'), manifest };
  }

  async function expectProblem(path: string, problem: RegExp, key = publicKey) {
    const found = await verifyExport(path, PublicKeys.parse(readFileSync(key, 'utf8')));
    expect(found.problem).toMatch(problem);
  }

  test('an export as it was written passes, whole or of one kind, without the stores', async () => {
    const added = await newEvents(service, async () => {
      for (const format of formats) {
        for (const name of [`all.${format}`, `some.${format}`]) {
          const { events, filters, tree_head } = copyOf(name).manifest as unknown as ExportManifest;
          const limits = filters.kind === null ? '' : ', only those of the kind payer';
          expect(await verify(inFolder(name))).toEqual({
            code: 0,
            stderr: '',
            stdout: `${events} events of ${service.workspaceId('clinic')} verified${limits}; tree head ${tree_head.root}\n`,
          });
        }
      }
    });
    expect(added).toEqual([]);
  });

  /** A tombstone without what it is about, and with its hash. */
  function forgedTombstone(line: string): string {
    const event = { ...JSON.parse(line), type: 'RecordErased', data: {} };
    return JSON.stringify({ ...event, leaf: eventLeaf(event) });
  }

  test(
    'the first line that breaks is named',
    async () => {
      const { text } = copyOf('all.ndjson');
      const lines = text.split('\n');
      const changed = (change: (lines: string[]) => unknown) => {
        const copy = [...lines];
        change(copy);
        return copy.join('\n');
      };
      const cases: [string, RegExp][] = [
        [
          changed((all) => all.splice(6, 1, (all[6] as string).replace('Aetna', 'Aetma'))),
          /^Line 7 was changed: /,
        ],
        [changed((all) => all.splice(6, 1)), /^Line 7 is not the next event: /],
        [changed((all) => all.splice(0, 1)), /^Line 1 is not the next event: /],
        [changed((all) => all.splice(6, 0, all[5] as string)), /^Line 7 is not the next event: /],
        [
          changed((all) => all.splice(4, 2, all[5] as string, all[4] as string)),
          /^Line 5 is not the next event: /,
        ],
        [
          changed((all) => all.splice(6, 1, (all[6] as string).slice(0, 50))),
          /^Line 7 is not an event in JSON\./,
        ],
        [changed((all) => all.splice(-2, 1)), /^The file contains \d+ events, but the manifest says \d+\./],
        [text.slice(0, -20), new RegExp(`^Line ${lines.length - 1} is not an event in JSON\\.`)],
        [text.replace('{"position"', '{ "position"'), /its SHA-256 differs\./],
        [
          changed((all) => all.splice(6, 1, forgedTombstone(all[6] as string))),
          /^Line 7 is not an event as it is/,
        ],
        [`${text}{}\n`, new RegExp(`^Line ${lines.length} is not the next event: `)],
      ];
      for (const [altered, problem] of cases) {
        const { path } = copyOf('all.ndjson');
        writeFileSync(path, altered);
        await expectProblem(path, problem);
      }
    },
    LONG_MS,
  );

  test('a line that was changed with its hash agrees with itself, but not with the signed tree', async () => {
    const { path, text } = copyOf('all.ndjson');
    const lines = text.split('\n');
    const event = JSON.parse(lines[6] as string);
    event.data.name = 'Forged';
    lines[6] = JSON.stringify({ ...event, leaf: eventLeaf(event) });
    writeFileSync(path, lines.join('\n'));
    await expectProblem(path, /not with the signed tree head: their root differs\./);
  });

  test('lines of an export of one kind are checked as well', async () => {
    for (const [find, replacement, problem] of [
      ['Aetna', 'Aetma', /^Line 1 was changed: /],
      [/^.*\n/, '', /^The file contains 11 events, but the manifest says 12\./],
      [/^(.*\n)(.*\n)/, '$2$1', /^Line 2 is not the next event: /],
    ] as const) {
      const { path, text } = copyOf('some.ndjson');
      writeFileSync(path, text.replace(find, replacement));
      await expectProblem(path, problem);
    }
  });

  test('an export of a time says that it is one', async () => {
    const path = inFolder('time.csv');
    const times = ['--since', '2026-01-01', '--until', '2999-01-01'];
    const args = ['export', '--workspace', service.workspaceId('clinic'), '--format', 'csv', '--out', path];
    const env = { ...storesOf(service.config), DATA_DIR: folder };
    expect((await runCli([...args, ...times], { env })).code).toBe(0);
    expect((await verify(path)).stdout).toContain(
      ' verified, only those recorded at or after 2026-01-01T00:00:00.000Z, recorded before 2999-01-01T00:00:00.000Z; tree',
    );
  });

  test('a CSV that was changed is told by its rows and its hash', async () => {
    for (const [find, replacement, problem] of [
      ['Aetna', 'Aetma', /its SHA-256 differs\./],
      [/\r\n.*\r\n/, '\r\n', /^The file contains 11 events, but the manifest says 12\./],
      [/"[^"]*$/, '\r\n', /^The file is not CSV\.|its SHA-256 differs\.|^The file contains/],
    ] as const) {
      const { path, text } = copyOf('some.csv');
      writeFileSync(path, text.replace(find, replacement));
      await expectProblem(path, problem);
    }
  });

  test(
    'a manifest that was changed, signed by somebody else, or is none is told',
    async () => {
      const { path, manifest } = copyOf('all.ndjson');
      const head = manifest.tree_head as Record<string, unknown>;
      const { signature: _, ...unsignedHead } = head;
      const { privateKey, publicKey: foreign } = generateKeyPairSync('ed25519');
      const set = service.config.signingKey;
      const own = createPrivateKey({
        key: set === undefined ? readFileSync(inFolder('signing-key')) : Buffer.from(set, 'base64'),
        format: 'der',
        type: 'pkcs8',
      });
      const { signature, key_id, ...body } = manifest;
      writeFileSync(inFolder('foreign.pem'), foreign.export({ type: 'spki', format: 'pem' }));
      const digest = createHash('sha256').update('').digest('hex');
      const cases: [unknown, RegExp, string?][] = [
        [{ ...manifest, events: 3 }, /^The manifest is not valid: its signature does not match/],
        [{ ...manifest, sha256: digest }, /^The manifest is not valid: its signature does not match/],
        [{ ...manifest, workspace: 'other' }, /^The manifest is not valid: its signature does not match/],
        [signStatement(body, privateKey), /^The manifest is not valid: it was signed with the key/],
        [manifest, /^The manifest is not valid: it was signed with the key/, inFolder('foreign.pem')],
        [
          signStatement({ ...body, tree_head: { ...head, size: 2 } }, own),
          /^The manifest's tree head is not valid: /,
        ],
        [
          signStatement({ ...body, tree_head: signStatement({ ...unsignedHead, root: digest }, own) }, own),
          /root differs\./,
        ],
        [{ ...manifest, more: 1 }, /is not the manifest of an export\./],
        ['text', /is not the manifest of an export\./],
      ];
      for (const [altered, problem, key] of cases) {
        writeFileSync(`${path}.manifest.json`, JSON.stringify(altered));
        await expectProblem(path, problem, key);
      }
    },
    LONG_MS,
  );

  test('the command says in one line what is wrong, also when a file is not there or no key', async () => {
    const { path, text } = copyOf('all.ndjson');
    writeFileSync(path, text.replace('Aetna', 'Aetma'));
    const none = inFolder('none');
    const cases: [string, string, RegExp][] = [
      [path, publicKey, /^Line \d was changed: the event does not have the hash that the line states\.\n$/],
      [none, publicKey, /^\S+none cannot be read or written \(ENOENT\)\.\n$/],
      [publicKey, publicKey, /^\S+public\.pem\.manifest\.json cannot be read or written \(ENOENT\)\.\n$/],
      [path, none, /^\S+none cannot be read or written \(ENOENT\)\.\n$/],
      [path, path, /^The public key is not an Ed25519 public key \(PEM\)\.\n$/],
    ];
    for (const [file, key, stderr] of cases) {
      expect(await verify(file, key)).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
    }
  });
});
