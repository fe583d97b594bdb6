import { readdirSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { hostsOf } from '../../src/backends/eventstoredb/driverUrl.ts';
import { loadConfig } from '../../src/config.ts';
import { openapiDocument } from '../../src/http/endpoints/index.ts';
import { settingNames } from '../../src/settings.ts';

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
    const fixed = ['DATA_DIR', 'HOST', 'PORT'];
    expect(Object.keys(settingsFrom({})).sort()).toEqual(
      settingNames.filter((name) => !fixed.includes(name)).sort(),
    );
    expect(services.chartledger.ports).toEqual([expect.stringContaining(`\${PORT:-${loadConfig({}).port}}`)]);
  });

  test('starts the same with a copy of .env.example as without', () => {
    expect(settingsFrom(parseEnv(read('.env.example')))).toEqual(settingsFrom({}));
  });

  test('gives the other images variables that they know', () => {
    const unknown = entries
      .filter(([name]) => name !== 'chartledger')
      .flatMap(([, { image, environment = {} }]) => {
        const known = knownToImage[image.split(':')[0]] ?? [];
        return Object.keys(environment).filter((name) => !known.includes(name));
      });
    expect(unknown).toEqual([]);
  });

  test('publishes ports on 127.0.0.1 alone', () => {
    const ports: string[] = entries.flatMap(([, { ports = [] }]) => ports);
    expect(ports).toHaveLength(5);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test('waits for what is there and can be waited for', () => {
    const waits = entries.flatMap(([, { depends_on = {} }]) =>
      Object.entries<{ condition: string; required?: boolean }>(depends_on),
    );
    expect(waits).toHaveLength(8);
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
    const profiles = entries.flatMap(([name, { profiles = [] }]) =>
      profiles.map((one: string) => [one, name]),
    );
    const hosts = named.flatMap(([, profile, url]) => hostsOf(url ?? '').map((host) => [profile, host]));
    expect(hosts).toEqual(profiles.map(([profile, name]) => [profile, `${name}:2113`]));
    for (const [, , url] of named) expect(loadConfig({ EVENT_LOG_URL: url }).eventLogUrl).toBe(url);
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
    expect(used.sort()).toEqual(Object.keys(volumes).sort());
    expect(entries.map(([, { image }]) => image).filter((image) => !/:\d/.test(image))).toEqual([]);
    expect(services.chartledger.image).toBe(`chartledger:${version}`);
    expect(services.chartledger).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });
});

describe('the Kubernetes manifests', () => {
  const kustomization = parse(read(`${folder}/kustomization.yaml`));
  const objects = manifests
    .filter((name) => name !== 'kustomization.yaml')
    .flatMap((name) => {
      const documents = parseAllDocuments(read(`${folder}/${name}`));
      expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
      return documents.map((document) => document.toJS());
    });
  const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
  const deployments = ofKind('Deployment');
  const pods = deployments.map(({ spec }) => spec.template);
  const settings: string[] = kustomization.configMapGenerator[0].literals;
  const { paths } = openapiDocument(false) as { paths: object };

  test('are all in the kustomization, with the version of the package', () => {
    expect([...kustomization.resources, 'kustomization.yaml'].sort()).toEqual(manifests.sort());
    expect(kustomization.images).toEqual([{ name: 'chartledger', newTag: version }]);
  });

  test.each(['api', 'projector', 'webhooks', 'heads'])('give the %s role settings that it takes', (role) => {
    const [container] = deployments.find(({ metadata }) => metadata.name === `chartledger-${role}`).spec
      .template.spec.containers;
    const own = container.env.map(({ name, value }: { name: string; value: string }) => [name, value]);
    const shared = settings.map((line) => /^(\w+)=(.*)$/.exec(line)?.slice(1, 3) as [string, string]);
    const env = Object.fromEntries([...shared, ...own]);
    expect(Object.keys(env).filter((name) => !settingNames.includes(name))).toEqual([]);
    expect(loadConfig(env)).toMatchObject({ roles: [role], documentsUrl: expect.stringMatching(/^gs:/) });
    expect(container.envFrom).toEqual([
      { configMapRef: { name: kustomization.configMapGenerator[0].name } },
      { secretRef: { name: 'chartledger-stores' } },
      ...(role === 'heads' ? [{ secretRef: { name: 'chartledger-signing' } }] : []),
    ]);
  });

  const [verify] = ofKind('CronJob');
  const verifyPod = verify.spec.jobTemplate.spec.template;

  test('give the key that signs to the job that verifies and to what sends heads alone', () => {
    const secretsOf = ({ spec }: (typeof pods)[number]) =>
      spec.containers[0].envFrom.flatMap(
        ({ secretRef }: { secretRef?: { name: string } }) => secretRef?.name ?? [],
      );
    expect(secretsOf(verifyPod)).toEqual(['chartledger-stores', 'chartledger-signing']);
    const signing = deployments.filter(({ spec }) =>
      secretsOf(spec.template).includes('chartledger-signing'),
    );
    expect(signing.map(({ metadata }) => metadata.name)).toEqual(['chartledger-heads']);
    const readme = read(`${folder}/README.md`);
    const kept = (secret: string, file: string) => {
      expect(readme).toContain(`secret generic ${secret} --from-env-file=${file}`);
      const written = readme.matchAll(new RegExp(`"(\\w+)=\\$\\(openssl .*?\\)" >>? ${file}`, 'g'));
      return [...written].map(([, name]) => name);
    };
    expect(kept('chartledger-signing', 'signing.env')).toEqual(['SIGNING_KEY']);
    expect(kept('chartledger-stores', 'stores.env')).toEqual([
      'DEIDENTIFICATION_KEY',
      'WEBHOOK_SECRETS_KEY',
      'TOTP_SECRETS_KEY',
      'SESSION_SECRET',
    ]);
  });

  test('close the network but for what is needed', () => {
    const policies = ofKind('NetworkPolicy').map(({ spec }) => spec);
    expect(policies).toContainEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const ingress = policies.filter(({ ingress }) => ingress);
    expect(ingress.map(({ podSelector }) => podSelector.matchLabels)).toEqual([pods[0].metadata.labels]);
    expect(ingress[0].ingress[0].ports).toEqual([{ protocol: 'TCP', port: loadConfig({}).port }]);
    const meant = policies.filter(({ podSelector }) => podSelector.matchLabels);
    for (const { podSelector } of meant) {
      const isMeant = ({ metadata }: (typeof pods)[number]) =>
        Object.entries(podSelector.matchLabels).every(([name, value]) => metadata.labels[name] === value);
      expect([...pods, verifyPod].some(isMeant)).toBe(true);
    }
  });

  test('probe paths that the service answers, on the port on which it listens', () => {
    for (const { spec } of pods) {
      const [container] = spec.containers;
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
      expect(probes.map(({ httpGet }) => httpGet.path)).toEqual(['/healthz', '/healthz', '/readyz']);
      expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/healthz', '/readyz']));
      expect(new Set(probes.map(({ httpGet }) => httpGet.port))).toEqual(new Set(['http']));
      expect(container.ports).toEqual([{ name: 'http', containerPort: loadConfig({}).port }]);
    }
  });

  test('run without any privilege and within limits', () => {
    expect(pods).toHaveLength(4);
    for (const { spec } of [...pods, verifyPod]) {
      expect(spec.automountServiceAccountToken).toBe(false);
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      const [container] = spec.containers;
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      for (const bounds of [container.resources.requests, container.resources.limits]) {
        expect(Object.keys(bounds).sort()).toEqual(['cpu', 'memory']);
      }
    }
  });

  test('select the pods that they mean, at least two of each role', () => {
    const selectors = [...deployments, ...ofKind('PodDisruptionBudget')].map(
      ({ spec }) => spec.selector.matchLabels,
    );
    const spreads = pods.flatMap(({ spec }) =>
      spec.topologySpreadConstraints.map(
        ({ labelSelector }: { labelSelector: { matchLabels: object } }) => labelSelector.matchLabels,
      ),
    );
    for (const selector of [
      ...selectors,
      ...spreads,
      ...ofKind('Service').map(({ spec }) => spec.selector),
    ]) {
      expect(pods.map(({ metadata }) => metadata.labels)).toContainEqual(selector);
    }
    const [autoscaler] = ofKind('HorizontalPodAutoscaler');
    const { name } = autoscaler.spec.scaleTargetRef;
    const replicas = deployments.map(({ metadata, spec }) =>
      metadata.name === name ? autoscaler.spec.minReplicas : spec.replicas,
    );
    expect(replicas).toEqual([2, 2, 2, 2]);
  });
});
