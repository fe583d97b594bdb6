import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptGuesses } from '../../src/cli/guesses.ts';
import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { sendMessages } from '../support/messages.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, sharedService, type TestService } from '../support/service.ts';
import { createWebhook, hookUrl } from '../support/webhooks.ts';

const nouns = ['audit', 'code-sets', 'holds', 'keys', 'records', 'webhooks'];

test.each([
  ['key ls --json', 'keys list --json'],
  ['--init code-set list', '--init code-sets list'],
  ['audit --refused -w clinic', 'audit --outcome refused --workspace clinic'],
  ['audit list --status=refused', 'audit list --outcome=refused'],
  ['keys create --scopes=read --name x', 'keys create --permissions=read --name x'],
  ['patients history p1', 'records history patient p1'],
  ['patient delete p1 --cascade', 'records erase patient p1 --with-encounters'],
  ['history patient p1', 'records history patient p1'],
])('%s is accepted for %s', (guessed, words) => {
  expect(acceptGuesses(guessed.split(' '), nouns)).toEqual(words.split(' '));
});

test.each([
  'keys create --name ls --workspace clinic',
  'records get patient delete',
  'export --workspace clinic --out show',
  'constructor constructor --constructor',
  'patients --json',
  '--version',
  '',
])('%s stays as it is', (words) => {
  expect(acceptGuesses(words.split(' '), nouns)).toEqual(words.split(' '));
});

test.each([
  ['holds add', 'holds create'],
  ['holds delete', 'holds release'],
  ['workspaces rm', 'workspaces delete'],
  ['users add', 'users create'],
  ['keys edit', 'keys set'],
  ['retention edit', 'retention set'],
  ['status', 'doctor'],
  ['requests list', 'audit list --outcome refused'],
  ['version', '--version'],
])('for %s, which is no command, %s is suggested', async (words, suggestion) => {
  const { code, stdout, stderr } = await runCli(words.split(' '));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^error: (unknown command|required option)/);
  expect(stderr.split('\n').at(-2)).toBe(`Did you mean: chartledger ${suggestion}`);
  expect(stderr.match(/Did you mean/g)).toHaveLength(1);
});

onEmbeddedEngines(() => {
  let service: TestService;
  let client: Client;
  let names: Record<string, string>;
  beforeAll(async () => {
    service = await sharedService();
    const { key } = await service.createKey('clinic', ['write', 'read', 'webhooks']);
    client = service.as(key);
    const [patient, other] = [samples.patient(), samples.patient()];
    for (const one of [patient, other]) await client.post('/integration/patients', one);
    const { id } = await createWebhook(client, { url: hookUrl() });
    await sendMessages(client);
    names = {
      WORKSPACE: service.workspaceId('clinic'),
      HOOK: id,
      PATIENT: patient.id,
      OTHER: other.id,
      DAY: new Date().toISOString().slice(0, 10),
    };
  });
  afterAll(() => service.stop());

  test.each<[guesses: string[], appended: string[]]>([
    [['keys list --json', 'key ls --json'], []],
    [['doctor --json'], []],
    [
      [
        'keys create -w WORKSPACE --name Lab --scopes read:patient',
        'keys create --workspace WORKSPACE --name Lab --permission read',
      ],
      ['ApiKeyCreated', 'ApiKeyCreated'],
    ],
    [['audit list --refused --since DAY -w WORKSPACE', 'audit --workspace WORKSPACE --outcome refused'], []],
    [
      ['webhooks rotate HOOK --workspace WORKSPACE', 'webhook roll HOOK -w WORKSPACE'],
      ['WebhookSecretRotated', 'WebhookSecretRotated'],
    ],
    [
      [
        'retention set 7 -w WORKSPACE',
        'retention set --years 8 -w WORKSPACE',
        'retention set 9y -w WORKSPACE',
      ],
      ['WorkspaceRetentionSet', 'WorkspaceRetentionSet', 'WorkspaceRetentionSet'],
    ],
    [['messages list --parked -w WORKSPACE', 'messages retry --all -w WORKSPACE'], []],
    [
      [
        'records history patient PATIENT -w WORKSPACE',
        'history patient PATIENT -w WORKSPACE',
        'patients history PATIENT -w WORKSPACE',
      ],
      [],
    ],
    [['hold create patient PATIENT -w WORKSPACE --reason Case'], ['HoldAdded']],
    [['records erase patient OTHER -w WORKSPACE --with-encounters --reason Asked'], ['RecordErased']],
  ])('a newcomer guesses %s', async (guesses, appended) => {
    const env = {
      ...storesOf(service.config),
      DATA_DIR: service.config.dataDir,
      CHARTLEDGER_URL: service.url,
      CHARTLEDGER_API_KEY: service.key ?? '',
    };
    const changes = await changesBy(service, async () => {
      for (const guess of guesses) {
        const words = guess.split(' ').map((word) => names[word] ?? word);
        const { stdout, stderr } = await runCli(words, { env });
        expect([guess, stdout, stderr]).toEqual([
          guess,
          expect.stringMatching(/./),
          expect.not.stringMatching(/error:/),
        ]);
      }
    });
    expect(changes.map(({ type }) => type)).toEqual(appended);
  });
});
