import { readdirSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/platform/config.ts';
import { settingNames } from '../../src/platform/settings.ts';
import { hostsOf } from '../../src/storage/engines/eventstoredb/client.ts';

const read = (path: string) => readFileSync(path, 'utf8');
const { version } = JSON.parse(read('package.json'));
const folder = 'ops/kubernetes';
const manifests = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

/** Variables that the other images know, besides the service's own settings. */
const knownToImage: Record<string, string[]> = {
  'eventstore/eventstore': [
    'EVENTSTORE_INSECURE',
    'EVENTSTORE_CLUSTER_SIZE',
    'EVENTSTORE_RUN_PROJECTIONS',
    'EVENTSTORE_TELEMETRY_OPTOUT',
    'EVENTSTORE_DISCOVER_VIA_DNS',
    'EVENTSTORE_NODE_IP',
    'EVENTSTORE_REPLICATION_IP',
    'EVENTSTORE_GOSSIP_SEED',
    'EVENTSTORE_NODE_HOST_ADVERTISE_AS',
    'EVENTSTORE_REPLICATION_HOST_ADVERTISE_AS',
  ],
  'kurrentplatform/kurrentdb': [
    'KURRENTDB_INSECURE',
    'KURRENTDB_CLUSTER_SIZE',
    'KURRENTDB_RUN_PROJECTIONS',
    'KURRENTDB_TELEMETRY_OPTOUT',
  ],
};

describe('files for operators', () => {
  const files = ['docker-compose.yml', '.env.example', ...manifests.map((name) => `${folder}/${name}`)];

  test.each(files)('%s holds no credentials', (path) => {
    const text = read(path);
    expect(text).not.toMatch(/:\/\/[^\s/]+@/);
    expect(text).not.toMatch(
      /\w*(?:PASSWORD|SECRET|TOKEN|_KEY)\w*[ \t]*[:=][ \t]*(?!\$\{\w+:-(?:false)?\}|-(?:false)?\}|false\b)\S/,
    );
    expect(text).not.toMatch(/kind: Secret/);
  });
});

describe('ops/systemd', () => {
  const units = readdirSync('ops/systemd').map((name) => ({ name, text: read(`ops/systemd/${name}`) }));
  const settingOf = (text: string, key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1];

  test('the service starts as `npm start` does, and is waited for as long as it drains', () => {
    const { text } = units.find(({ name }) => name === 'chartledger.service') as { text: string };
    const [, options] = /exec node (.*)$/.exec(JSON.parse(read('package.json')).scripts.start) ?? [];
    expect(settingOf(text, 'ExecStart')).toBe(`/opt/chartledger/node_modules/.bin/node ${options}`);
    expect(Number(settingOf(text, 'TimeoutStopSec'))).toBeGreaterThan(loadConfig({}).drainSeconds);
    expect(settingOf(text, 'KillSignal')).toBe('SIGTERM');
  });

  test('no unit runs as root', () => {
    const services = units.filter(({ name }) => name.endsWith('.service'));
    expect(services.map(({ text }) => settingOf(text, 'User'))).toEqual(services.map(() => 'chartledger'));
  });
});

describe('docker-compose.yml', () => {
  const { services, volumes } = parse(read('docker-compose.yml'), { merge: true });
  // biome-ignore lint/suspicious/noExplicitAny: YAML of a format that others define
  const entries: [string, any][] = Object.entries(services);

  /** The service's settings as Compose makes them of an environment. */
  function settingsFrom(env: Record<string, string | undefined>): Record<string, string> {
    const given: [string, string][] = Object.entries(services.chartledger.environment);
    return Object.fromEntries(
      given.map(([name, value]) => {
        const [, variable, fallback] = /^\$\{(\w+):-(.*)\}$/.exec(value) as unknown as [
          string,
          string,
          string,
        ];
        expect(variable).toBe(name);
        return [name, env[variable] || fallback];
      }),
    );
  }

  test('gives the service settings that it takes, on the production engines', () => {
    const settings = settingsFrom({});
    expect(Object.keys(settings).filter((name) => !settingNames.includes(name))).toEqual([]);
    expect(loadConfig(settings)).toMatchObject({
      eventLogUrl: expect.stringMatching(/^esdb:\/\/eventstoredb:/),
      readModelUrl: expect.stringMatching(/^mongodb:\/\/mongodb:/),
      documentsUrl: expect.stringMatching(/^gs:\/\/chartledger\/.*endpoint=http:\/\/gcs:/),
    });
  });

  test('lets every setting be changed but those that belong to the container', () => {
    const fixed = ['BUILD_ID', 'DATA_DIR', 'HOST', 'PORT', 'MLLP_HOST', 'MLLP_PORT'];
    expect(Object.keys(settingsFrom({})).sort()).toEqual(
      settingNames.filter((name) => !fixed.includes(name)).sort(),
    );
    const { port, mllp } = loadConfig({});
    expect(services.chartledger.ports).toEqual([
      expect.stringContaining(`\${PORT:-${port}}`),
      expect.stringContaining(`\${MLLP_PORT:-${mllp.ports}}`),
    ]);
  });

  test('starts the same with a copy of .env.example as without', () => {
    expect(settingsFrom(parseEnv(read('.env.example')))).toEqual(settingsFrom({}));
  });

  test('gives the other images variables that they know', () => {
    const unknown = entries
      .filter(([, { image }]) => !image.startsWith('chartledger:'))
      .flatMap(([, { image, environment = {} }]) => {
        const known = knownToImage[image.split(':')[0]] ?? [];
        return Object.keys(environment).filter((name) => !known.includes(name));
      });
    expect(unknown).toEqual([]);
  });

  test('publishes ports on 127.0.0.1 alone', () => {
    const ports: string[] = entries.flatMap(([, { ports = [] }]) => ports);
    expect(ports).toHaveLength(7);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test('waits for what is there and can be waited for', () => {
    const waits = entries.flatMap(([, { depends_on = {} }]) =>
      Object.entries<{ condition: string; required?: boolean }>(depends_on),
    );
    expect(waits).toHaveLength(4 * 7 + 1);
    for (const [name, { condition, required = true }] of waits) {
      const { healthcheck, restart, profiles } = services[name];
      expect(required).toBe(profiles === undefined);
      if (condition === 'service_healthy') expect(healthcheck.test[0]).toBe('CMD');
      else expect([condition, restart]).toEqual(['service_completed_successfully', undefined]);
    }
  });

  test('has other event logs in profiles, which the documentation names with their URLs', () => {
    const install = read('docs/operate/install.md');
    const named = [...install.matchAll(/^\| `(\w+)` .*`((?:esdb|kurrentdb):[^`]+)` +\|$/gm)];
    const profiles = entries
      .flatMap(([name, { profiles = [] }]) => profiles.map((one: string) => [one, name]))
      .filter(([profile]) => profile !== 'replicas');
    const hosts = named.flatMap(([, profile, url]) => hostsOf(url ?? '').map((host) => [profile, host]));
    expect(hosts).toEqual(profiles.map(([profile, name]) => [profile, `${name}:2113`]));
    for (const [, , url] of named) expect(loadConfig({ EVENT_LOG_URL: url }).eventLogUrl).toBe(url);
  });

  test('runs each role twice behind a balancer, on the settings of the one process', () => {
    const replicas = entries.filter(([, { deploy }]) => deploy?.replicas === 2);
    const roles = replicas.flatMap(([, { environment }]) => environment.ROLES.split(','));
    expect(roles.sort()).toEqual(loadConfig({ HEADS_TO: 'x' }).roles.toSorted());
    for (const [, { environment, ports, profiles, volumes, image }] of replicas) {
      expect({ image, ports, profiles, volumes }).toEqual({
        ...{ image: services.chartledger.image, volumes: services.chartledger.volumes },
        ...{ ports: [], profiles: ['replicas'] },
      });
      const { ROLES: _, TRUST_PROXY: __, ...others } = environment;
      expect(services.chartledger.environment).toMatchObject(others);
    }
    expect(services.api.environment.TRUST_PROXY).toBe('1');
    const [, copies, name, port] =
      /^ {2}server-template api (\d+) (\w+):(\d+)/m.exec(read('ops/balancer/haproxy.cfg')) ?? [];
    expect([Number(copies), name, Number(port)]).toEqual([2, 'api', loadConfig({}).port]);
  });

  test('names each node of the cluster to the others', () => {
    const nodes = entries.filter(([, { profiles = [] }]) => profiles.includes('cluster'));
    const names = nodes.map(([name]) => name);
    for (const [name, { environment }] of nodes) {
      const { EVENTSTORE_CLUSTER_SIZE: size, EVENTSTORE_GOSSIP_SEED: seeds } = environment;
      expect(size).toBe(String(names.length));
      expect([name, ...seeds.replaceAll(':2113', '').split(',')].sort()).toEqual(names);
      expect(environment.EVENTSTORE_NODE_HOST_ADVERTISE_AS).toBe(name);
      expect(environment.EVENTSTORE_REPLICATION_HOST_ADVERTISE_AS).toBe(name);
    }
  });

  test('keeps data in named volumes, and names the version of every image', () => {
    const used = entries.flatMap(([, { volumes = [] }]) => volumes.map((one: string) => one.split(':')[0]));
    const named = new Set(used.filter((volume) => !volume.startsWith('./')));
    expect([...named].sort()).toEqual(Object.keys(volumes).sort());
    expect(entries.map(([, { image }]) => image).filter((image) => !/:\d/.test(image))).toEqual([]);
    expect(services.chartledger.image).toBe(`chartledger:${version}`);
    expect(services.chartledger).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });
});
