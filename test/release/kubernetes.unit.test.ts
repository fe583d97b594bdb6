import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { openapiDocument } from '../../src/api/routes/index.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { type MetricName, metricDefinitions } from '../../src/platform/metrics/catalog.ts';
import { prometheusName } from '../../src/platform/metrics/metrics.ts';
import { settingNames } from '../../src/platform/settings.ts';

const read = (path: string) => readFileSync(path, 'utf8');
const { version } = JSON.parse(read('package.json'));
const folder = 'ops/kubernetes';
const manifests = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

describe('the Kubernetes manifests', () => {
  const kustomization = parse(read(`${folder}/kustomization.yaml`));
  const objects = manifests
    .filter((name) => name !== 'kustomization.yaml')
    .flatMap((name) => {
      const documents = parseAllDocuments(read(`${folder}/${name}`));
      expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
      return documents.map((document) => document.toJS());
    });

  const ingress = parse(read('ops/kubernetes-ingress/ingress.yaml'));
  test.each([...objects, ingress].map((object) => [object.kind, object.metadata.name, object]))(
    'are what the schemas of Kubernetes take: %s %s',
    async (kind, _name, object) => {
      const models = await import(`kubernetes-models/${object.apiVersion}`);
      expect(() => new models[kind](object).validate()).not.toThrow();
      expect(() => new models[kind]({ ...object, metadata: { name: 1 } }).validate()).toThrow();
    },
  );

  const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
  const deployments = ofKind('Deployment');
  const pods = deployments.map(({ spec }) => spec.template);
  const settings: string[] = kustomization.configMapGenerator[0].literals;
  const { metricsPort, drainSeconds } = loadConfig(
    Object.fromEntries(settings.map((line) => line.split(/=(.*)/).slice(0, 2) as [string, string])),
  );
  const { paths } = openapiDocument(false) as { paths: object };

  test('are all in the kustomization, with the version of the package', () => {
    // Who has senders of MLLP turns that on.
    expect(read(`${folder}/kustomization.yaml`)).toContain('\n  # - mllp.yaml\n');
    const named = [...kustomization.resources, 'mllp.yaml', 'kustomization.yaml'];
    expect(named.sort()).toEqual(manifests.sort());
    expect(kustomization.images).toEqual([{ name: 'chartledger', newTag: version }]);
  });

  /** The keys that each role needs, by the Secret that holds them. */
  const secretsOfRole: Record<string, string[]> = {
    api: ['chartledger-webhook-secrets', 'chartledger-deidentification', 'chartledger-sign-in'],
    projector: [],
    webhooks: ['chartledger-webhook-secrets', 'chartledger-deidentification'],
    heads: ['chartledger-signing'],
    mllp: ['chartledger-webhook-secrets'],
  };
  const roles = ['api', 'projector', 'webhooks', 'heads', 'mllp'];
  test.each(roles)('give the %s role settings that it takes', (role) => {
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
      ...(secretsOfRole[role] ?? []).map((name) => ({ secretRef: { name } })),
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
    expect(kept('chartledger-stores', 'stores.env')).toEqual([]);
    expect(kept('chartledger-webhook-secrets', 'webhooks.env')).toEqual(['WEBHOOK_SECRETS_KEY']);
    expect(kept('chartledger-deidentification', 'deidentification.env')).toEqual(['DEIDENTIFICATION_KEY']);
    expect(kept('chartledger-sign-in', 'sign-in.env')).toEqual(['TOTP_SECRETS_KEY', 'SESSION_SECRET']);
  });

  test('close the network but for what is needed', () => {
    const policies = ofKind('NetworkPolicy').map(({ spec }) => spec);
    expect(policies).toContainEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const ingress = policies.filter(({ ingress }) => ingress);
    const { port, mllp } = loadConfig({});
    const portsByRole = ingress.map(({ podSelector, ingress: [from] }) => [
      podSelector.matchLabels['app.kubernetes.io/component'],
      from.ports,
    ]);
    const open = (one: number | undefined) => [{ protocol: 'TCP', port: one }];
    expect(Object.fromEntries(portsByRole)).toEqual({
      api: open(port),
      mllp: open(mllp.ports[0]),
      // Of every pod.
      undefined: open(metricsPort),
    });
    const meant = policies.filter(({ podSelector }) => podSelector.matchLabels);
    for (const { podSelector } of meant) {
      const isMeant = ({ metadata }: (typeof pods)[number]) =>
        Object.entries(podSelector.matchLabels).every(([name, value]) => metadata.labels[name] === value);
      expect([...pods, verifyPod].some(isMeant)).toBe(true);
    }
  });

  test('let each role reach only what it uses', () => {
    const reached = (component: string) =>
      ofKind('NetworkPolicy')
        .filter(({ spec: { podSelector, egress } }) => {
          const { matchLabels, matchExpressions = [] } = podSelector;
          const own = matchLabels?.['app.kubernetes.io/component'] ?? component;
          return (
            egress &&
            own === component &&
            matchExpressions.every(({ values }: { values: string[] }) => values.includes(component))
          );
        })
        .map(({ metadata }) => metadata.name.replace('chartledger-', ''));
    expect(Object.fromEntries([...roles, 'verify'].map((role) => [role, reached(role)]))).toEqual({
      api: ['stores', 'documents', 'identity-provider'],
      projector: ['stores', 'documents'],
      webhooks: ['stores', 'documents', 'messages'],
      heads: ['stores', 'documents', 'heads-to'],
      mllp: ['stores', 'documents'],
      verify: ['stores'],
    });
  });

  test('probe paths that the service answers, on the port on which it listens', () => {
    for (const { spec } of pods) {
      const [container] = spec.containers;
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
      expect(probes.map(({ httpGet }) => httpGet.path)).toEqual(['/healthz', '/healthz', '/readyz']);
      expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/healthz', '/readyz']));
      expect(new Set(probes.map(({ httpGet }) => httpGet.port))).toEqual(new Set(['http']));
      const { port, mllp } = loadConfig({});
      const isMllp = container.env[0].value === 'mllp';
      const own = isMllp ? [{ name: 'mllp', containerPort: mllp.ports[0] }] : [];
      expect(container.ports).toEqual([
        { name: 'http', containerPort: port },
        { name: 'metrics', containerPort: metricsPort },
        ...own,
      ]);
    }
  });

  test('have Prometheus collect from every pod that listens', () => {
    const folder = 'ops/kubernetes-monitoring';
    const monitor = parse(read(`${folder}/pod-monitor.yaml`));
    expect(parse(read(`${folder}/kustomization.yaml`))).toMatchObject({
      namespace: kustomization.namespace,
      resources: ['../kubernetes', 'pod-monitor.yaml'],
    });
    const { selector, podMetricsEndpoints, podTargetLabels } = monitor.spec;
    for (const { metadata, spec } of pods) {
      expect(metadata.labels).toMatchObject(selector.matchLabels);
      expect(Object.keys(metadata.labels)).toEqual(expect.arrayContaining(podTargetLabels));
      const names = spec.containers[0].ports.map(({ name }: { name: string }) => name);
      expect(names).toContain(podMetricsEndpoints[0].port);
    }
  });

  test('may scale by what the service exports, as the README has it', async () => {
    const [, example = ''] = /^```yaml\n(.*?)^```/ms.exec(read(`${folder}/README.md`)) ?? [];
    const [autoscaler] = ofKind('HorizontalPodAutoscaler');
    const more = parse(example);
    const metrics = [...autoscaler.spec.metrics, ...more];
    const { HorizontalPodAutoscaler } = await import('kubernetes-models/autoscaling/v2');
    const scaled = { ...autoscaler, spec: { ...autoscaler.spec, metrics } };
    expect(() => new HorizontalPodAutoscaler(scaled).validate()).not.toThrow();
    const exported = (Object.keys(metricDefinitions) as MetricName[]).map(prometheusName);
    for (const { pods } of more) expect(exported).toContain(pods.metric.name);
  });

  test('let a pod go on for as long as balancers need, and end what runs before it is killed', () => {
    for (const { spec } of pods) {
      const [, seconds] = spec.containers[0].lifecycle?.preStop.exec.command ?? ['sleep', '0'];
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + drainSeconds);
    }
    const [api] = pods;
    expect(Number(api.spec.containers[0].lifecycle.preStop.exec.command[1])).toBeGreaterThanOrEqual(15);
  });

  test('have an Ingress on top, to the port of the Service, for uploads of the size that is taken', () => {
    const overlay = parse(read('ops/kubernetes-ingress/kustomization.yaml'));
    expect(overlay).toMatchObject({
      namespace: kustomization.namespace,
      resources: ['../kubernetes', 'ingress.yaml'],
    });
    const { spec, metadata } = parse(read('ops/kubernetes-ingress/ingress.yaml'));
    const [service] = ofKind('Service');
    const { backend } = spec.rules[0].http.paths[0];
    expect(backend.service).toEqual({
      name: service.metadata.name,
      port: { name: service.spec.ports[0].name },
    });
    expect(spec.tls[0].hosts).toEqual([spec.rules[0].host]);
    expect(metadata.annotations['nginx.ingress.kubernetes.io/proxy-body-size']).toBe('256m');
    const allowed = ofKind('NetworkPolicy').find(({ metadata: { name } }) => name === 'chartledger-requests');
    expect(allowed.spec.ingress[0].from).toHaveLength(1);
  });

  test('run without any privilege and within limits', () => {
    expect(pods).toHaveLength(5);
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
    expect(replicas).toEqual([2, 2, 2, 2, 2]);
  });
});
