import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents, type TestService } from '../support/service.ts';
import { hookUrl, secretIn } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let workspace: string;
  beforeAll(async () => {
    service = await start({ ROLES: 'api,projector' });
    workspace = service.workspaceId('clinic');
  });
  afterAll(() => service.stop());

  /** Runs `chartledger webhooks …` on the stores of the service. */
  function cli(args: string[], settings: Record<string, string> = {}): Promise<CliResult> {
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir, ...settings };
    return runCli(['webhooks', ...args, '--workspace', workspace], { env });
  }

  async function json(...args: string[]) {
    const result = await cli([...args, '--json']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(result.stdout);
  }

  const factsOf = (events: RecordedEvent[]) => events.map(({ stream, type }) => `${stream}: ${type}`);

  test('a webhook is made, listed, changed, given another secret, asked for messages, and deleted', async () => {
    const { key } = await service.createKey('clinic', ['webhooks', 'events']);
    const url = hookUrl();
    let id = '';
    const secrets: string[] = [];
    const events = await newEvents(service, async () => {
      const settings = ['--kinds', 'patient, payer', '--description', 'Billing', '--payload', 'full'];
      const made = await json('create', '--url', url, '--start', 'beginning', ...settings);
      id = made.id;
      secrets.push(made.secret);
      expect(made).toMatchObject({
        url,
        kinds: ['payer', 'patient'],
        types: null,
        description: 'Billing',
        payload: 'full',
        start_after: '0000000000000000',
        state: 'enabled',
      });
      const { secret, ...shown } = made;
      expect(await json('list')).toEqual([{ ...shown, delivery: expect.objectContaining({ failed: 0 }) }]);
      const read = await service.as(key).get(`/integration/webhooks/${id}`);
      expect(read.body).toMatchObject(shown);

      const changed = await json('set', id, '--kinds', 'all', '--description', '', '--state', 'disabled');
      expect(changed).toMatchObject({ kinds: null, description: null, state: 'disabled', url });
      const enabled = await cli(['set', id, '--state', 'enabled']);
      expect(enabled.stdout).toBe(`Webhook ${id} is enabled. Payload: full. URL: ${url}\n`);

      const rotated = await json('rotate', id, '--expires', '60s');
      secrets.push(rotated.secret);
      expect(rotated.previous_secret_expires_at).toMatch(/Z$/);
      const ended = await cli(['rotate', id, '--expires', '0s']);
      expect(ended.stdout).toMatch(/^ {2}whsec_.{44}$/m);
      expect(ended.stdout).toContain('The previous one signs no longer.');
      secrets.push(/whsec_\S+/.exec(ended.stdout)?.[0] ?? '');

      expect((await cli(['ping', id])).stdout).toMatch(/^The ping will be sent as message msg_\S+\.\n$/);
      for (const what of [['--failed'], ['--after', '0'], ['--since', '2001-01-01']]) {
        expect((await cli(['replay', id, ...what])).code).toBe(0);
      }
      expect(await json('attempts', id)).toEqual([]);
      expect((await cli(['attempts', id])).stdout).toBe('Nothing was sent in the last 30 days.\n');
      expect((await cli(['delete', id])).stdout).toBe(`Webhook ${id} is permanently deleted.\n`);
      expect((await cli(['list'])).stdout).toBe('There are no webhooks yet.\n');
    });
    notePhi(...secrets);
    // Reads of attempts are in the audit trail, among the changes.
    const changes = events.filter(({ type }) => type !== 'AccessRecorded');
    expect(factsOf(changes)).toEqual(
      [
        'WebhookCreated',
        'WebhookUpdated',
        'WebhookDisabled',
        'WebhookEnabled',
        'WebhookSecretRotated',
        'WebhookSecretRotated',
        'WebhookPinged',
        'WebhookReplayRequested',
        'WebhookReplayRequested',
        'WebhookReplayRequested',
        'WebhookDeleted',
      ].map((type) => `webhooks: ${type}`),
    );
    const operator = { type: 'operator', id: expect.stringMatching(/./) };
    for (const { metadata } of events) expect(metadata).toMatchObject({ workspace, principal: operator });
    const sealed = events.filter(({ data }) => data.sealed_secret !== undefined);
    expect(await Promise.all(sealed.map((event) => secretIn(service, event)))).toEqual(secrets);
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    // There is something to compare with as soon as the read model has a tree.
    await eventually(async () =>
      expect(await runCli(['verify', '--workspace', workspace], { env })).toMatchObject({ code: 0 }),
    );
  });

  test('to whom messages go and why is said at the start, changed and taken back, an event each', async () => {
    const events = await newEvents(service, async () => {
      const terms = ['--recipient', 'Billing Partners', '--purpose', 'payment'];
      const made = await json('create', '--url', hookUrl(), ...terms);
      expect(made).toMatchObject({
        recipient: 'Billing Partners',
        purpose: 'payment',
        recipient_address: null,
      });
      const changed = await json('set', made.id, '--recipient', '', '--purpose', 'other');
      expect(changed).toMatchObject({ recipient: null, purpose: 'other' });
      expect((await cli(['list'])).stdout).toMatch(new RegExp(`^${made.id} .* - +other +`, 'm'));
    });
    expect(events.map(({ type, data }) => [type, data])).toMatchObject([
      ['WebhookCreated', { recipient: 'Billing Partners', purpose: 'payment', purpose_statement: null }],
      ['WebhookUpdated', { recipient: null, purpose: 'other' }],
    ]);
    expect(Object.keys(events[1]?.data ?? {}).toSorted()).toEqual(['purpose', 'recipient', 'webhook_id']);
  });

  test('people see the secret once, and a table', async () => {
    const url = hookUrl();
    const made = await cli(['create', '--url', url, '--types', 'chartledger.payer.upserted.v1']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const [secret] = /whsec_\S{44}/.exec(made.stdout) ?? [];
    expect(made.stdout).toMatch(
      /shown only now:\n\n {2}whsec_\S{44}\n\nThe id of the webhook is wh_\w{16}\./,
    );
    notePhi(secret as string);
    const table = (await cli(['list'])).stdout;
    expect(table.split('\n')[0]).toMatch(/^WEBHOOK +STATE +PAYLOAD +EVENTS +PENDING +OLDEST /);
    expect(table).toMatch(/^wh_\w{16} +enabled +reference +chartledger.payer.upserted.v1 +\d/m);
    expect(table).toContain(url);
    expect(table).not.toContain(secret);
  });

  test('what cannot be is refused in one line, and no event', async () => {
    const url = hookUrl();
    const { id } = await json('create', '--url', url);
    const nobody = 'wh_0000000000000000';
    const refusals: [string[], string, code?: number][] = [
      [['create', '--url', 'http://billing.invalid/'], '--url must begin with https://', 2],
      [['create', '--url', url, '--kinds', 'claim'], '--kinds must be one of payer', 2],
      [['create', '--url', url, '--start', 'soon'], '--start must be now, beginning', 2],
      [['set', nobody, '--state', 'enabled'], 'Webhook not found.'],
      [['delete', nobody], 'Webhook not found.'],
      [['ping', nobody], 'Webhook not found.'],
      [['attempts', nobody], 'Webhook not found.'],
      [['replay', id], 'The body must have exactly one of after, from'],
      [['replay', id, '--message', 'msg_never'], 'No such message was sent'],
      [['rotate', id, '--expires', '604801s'], 'overlap_seconds must be at most 604800'],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [args, message, exitCode = 1] of refusals) {
        const { code, stdout, stderr } = await cli(args);
        expect({ args, code, stdout }).toEqual({ args, code: exitCode, stdout: '' });
        expect(stderr).toMatch(/^[^\n]+\n$/);
        expect(stderr).toContain(message);
      }
      const wrong = await cli(['create', '--url', url, '--payload', 'all']);
      expect([wrong.code, wrong.stdout]).toEqual([2, '']);
    });
    expect(appended).toEqual([]);
  });

  test('a secret is never sealed with another key than those that are there', async () => {
    const { id } = await json('create', '--url', hookUrl());
    // Where the key is set, and where it is in the data folder.
    const elsewhere = { DATA_DIR: temporaryFolder(), WEBHOOK_SECRETS_KEY: '' };
    const appended = await appendedBy(service, async () => {
      for (const args of [
        ['create', '--url', hookUrl()],
        ['rotate', id],
      ]) {
        const { code, stdout, stderr } = await cli(args, elsewhere);
        expect([code, stdout]).toEqual([1, '']);
        expect(stderr).toContain('WEBHOOK_SECRETS_KEY');
      }
    });
    expect(appended).toEqual([]);
  });
});
