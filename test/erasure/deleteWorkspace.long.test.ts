import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { sendMessages, setSource } from '../support/messages.ts';
import { notePhi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, changesBy, type TestService } from '../support/service.ts';
import { createWebhook, hookUrl, webhooksPath } from '../support/webhooks.ts';

const LONG_MS = 120_000;

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** Runs a command on the stores of the running service. */
  function cli(...args: string[]): Promise<CliResult> {
    return runCli(args, { env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir } });
  }
  const remove = (id: string, ...options: string[]) =>
    cli('workspaces', 'delete', id, '--confirm', id, ...options);

  interface Filled {
    id: string;
    client: Client;
    patient: string;
    encounter: string;
  }

  /** A workspace with a record of some kinds, a document and a message. */
  async function filled(name: string): Promise<Filled> {
    const id = service.workspaceId(name);
    const { key } = await service.createKey(name, ['write', 'read', 'events', 'webhooks']);
    notePhi(key);
    const client = service.as(key);
    const payer = samples.payer();
    await client.post('/integration/payers', payer);
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    await client.post('/integration/patients', patient);
    const encounter = await createEncounter(client);
    await client.upload(documentsPath(encounter), documentForm());
    await sendMessages(client);
    return { id, client, patient: patient.id, encounter };
  }

  const stateOf = async (id: string) => {
    const all = JSON.parse((await cli('workspaces', 'list', '--json')).stdout);
    return all.find((one: { id: string }) => one.id === id)?.state;
  };

  test(
    'a workspace is deleted with all that it had, certified, and never comes back; others stay as they are',
    async () => {
      const gone = await filled('gone');
      const kept = await filled('kept');
      await createWebhook(gone.client, { url: hookUrl() });
      await setSource(service, gone.id, { id: 'lab', mllp: { networks: ['10.3.0.0/16'] } });

      const plan = await changesBy(service, async () => {
        const dry = await cli('workspaces', 'delete', gone.id, '--dry-run', '--json');
        expect(dry).toMatchObject({ code: 0, stderr: '' });
        expect(JSON.parse(dry.stdout)).toMatchObject({
          ...{
            workspace: gone.id,
            state: 'active',
            documents: 1,
            keys: 1,
            webhooks: 1,
            sources: 1,
            holds: 0,
          },
          records: { payer: 1, encounter: 2 },
        });
      });
      expect(plan).toEqual([]);

      const certificate = join(temporaryFolder(), 'gone.json');
      const changes = await changesBy(service, async () => {
        const deleted = await remove(
          gone.id,
          '--json',
          '--reason',
          'Contract ended',
          '--certificate',
          certificate,
        );
        expect(deleted.code).toBe(0);
        const result = JSON.parse(deleted.stdout);
        expect(result).toMatchObject({
          ...{ workspace: gone.id, state: 'deleted', documents: 1, certificates: [certificate] },
          records: { payer: 1, encounter: 2 },
        });
        expect(result.messages).toBeGreaterThan(0);
      });
      const types = changes.map(({ type }) => type);
      expect(types.slice(0, 2)).toEqual(['WorkspaceDeactivated', 'WorkspaceDeletionStarted']);
      expect(types.slice(-3)).toEqual(['WebhookDeleted', 'SourceRemoved', 'WorkspaceDeleted']);
      // The readiness of an encounter is erased with it, where it was evaluated by then.
      const erased = new Set(types.slice(2, -3).filter((type) => type !== 'ReadinessErased'));
      expect(erased).toEqual(new Set(['RecordErased', 'DocumentErased']));
      expect(changes.at(-1)).toMatchObject({
        data: { workspace: gone.id, reason: 'Contract ended', documents: 1, records: { payer: 1 } },
        metadata: { workspace: gone.id, principal: { type: 'operator' } },
      });

      for (const path of ['/integration/patients', '/events?wait=0', webhooksPath]) {
        const refused = await gone.client.get(path);
        expect([path, refused.status, refused.body.code]).toEqual([path, 403, 'workspace_deactivated']);
        expect(refused.body.error).toBe('The workspace of the API key is deleted.');
      }
      const nothing = { code: 0, stdout: expect.stringMatching(/^(\[\]|There are no|.* has no )/) };
      for (const noun of ['messages', 'sources', 'webhooks'])
        expect(await cli(noun, 'list', '--workspace', gone.id)).toMatchObject(nothing);
      const history = await cli(
        'records',
        'history',
        'patient',
        gone.patient,
        '--workspace',
        gone.id,
        '--json',
      );
      expect(JSON.parse(history.stdout).items ?? JSON.parse(history.stdout)).toHaveLength(1);
      const trail = await cli('audit', '--workspace', gone.id, '--json');
      expect(
        JSON.parse(trail.stdout).map(({ action, type }: Record<string, string>) => type ?? action),
      ).toContain('WorkspaceDeleted');
      expect(await cli('verify', '--workspace', gone.id, '--documents')).toMatchObject({
        code: 0,
        stderr: '',
      });

      const pem = join(temporaryFolder(), 'key.pem');
      writeFileSync(pem, (await cli('secrets', 'show', 'signing')).stdout);
      const verified = await cli('verify', certificate, '--public-key', pem);
      expect(verified).toMatchObject({ code: 0, stderr: '' });
      expect(verified.stdout).toMatch(
        new RegExp(`the workspace ${gone.id}, by operator .*: Contract ended \\(.*document: 1`),
      );
      const changed = JSON.parse(readFileSync(certificate, 'utf8'));
      changed.deletion.event.data.documents = 0;
      writeFileSync(certificate, JSON.stringify(changed));
      expect(await cli('verify', certificate, '--public-key', pem)).toMatchObject({ code: 1 });

      const never = await changesBy(service, async () => {
        for (const args of [
          ['workspaces', 'create', gone.id],
          ['workspaces', 'activate', gone.id],
          ['keys', 'create', '--workspace', gone.id],
          ['keys', 'create', '--create-workspace', '--workspace', gone.id],
          ['webhooks', 'create', '--workspace', gone.id, '--url', hookUrl()],
          ['sources', 'set', 'new', '--format', 'fhir', '--workspace', gone.id],
        ]) {
          const { code, stderr } = await cli(...args);
          expect([args, code, stderr]).toEqual([
            args,
            1,
            `Workspace ${gone.id} was deleted. Its id is never used again.\n`,
          ]);
        }
      });
      expect(never).toEqual([]);
      const again = await changesBy(service, async () => {
        const { code, stdout } = await remove(gone.id, '--certificate', certificate, '--json');
        expect([code, JSON.parse(stdout).state]).toEqual([0, 'deleted']);
      });
      expect(again).toEqual([]);
      expect(await cli('verify', certificate, '--public-key', pem)).toMatchObject({ code: 0 });

      expect(await stateOf(kept.id)).toBe('active');
      expect((await kept.client.get(`/integration/patients/${kept.patient}`)).status).toBe(200);
      expect((await kept.client.get(documentsPath(kept.encounter))).body.items).toHaveLength(1);
      const messages = JSON.parse((await cli('messages', 'list', '--workspace', kept.id, '--json')).stdout);
      expect((messages.items ?? messages).length).toBeGreaterThan(0);
    },
    LONG_MS,
  );

  test(
    'a legal hold prevents the deletion, which changes nothing then',
    async () => {
      const { id, client, patient } = await filled('held');
      const hold = async () =>
        JSON.parse(
          (
            await cli(
              'holds',
              'create',
              'patient',
              patient,
              '--workspace',
              id,
              '--reason',
              'Case 7',
              '--json',
            )
          ).stdout,
        ).id;
      const first = await hold();
      const second = await hold();
      const events = await changesBy(service, async () => {
        const dry = await cli('workspaces', 'delete', id, '--dry-run');
        expect([dry.code, dry.stderr]).toEqual([
          1,
          'It cannot be deleted: 2 legal holds in force. Release them first.\n',
        ]);
        const refused = await remove(id);
        expect(refused).toMatchObject({ code: 1, stdout: '' });
        expect(refused.stderr).toContain(
          `Workspace ${id} cannot be deleted: 2 legal holds are in force in it.`,
        );
      });
      expect(events).toEqual([]);
      expect((await client.get(`/integration/patients/${patient}`)).status).toBe(200);
      for (const one of [first, second])
        await cli('holds', 'release', one, '--workspace', id, '--reason', 'Closed');
      expect(await remove(id)).toMatchObject({ code: 0 });
    },
    LONG_MS,
  );

  test('it is deleted only where its id is typed once more, and there is one', async () => {
    const { id, client, patient } = await filled('typed');
    const appended = await appendedBy(service, async () => {
      for (const [args, code, message] of [
        [[id], 2, `repeat its id: --confirm ${id}`],
        [[id, '--confirm', 'other'], 2, '--confirm does not match the workspace; nothing was deleted'],
        [[id, '--confirm', id, '--dry-run'], 2, 'specify --dry-run or --confirm, not both'],
        [['not_there', '--confirm', 'not_there'], 1, 'Workspace not_there does not exist.'],
      ] as const) {
        const refused = await cli('workspaces', 'delete', ...args);
        expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
      }
    });
    expect(appended).toEqual([]);
    expect((await client.get(`/integration/patients/${patient}`)).status).toBe(200);
  });
});
