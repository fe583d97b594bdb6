import { afterAll, beforeAll, expect, test } from 'vitest';
import { noKeys } from '../../src/modules/auth/apiKeys.ts';
import { readSources, sourceOf } from '../../src/modules/integrations/sources.ts';

import { runCli, storesOf } from '../support/cli.ts';
import { tlsSettings } from '../support/messages.ts';
import { inStores } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** A workspace with a key, and the command on its sources. */
  async function workspaceOf(label: string) {
    const { id: key, workspace } = await service.createKey(label);
    const sources = (command: string, ...args: string[]) =>
      inStores(service, 'sources', command, ...args, '--workspace', workspace);
    return { key, workspace, sources };
  }

  test('a source is bound to connections of MLLP in one form, and is no default one', async () => {
    const { key, workspace, sources } = await workspaceOf('bound');
    const names = [
      '--mllp-certificate',
      'O = Hospital, CN = lab',
      '--mllp-certificate',
      `ab${'CD'.repeat(31)}`,
    ];
    const { stdout } = await sources(
      ...([
        'set',
        'lab',
        '--format',
        'hl7v2',
        '--mllp-network',
        '::ffff:198.51.100.7/120,198.51.100.0/24',
      ] as const),
      ...[...names, '--mllp-port', '2576', '--json'],
    );
    const fingerprint = ['AB', ...Array.from({ length: 31 }, () => 'CD')].join(':');
    const mllp = {
      networks: ['198.51.100.0/24'],
      certificates: ['CN=lab,O=Hospital', fingerprint],
      port: 2576,
    };
    expect(JSON.parse(stdout).mllp).toEqual(mllp);
    const appended = await appendedBy(service, async () => {
      expect((await sources('set', 'others', '--format', 'hl7v2')).code).toBe(0);
      const both = await sources(
        ...(['set', 'ward', '--format', 'hl7v2', '--key', key, '--mllp-network', '203.0.113.9'] as const),
      );
      expect(both.stdout).toContain(`with key ${key} and over MLLP (203.0.113.9/32).`);
    });
    expect(appended).toEqual(['bound.sources: SourceConfigured', 'bound.sources: SourceConfigured']);
    expect((await sources('list')).stdout).toContain('203.0.113.9/32');
    const configured = await readSources(service.eventLog, workspace);
    const known = noKeys();
    expect(sourceOf(configured, 'hl7v2', { keyId: 'key_of_another', known }).id).toBe('others');
    expect(sourceOf(configured, 'hl7v2', { keyId: key, known }).id).toBe('ward');
  });

  test('a source that could claim the connections of another one, of any workspace, is refused', async () => {
    const { sources } = await workspaceOf('mine');
    const { workspace: theirs, sources: others } = await workspaceOf('theirs');
    const set = (id: string, ...args: string[]) => sources('set', id, '--format', 'hl7v2', ...args);
    const network = ['--mllp-network', '233.252.0.0/25'];
    await set('lab', ...network, '--mllp-port', '2576');
    await others('set', 'ward', '--format', 'hl7v2', '--mllp-certificate', 'CN=ward,O=Theirs');
    const appended = await appendedBy(service, async () => {
      for (const args of [
        ['--mllp-network', '233.252.0.0/24'],
        ['--mllp-network', '192.0.2.0/24,233.252.0.64/30', '--mllp-port', '2576'],
      ]) {
        const { code, stderr } = await set('emr', ...args);
        expect([code, stderr]).toEqual([
          1,
          'Source lab, of the format hl7v2, could claim the same connections. Distinguish them by certificate, network or port.\n',
        ]);
      }
      const foreign = await set('emr', '--mllp-certificate', 'O=Theirs,CN=ward', ...network);
      expect(foreign.stderr).toContain(
        `Source ward of the workspace ${theirs}, of the format hl7v2, could claim`,
      );
    });
    expect(appended).toEqual([]);
    const beside = await appendedBy(service, async () => {
      for (const [id, ...args] of [
        ['port', ...network, '--mllp-port', '2577'],
        ['network', '--mllp-network', '233.252.0.128/25'],
        ['certificate', ...network, '--mllp-certificate', 'CN=lab,O=Mine'],
      ]) {
        expect((await set(id as string, ...args)).stderr).toBe('');
      }
    });
    expect(beside).toHaveLength(3);
  });

  test('doctor tells of sources that the settings do not reach', async () => {
    const { workspace, sources } = await workspaceOf('reach');
    const bind = (id: string, ...args: string[]) => sources('set', id, '--format', 'hl7v2', ...args);
    await bind('ported', '--mllp-network', '192.0.2.64/26', '--mllp-port', '2579');
    await bind('certified', '--mllp-certificate', 'CN=certified,O=Reach');
    const doctor = async (env: Record<string, string>) => {
      const { stdout } = await runCli(['doctor', '--json'], { env: { ...storesOf(service.config), ...env } });
      const results: { check: string; code?: string; message: string }[] = JSON.parse(stdout);
      return results.filter(
        ({ check, message }) => check === 'mllp' && !/(?:bound|mine|theirs)_/.test(message),
      );
    };
    const problem = (id: string, text: string) =>
      expect.objectContaining({
        code: 'source_not_reached',
        message: `Source ${id} of the workspace ${workspace} ${text}`,
      });
    const found = await doctor({ ROLES: 'mllp' });
    expect(found).toEqual([
      problem('ported', 'is bound to port 2579, which MLLP_PORT does not name.'),
      problem(
        'certified',
        'is bound to client certificates, which are requested only if MLLP_TLS_CA is set.',
      ),
    ]);
    expect(await doctor({ ROLES: 'mllp', MLLP_PORT: '2575,2579', ...tlsSettings() })).toEqual([]);
    expect(await doctor({ ROLES: 'api' })).toEqual([]);
    const broken = { ...tlsSettings(), MLLP_TLS_KEY: 'test/fixtures/tls/mllp/lab.key' };
    expect(await doctor({ ROLES: 'mllp', ...broken })).toMatchObject([{ code: 'unavailable' }]);
  });
});
