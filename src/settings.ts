import { z } from 'zod';
import {
  base64,
  baseUrl,
  endpoint,
  headsPlace,
  MAX_RETENTION_YEARS,
  MIN_RETENTION_YEARS,
  networks,
  oneOrTwo,
  onOff,
  pathUrl,
  portNumbers,
  safeUrl,
  sealingKey,
  trustProxy,
  variable,
  wholeNumber,
} from './settingTypes.ts';

/** What a process can do; several share the work by doing less each. */
const usualRoles = ['api', 'projector', 'webhooks', 'heads'] as const;
const allRoles = [...usualRoles, 'mllp'] as const;

export type Role = (typeof allRoles)[number];

/** Every setting, with its default, and with what the reference of settings and `.env.example` say of it. */
export const settings = z.object({
  DATA_DIR: variable(z.string().default('data'), 'The folder of the embedded stores.'),
  EVENT_LOG_URL: variable(
    pathUrl('sqlite', 'esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover').optional(),
    'The event log: `sqlite:FILE`, or EventStoreDB as `esdb://NODE-1,NODE-2,…` (all nodes) or `esdb+discover://NAME`, or KurrentDB as `kurrentdb://…` or `kurrentdb+discover://…`.',
    '`events.db` in `DATA_DIR`',
  ),
  READ_MODEL_URL: variable(
    pathUrl('sqlite', 'mongodb', 'mongodb+srv').optional(),
    'The read models: `sqlite:FILE`, or MongoDB as `mongodb://…` or `mongodb+srv://…`, whose path names the database ' +
      '(`chartledger` when it has none).',
    '`read-models.db` in `DATA_DIR`',
  ),
  STATE_URL: variable(
    pathUrl('sqlite', 'mongodb', 'mongodb+srv').optional(),
    'Webhook deliveries, sessions, idempotency keys and leases: `sqlite:FILE`, or MongoDB as in `READ_MODEL_URL`.',
    'the MongoDB of `READ_MODEL_URL`, else `state.db` in `DATA_DIR`',
  ),
  DOCUMENTS_URL: variable(
    pathUrl('file', 'gs').optional(),
    "The documents' bytes: `file:FOLDER`, or `gs://BUCKET/PREFIX` in Google Cloud Storage, where " +
      '`?endpoint=http://HOST:PORT` names an emulator.',
    '`documents` in `DATA_DIR`',
  ),
  PORT: variable(
    wholeNumber(0, 65_535).default(3000),
    'The port on which the service listens. With Docker Compose: the port on this machine.',
  ),
  HOST: variable(
    z.string().default('127.0.0.1'),
    'The address on which the service listens. With Docker Compose it is reached on 127.0.0.1 alone.',
  ),
  REQUEST_THREADS: variable(
    wholeNumber(1, 64).optional(),
    'Threads that answer requests, each on the same port and with some 80 MB of memory. Systems other than Linux may know `1` alone.',
    'on Linux the number of processors less two, at least 1 and at most 4; elsewhere 1',
  ),
  METRICS_PORT: variable(
    wholeNumber(0, 65_535).optional(),
    'The port on which Prometheus finds metrics, at `/metrics`. Whoever reaches it needs no key.',
    'metrics are not served',
  ),
  METRICS_HOST: variable(z.string().optional(), 'The address on which metrics are served.', 'that of `HOST`'),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    endpoint.optional(),
    'A collector of OpenTelemetry that metrics are sent to once a minute (OTLP over HTTP): `http://collector:4318`.',
    'none',
  ),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: variable(
    endpoint.optional(),
    'The whole address to which metrics are sent, where it is not `/v1/metrics` of the former.',
    'none',
  ),
  KEEP_ALIVE_SECONDS: variable(
    wholeNumber(1, 86_400).default(75),
    'Seconds for which an idle connection is kept. Make it longer than the load balancer in front keeps one.',
  ),
  DRAIN_SECONDS: variable(
    wholeNumber(0, 3_600).default(10),
    'Seconds that requests under way have to finish when the service is stopped.',
  ),
  RATE_LIMIT_PER_MINUTE: variable(
    wholeNumber(0, 1_000_000_000).default(100),
    'API requests a minute from one client IP address; `0` turns the limit off.',
  ),
  BATCH_LINES_PER_MINUTE: variable(
    wholeNumber(0, 1_000_000_000).default(1_000_000),
    'Lines of batches a minute of one workspace; `0` turns the limit off.',
  ),
  BATCH_CONCURRENCY: variable(
    wholeNumber(1, 1_000).default(2),
    'Batches that each request thread takes at once, each of which may hold some 150 MB of memory; others are asked to come back.',
  ),
  DASHBOARD_RATE_LIMIT_PER_MINUTE: variable(
    wholeNumber(0, 1_000_000_000).default(120),
    'Dashboard requests a minute in one session, or from one address before sign-in; `0` turns the limit off.',
  ),
  TRUST_PROXY: variable(
    trustProxy.default('0'),
    'The proxies whose `X-Forwarded-For` is believed: a number of hops, or addresses and networks, comma-separated.',
  ),
  DOCUMENT_RETENTION_DAYS: variable(
    wholeNumber(0, 36_500).default(30),
    'Days for which replaced and removed documents are kept.',
  ),
  RETENTION_YEARS: variable(
    wholeNumber(MIN_RETENTION_YEARS, MAX_RETENTION_YEARS).optional(),
    'Years for which records are kept in workspaces that have no retention of their own: `chartledger retention` lists and erases ' +
      'what nobody changed since, and what has no encounter dated since.',
    'for ever',
  ),
  SIGNING_KEY: variable(
    oneOrTwo(base64(32)).optional(),
    'Signs exports and tree heads: an Ed25519 private key (PKCS#8, DER, base64). All instances share one. While it is changed: the old and the new one, separated by a comma.',
    '`signing-key` in `DATA_DIR`, made when first needed',
  ),
  HEADS_TO: variable(
    headsPlace.optional(),
    "Where signed heads of each workspace's history, and notices of erasures, are sent: a folder that is there, by its path or as `file:FOLDER`; " +
      '`gs://BUCKET/PREFIX`; or an `https:` address that takes POST requests. The role `heads` sends them.',
    'nowhere',
  ),
  HEADS_EVERY_MINUTES: variable(
    wholeNumber(1, 525_600).default(60),
    'How often a head is sent of each workspace that has grown since its last one.',
  ),
  DEIDENTIFICATION_KEY: variable(
    oneOrTwo(base64(32)).optional(),
    'Keys the hashes that stand for ids in the de-identified view: 32 bytes or more, base64. All instances share one. While it is changed: the old and the new one, separated by a comma.',
    '`deidentification-key` in `DATA_DIR`, made when first needed',
  ),
  WEBHOOK_SECRETS_KEY: variable(
    oneOrTwo(sealingKey).optional(),
    'Seals the secrets of webhooks in the event log, and keys the digests of idempotency keys: 32 bytes, base64. All instances and the command line share one. While it is changed, and for a day after that: the old and the new one, separated by a comma.',
    '`webhook-secrets-key` in `DATA_DIR`, made when first needed',
  ),
  SESSION_SECRET: variable(
    base64(32).optional(),
    "Signs the dashboard's cookies: 32 bytes or more, base64. All instances share one.",
    '`session-secret` in `DATA_DIR`, made when first needed',
  ),
  TOTP_SECRETS_KEY: variable(
    sealingKey.optional(),
    'Seals the secrets of authenticator apps in the event log: 32 bytes, base64. All instances share one.',
    '`totp-secrets-key` in `DATA_DIR`, made when first needed',
  ),
  DASHBOARD_REQUIRE_TOTP: variable(
    onOff.default(false),
    '`true`: users who sign in with a password also need an authenticator app.',
  ),
  WEBHOOK_ALLOW_NETWORKS: variable(
    networks.optional(),
    'Networks (CIDR, comma-separated) that webhooks may reach although they are not public; `http:` is allowed there.',
    'none',
  ),
  OPENAPI_PUBLIC: variable(onOff.default(false), '`true`: the description of the interface needs no key.'),
  PUBLIC_URL: variable(
    baseUrl.optional(),
    "The service's address as clients see it, such as `https://chartledger.example.com`.",
    'the address that a request was sent to',
  ),
  OIDC_ISSUER: variable(
    safeUrl.optional(),
    'The identity provider (OpenID Connect) through which people sign in to the dashboard. Needs the next two.',
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
    'The claim of the ID token that holds the role or roles of a user: `admin`, `compliance`, `viewer`.',
  ),
  ROLES: variable(
    z
      .string()
      .default(usualRoles.join())
      .transform((value) => value.split(',').map((role) => role.trim()))
      .pipe(z.array(z.enum(allRoles, { error: `must be a list of ${allRoles.join(', ')}` }))),
    'What this process does: `api` answers requests, `projector` keeps the read models up to date, `webhooks` sends messages, ' +
      '`heads` signs and sends heads, where `HEADS_TO` is set, `mllp` takes HL7 v2 messages over MLLP.',
  ),
  MLLP_PORT: variable(
    portNumbers.default([2575]),
    'The port on which the role `mllp` listens, or several, comma-separated. With Docker Compose: the port on this machine.',
  ),
  MLLP_HOST: variable(
    z.string().default('127.0.0.1'),
    'The address on which the role `mllp` listens. With Docker Compose it is reached on 127.0.0.1 alone.',
  ),
  MLLP_CONNECTIONS: variable(
    wholeNumber(1, 10_000).default(100),
    'Connections of MLLP at once, each of which may hold some 2 MB of memory; others are closed.',
  ),
  MLLP_IDLE_SECONDS: variable(
    wholeNumber(1, 604_800).default(3_600),
    'Seconds for which a connection of MLLP is kept on which nothing is sent.',
  ),
  MLLP_TLS_CERTIFICATE: variable(
    z.string().optional(),
    'The certificate, with those between it and its authority, by which MLLP is spoken over TLS: the path of a PEM file. Needs the next one. Files that are replaced are taken within a minute.',
    'MLLP is not encrypted',
  ),
  MLLP_TLS_KEY: variable(
    z.string().optional(),
    'The private key of that certificate: the path of a PEM file.',
    'none',
  ),
  MLLP_TLS_CA: variable(
    z.string().optional(),
    'The authorities whose client certificates are trusted, by which sources can be told apart: the path of a PEM file.',
    'no client certificate is asked for',
  ),
  ALLOW_OTHER_EVENT_LOG: variable(
    onOff.default(false),
    '`true`, for one start: begin although documents or read models belong to another event log, which was lost for good.',
  ),
  ALLOW_OTHER_KEYS: variable(
    onOff.default(false),
    '`true`, for one start: go on although a key is not the one that the event log knows, which was lost for good.',
  ),
  LOG_LEVEL: variable(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  ),
  NODE_ENV: variable(
    z.string().default('development'),
    'With `production`, the first start makes no key; make one with `chartledger keys create`.',
  ),
});

/** A setting, as its reference tells it. */
export interface SettingDescription {
  name: string;
  /** As one would write it; undefined where the setting is unset. */
  defaultValue: string | undefined;
  /** What an unset one without a default value stands for. */
  whenUnset: string | undefined;
  description: string;
}

/** Every setting, in the order in which they are explained. */
export function describeSettings(): SettingDescription[] {
  return Object.entries(settings.shape).map(([name, setting]) => {
    const value = setting.parse(undefined);
    const { description = '', whenUnset } = setting.meta() as { description?: string; whenUnset?: string };
    return { name, defaultValue: value === undefined ? undefined : String(value), whenUnset, description };
  });
}

/** The names of all settings: the environment variables that the service reads. */
export const settingNames: readonly string[] = Object.keys(settings.shape);
