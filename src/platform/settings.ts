import { z } from 'zod';
import {
  base64,
  baseUrl,
  endpoint,
  eventLogUrl,
  headsPlace,
  MAX_RETENTION_YEARS,
  MIN_RETENTION_YEARS,
  networks,
  oneOrTwo,
  onOff,
  pathUrl,
  portNumbers,
  requiringRoles,
  rolesByGroup,
  safeUrl,
  sealingKey,
  trustProxy,
  variable,
  wholeNumber,
} from './settingTypes.ts';

/** What a process can do; several processes share the work by each doing less. */
const usualRoles = ['api', 'projector', 'webhooks', 'heads'] as const;
const allRoles = [...usualRoles, 'mllp'] as const;

export type Role = (typeof allRoles)[number];

/** Every setting, with its default, and with the text for the settings reference and `.env.example`. */
export const settings = z.object({
  DATA_DIR: variable(z.string().default('data'), 'The folder that holds the embedded stores.'),
  EVENT_LOG_URL: variable(
    eventLogUrl.optional(),
    'The event log: `sqlite:FILE`; EventStoreDB as `esdb://NODE-1,NODE-2,…` (list all nodes) or ' +
      '`esdb+discover://NAME`; or KurrentDB as `kurrentdb://…` or `kurrentdb+discover://…`. ' +
      '`?defaultDeadline=5000` is how many milliseconds a request waits for an answer of the server in all.',
    '`events.db` in `DATA_DIR`',
  ),
  READ_MODEL_URL: variable(
    pathUrl('sqlite', 'mongodb', 'mongodb+srv').optional(),
    'The read models: `sqlite:FILE`, or MongoDB as `mongodb://…` or `mongodb+srv://…`. The path of the URL ' +
      'names the database (`chartledger` if it has no path).',
    '`read-models.db` in `DATA_DIR`',
  ),
  STATE_URL: variable(
    pathUrl('sqlite', 'mongodb', 'mongodb+srv').optional(),
    'Webhook deliveries, sessions, idempotency keys and leases: `sqlite:FILE`, or MongoDB as in `READ_MODEL_URL`.',
    'the MongoDB of `READ_MODEL_URL`, else `state.db` in `DATA_DIR`',
  ),
  DOCUMENTS_URL: variable(
    pathUrl('file', 'gs').optional(),
    'The contents of documents: `file:FOLDER`, or `gs://BUCKET/PREFIX` for Google Cloud Storage; append ' +
      '`?endpoint=http://HOST:PORT` to use an emulator.',
    '`documents` in `DATA_DIR`',
  ),
  PORT: variable(
    wholeNumber(0, 65_535).default(3000),
    'The port that the service listens on. With Docker Compose: the port on this machine.',
  ),
  HOST: variable(
    z.string().default('127.0.0.1'),
    'The address that the service listens on. With Docker Compose, the service is reachable on 127.0.0.1 ' +
      'only.',
  ),
  REQUEST_THREADS: variable(
    wholeNumber(1, 64).optional(),
    'The number of threads that answer requests. All listen on the same port; each uses about 110 MB of ' +
      'memory. Systems other than Linux may support only `1`.',
    'on Linux, the number of processors minus two, at least 1 and at most 4; elsewhere 1',
  ),
  METRICS_PORT: variable(
    wholeNumber(0, 65_535).optional(),
    'The port that serves metrics to Prometheus, at `/metrics`. No key is needed to read them.',
    'metrics are not served',
  ),
  METRICS_HOST: variable(z.string().optional(), 'The address that serves metrics.', 'the value of `HOST`'),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    endpoint.optional(),
    'The OpenTelemetry collector that metrics are sent to once a minute (OTLP over HTTP): ' +
      '`http://collector:4318`.',
    'none',
  ),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: variable(
    endpoint.optional(),
    'The full address to send metrics to, if it is not `/v1/metrics` below `OTEL_EXPORTER_OTLP_ENDPOINT`.',
    'none',
  ),
  KEEP_ALIVE_SECONDS: variable(
    wholeNumber(1, 86_400).default(75),
    'Seconds that an idle connection is kept open. Set it higher than the idle timeout of the load ' +
      'balancer in front of the service.',
  ),
  DRAIN_SECONDS: variable(
    wholeNumber(0, 3_600).default(10),
    'Seconds that requests in progress have to finish when the service is stopped.',
  ),
  RATE_LIMIT_PER_MINUTE: variable(
    wholeNumber(0, 1_000_000_000).default(100),
    'API requests per minute from one client IP address (for IPv6, one /64); `0` turns the limit off.',
  ),
  BATCH_LINES_PER_MINUTE: variable(
    wholeNumber(0, 1_000_000_000).default(1_000_000),
    'Batch lines per minute for one workspace; `0` turns the limit off.',
  ),
  BATCH_CONCURRENCY: variable(
    wholeNumber(1, 1_000).default(2),
    'Batches that each request thread processes at the same time; one workspace has at most half of them, or ' +
      'one. Each may use about 150 MB of memory. Further batches wait for five seconds, and are then asked ' +
      'to retry later.',
  ),
  DASHBOARD_RATE_LIMIT_PER_MINUTE: variable(
    wholeNumber(0, 1_000_000_000).default(120),
    'Dashboard requests per minute in one session, or before sign-in from one address (for IPv6, one /64); ' +
      '`0` turns the limit off.',
  ),
  TRUST_PROXY: variable(
    trustProxy.default('0'),
    'The proxies whose `X-Forwarded-For` is trusted: a number of hops, or addresses and networks, ' +
      'comma-separated.',
  ),
  DOCUMENT_RETENTION_DAYS: variable(
    wholeNumber(0, 36_500).default(30),
    'Days that replaced and removed documents are kept.',
  ),
  RETENTION_YEARS: variable(
    wholeNumber(MIN_RETENTION_YEARS, MAX_RETENTION_YEARS).optional(),
    'Years that records are kept in workspaces without a retention period of their own: ' +
      '`chartledger retention` lists and erases records that have not been changed, and have no encounter ' +
      'dated, within this period.',
    'forever',
  ),
  SIGNING_KEY: variable(
    oneOrTwo(base64(32)).optional(),
    'Signs exports and tree heads: an Ed25519 private key (PKCS#8, DER, base64), the same for all ' +
      'instances. During a rotation: the old and the new key, separated by a comma.',
    '`signing-key` in `DATA_DIR`, created when first needed',
  ),
  HEADS_TO: variable(
    headsPlace.optional(),
    "Where signed heads of each workspace's history, and notices of erasures, are sent: an existing " +
      'folder, as a path or as `file:FOLDER`; `gs://BUCKET/PREFIX`; or an `https:` address that accepts ' +
      'POST requests. The role `heads` sends them.',
    'nowhere',
  ),
  HEADS_EVERY_MINUTES: variable(
    wholeNumber(1, 525_600).default(60),
    'How often to send a head for each workspace that has grown since its last one.',
  ),
  DEIDENTIFICATION_KEY: variable(
    oneOrTwo(base64(32)).optional(),
    'Keys the hashes that replace ids in the de-identified view: 32 bytes or more, base64, the same for ' +
      'all instances. During a rotation: the old and the new key, separated by a comma.',
    '`deidentification-key` in `DATA_DIR`, created when first needed',
  ),
  WEBHOOK_SECRETS_KEY: variable(
    oneOrTwo(sealingKey).optional(),
    'Seals webhook secrets in the event log, and keys the digests of idempotency keys: 32 bytes, base64, ' +
      'the same for all instances and the command line. During a rotation and for one day afterwards: the ' +
      'old and the new key, separated by a comma.',
    '`webhook-secrets-key` in `DATA_DIR`, created when first needed',
  ),
  SESSION_SECRET: variable(
    base64(32).optional(),
    "Signs the dashboard's cookies: 32 bytes or more, base64, the same for all instances.",
    '`session-secret` in `DATA_DIR`, created when first needed',
  ),
  TOTP_SECRETS_KEY: variable(
    sealingKey.optional(),
    'Seals the secrets of authenticator apps in the event log: 32 bytes, base64, the same for all instances.',
    '`totp-secrets-key` in `DATA_DIR`, created when first needed',
  ),
  DASHBOARD_REQUIRE_TOTP: variable(
    requiringRoles.optional(),
    'Users who sign in with a password also need an authenticator app: `true` for all, or the roles, anywhere, for ' +
      'which it is required (comma-separated): `admin`, `compliance`, `billing`, `integrator`, `viewer`.',
    '`false`',
  ),
  WEBHOOK_ALLOW_NETWORKS: variable(
    networks.optional(),
    'Non-public networks (CIDR, comma-separated) that webhooks may reach; `http:` is allowed there.',
    'none',
  ),
  OPENAPI_PUBLIC: variable(
    onOff.default(false),
    '`true`: the OpenAPI document, the event catalog and the event schemas can be read without a key.',
  ),
  PUBLIC_URL: variable(
    baseUrl.optional(),
    "The service's address as clients see it, for example `https://chartledger.example.com`.",
    'the address that a request was sent to',
  ),
  OIDC_ISSUER: variable(
    safeUrl.optional(),
    'The identity provider (OpenID Connect) that people use to sign in to the dashboard. Requires the next ' +
      'two settings.',
    'none',
  ),
  OIDC_CLIENT_ID: variable(
    z.string().optional(),
    "The dashboard's client id at the identity provider.",
    'none',
  ),
  OIDC_CLIENT_SECRET: variable(
    z.string().optional(),
    "The dashboard's client secret at the identity provider.",
    'none',
  ),
  OIDC_ROLE_CLAIM: variable(
    z.string().default('roles'),
    "The ID token claim that holds the user's roles or groups. `admin`, `compliance`, `billing`, `integrator` or " +
      '`viewer` is a role in all workspaces, `billing@clinic` one in a workspace.',
  ),
  OIDC_GROUPS: variable(
    rolesByGroup.optional(),
    'Roles for groups in that claim, as JSON: `{"Clinic billing": ["billing@clinic", "viewer@lab"]}`.',
    'none',
  ),
  ROLES: variable(
    z
      .string()
      .default(usualRoles.join())
      .transform((value) => value.split(',').map((role) => role.trim()))
      .pipe(z.array(z.enum(allRoles, { error: `must be a list of ${allRoles.join(', ')}` }))),
    'What this process does: `api` answers requests, `projector` keeps the read models up to date, ' +
      '`webhooks` sends messages, `heads` signs and sends heads if `HEADS_TO` is set, `mllp` accepts HL7 ' +
      'v2 messages over MLLP.',
  ),
  MLLP_PORT: variable(
    portNumbers.default([2575]),
    'The port that the role `mllp` listens on, or several, comma-separated. With Docker Compose: the port ' +
      'on this machine.',
  ),
  MLLP_HOST: variable(
    z.string().default('127.0.0.1'),
    'The address that the role `mllp` listens on. With Docker Compose, it is reachable on 127.0.0.1 only.',
  ),
  MLLP_CONNECTIONS: variable(
    wholeNumber(1, 10_000).default(100),
    'The maximum number of concurrent MLLP connections. Each may use about 2 MB of memory; further ' +
      'connections are closed. One address or source may hold half of them, one workspace three quarters. As ' +
      'many more may be open whose sender is not identified yet, a quarter of them from one address, for 15 seconds.',
  ),
  MLLP_IDLE_SECONDS: variable(
    wholeNumber(1, 604_800).default(3_600),
    'Seconds that an idle MLLP connection is kept open.',
  ),
  MLLP_TLS_CERTIFICATE: variable(
    z.string().optional(),
    'The certificate for MLLP over TLS, followed by its intermediate certificates: the path of a PEM file. ' +
      'Requires the next setting. Replaced files take effect within a minute.',
    'MLLP is not encrypted',
  ),
  MLLP_TLS_KEY: variable(
    z.string().optional(),
    'The private key of that certificate: the path of a PEM file.',
    'none',
  ),
  MLLP_TLS_CA: variable(
    z.string().optional(),
    'The certificate authorities trusted to issue client certificates, which can identify sources: the ' +
      'path of a PEM file.',
    'no client certificate is requested',
  ),
  ALLOW_OTHER_EVENT_LOG: variable(
    onOff.default(false),
    '`true`, for one start only: start even though documents or read models belong to another event log, ' +
      'which is permanently lost.',
  ),
  ALLOW_OTHER_KEYS: variable(
    onOff.default(false),
    '`true`, for one start only: start even though a key is not the one that the event log knows, which is ' +
      'permanently lost.',
  ),
  ALLOW_NEW_STATE_STORE: variable(
    onOff.default(false),
    '`true`, for one start only: create a state store although there was one beside this event log, which is ' +
      'permanently lost.',
  ),
  LOG_LEVEL: variable(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  ),
  NODE_ENV: variable(
    z.string().default('development'),
    'With `production`, the first start does not create an API key; create one with ' +
      '`chartledger keys create`.',
  ),
});

/** A setting, as described in the reference. */
export interface SettingDescription {
  name: string;
  /** As one would write it; undefined where the setting is unset. */
  defaultValue: string | undefined;
  /** What it means when a setting without a default value is unset. */
  whenUnset: string | undefined;
  description: string;
}

/** Returns every setting, in the order in which they are explained. */
export function describeSettings(): SettingDescription[] {
  return Object.entries(settings.shape).map(([name, setting]) => {
    const value = setting.parse(undefined);
    const { description = '', whenUnset } = setting.meta() as { description?: string; whenUnset?: string };
    return { name, defaultValue: value === undefined ? undefined : String(value), whenUnset, description };
  });
}

/** The names of all settings: the environment variables that the service reads. */
export const settingNames: readonly string[] = Object.keys(settings.shape);
