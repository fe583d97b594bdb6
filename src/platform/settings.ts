import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';
import { z } from 'zod';

const parts = (list: string) => list.split(',').map((part) => part.trim());

/**
 * An environment variable that counts as unset when it is empty or blank; with its description, and what unset means.
 */
function variable<Schema extends z.ZodType>(schema: Schema, description: string, whenUnset?: string) {
  return z
    .preprocess((value) => (typeof value === 'string' ? value.trim() || undefined : value), schema)
    .meta({ description, whenUnset });
}

/** A whole number within bounds, both inclusive. */
const wholeNumber = (least: number, most: number) =>
  z.coerce
    .number({ error: 'must be a number' })
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);

/**
 * The minimum number of years for which retention keeps records: what HIPAA requires for documentation. And the
 * maximum.
 */
export const MIN_RETENTION_YEARS = 6;
export const MAX_RETENTION_YEARS = 100;

/** The roles of the dashboard's users, strongest first. */
export const userRoles = ['admin', 'compliance', 'billing', 'integrator', 'auditor', 'viewer'] as const;

/** The roles for which something is required: `true` for all, `false` for none, or a comma-separated list of them. */
const requiringRoles = z
  .string()
  .transform((value): readonly string[] =>
    value === 'true' ? userRoles : value === 'false' ? [] : parts(value),
  )
  .pipe(
    z.custom<readonly (typeof userRoles)[number][]>(
      (named) => (named as string[]).every((one) => (userRoles as readonly string[]).includes(one)),
      { error: `must be true, false or some of ${userRoles.join(',')}` },
    ),
  );

/** A role in all workspaces, `ROLE`, or in one, `ROLE@WORKSPACE`. */
export const roleGrant = z.string().regex(new RegExp(`^(?:${userRoles.join('|')})(?:@[a-z0-9_]{2,40})?$`), {
  error: 'must be ROLE or ROLE@WORKSPACE',
});

/** Roles by group of an identity provider: a JSON object whose values are one or several role grants. */
const rolesByGroup = z
  .string()
  .transform((value, { addIssue }): unknown => {
    try {
      return JSON.parse(value);
    } catch {
      addIssue('must be a JSON object');
      return z.NEVER;
    }
  })
  .pipe(
    z.record(
      z.string(),
      z.union([roleGrant.transform((one) => [one]), z.array(roleGrant)], {
        error: 'must name ROLE or ROLE@WORKSPACE for each group, or a list of these',
      }),
      { error: 'must be a JSON object' },
    ),
  );

/** `true` or `false`. */
const onOff = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

/** Base64 of at least `leastBytes` bytes. */
const base64 = (leastBytes: number) =>
  z.base64({ error: 'must be base64' }).refine((value) => Buffer.from(value, 'base64').length >= leastBytes, {
    error: `must be at least ${leastBytes} bytes`,
  });

/** A key of `encryption.ts`. */
const sealingKey = z
  .base64({ error: 'must be base64' })
  .refine((value) => Buffer.from(value, 'base64').length === 32, { error: 'must be 32 bytes' });

/** A key; during a change, the old and the new one, separated by a comma. */
const oneOrTwo = (key: z.ZodType<string>) =>
  z.string().superRefine((value, { addIssue }) => {
    const parts = value.split(',');
    if (parts.length > 2) addIssue('must be one key, or two separated by a comma');
    for (const part of parts)
      for (const { message } of key.safeParse(part).error?.issues ?? []) addIssue(message);
  });

/** The forms of URLs, by scheme. */
const urlForms = {
  sqlite: 'sqlite:FILE',
  file: 'file:FOLDER',
  gs: 'gs://BUCKET/PREFIX',
  esdb: 'esdb://HOST',
  'esdb+discover': 'esdb+discover://HOST',
  kurrentdb: 'kurrentdb://HOST',
  'kurrentdb+discover': 'kurrentdb+discover://HOST',
  mongodb: 'mongodb://HOST/DATABASE',
  'mongodb+srv': 'mongodb+srv://HOST/DATABASE',
};

const url = (...schemes: (keyof typeof urlForms)[]) =>
  z.string().regex(new RegExp(`^(?:${schemes.join('|').replaceAll('+', '\\+')}):.`), {
    error: `must be a URL such as ${schemes.map((scheme) => urlForms[scheme]).join(' or ')}`,
    abort: true,
  });

/** A URL that may be a path after `sqlite:` or `file:`, where a percent sign begins an encoded byte. */
const pathUrl = (...schemes: (keyof typeof urlForms)[]) =>
  url(...schemes).refine((value) => !/^(?:sqlite|file):/.test(value) || isDecodable(value), {
    error: 'must have %25 for a percent sign',
  });

function isDecodable(value: string): boolean {
  try {
    decodeURIComponent(value);
    return true;
  } catch {
    return false;
  }
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const integer = /^\d+$/;
const trueOrFalse = /^(?:true|false)$/;
const eventStoreOptions: Record<string, RegExp> = {
  connectionName: /./,
  defaultDeadline: integer,
  discoveryInterval: integer,
  gossipTimeout: integer,
  keepAliveInterval: integer,
  keepAliveTimeout: integer,
  maxDiscoverAttempts: integer,
  nodePreference: /^(?:leader|follower|random|read[_-]?only[_-]?replica)$/i,
  throwOnAppendFailure: trueOrFalse,
  tls: trueOrFalse,
  tlsCAFile: /./,
  tlsVerifyCert: trueOrFalse,
  userCertFile: /./,
  userKeyFile: /./,
};

/** The URL of an event log. What its driver would print with the URL, and so with the password, is refused. */
const eventLogUrl = pathUrl('sqlite', 'esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover').superRefine(
  (value, context) => {
    if (value.startsWith('sqlite:')) return;
    const message = eventStoreUrlProblem(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  },
);

function eventStoreUrlProblem(url: string): string | undefined {
  const [, credentials, hosts = '', query] =
    /^[^:]+:\/\/(?:(.*)@)?([^?@]*?)\/*(?:\?(.*))?$/.exec(url.trim()) ?? [];
  if (credentials !== undefined && !/^[^:@]+:[^:@]+$/.test(credentials)) {
    return 'must have USER:PASSWORD before its @, with %3A and %40 for : and @ in them';
  }
  if (!isDecodable(credentials ?? '')) return 'must have %25 for a percent sign';
  if (!/^[\w.-]+(?::\d{1,5})?(?:,[\w.-]+(?::\d{1,5})?)*$/.test(hosts))
    return 'must name hosts as NAME or NAME:PORT';
  for (const option of query?.split('&') ?? []) {
    const [key = '', value = '', ...rest] = option.split('=');
    const known = Object.keys(eventStoreOptions).find((name) => flat(name) === flat(key));
    if (known === undefined) return `must have no options but ${Object.keys(eventStoreOptions).join(', ')}`;
    if (rest.length > 0 || !isDecodable(value) || !eventStoreOptions[known]?.test(value)) {
      return `has a value for the option ${known} that the option does not take`;
    }
  }
  return undefined;
}

/** The drivers read names of options in any case, with `_` and `-` in them. */
function flat(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** A number of hops, or addresses and networks of proxies. */
const trustProxy = z
  .string()
  .refine(isTrustProxy, { error: 'must be a number of hops, or IP addresses and networks' });

/** Whether proxy-addr understands it, or it is a number of hops. */
function isTrustProxy(value: string): boolean {
  if (/^\d+$/.test(value)) return true;
  try {
    proxyAddr.compile(value.split(',').map((part) => part.trim()));
    return true;
  } catch {
    return false;
  }
}

/** What connects would print a password in the address, or ignore it. */
const hasNoUser = (value: string) => new URL(value).username === '' && new URL(value).password === '';
const NO_USER = { error: 'must have no user and no password' };

/** `https:`, or `http:` on this machine only. */
const safeUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with https:', abort: true })
  .refine(
    (value) => {
      const { protocol, hostname } = new URL(value);
      return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
    },
    { error: 'must begin with https:, as it is not on this machine' },
  )
  .refine(hasNoUser, NO_USER);

/** A folder, by its path or as `file:`, a bucket as `gs:`, or an address as `safeUrl`. */
const headsPlace = z.string().superRefine((value, context) => {
  const [scheme] = /^[a-z][a-z0-9+.-]+(?=:)/i.exec(value) ?? [];
  if (scheme === undefined) return;
  const { error } = (/^https?$/.test(scheme) ? safeUrl : pathUrl('file', 'gs')).safeParse(value);
  for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
});

/** A warehouse that the role `warehouse` writes. */
export interface WarehouseSetting {
  workspace: string;
  view: 'full' | 'limited' | 'deidentified';
  /** A folder, by its path or as `file:`, or the URL of a PostgreSQL database. */
  place: string;
}

/** Warehouses, by what they are made from. */
const warehouses = z
  .string()
  .transform((value) =>
    value.split(',').map((one) => /^\s*([a-z0-9_]{2,40})(?:\/(limited|deidentified))?=(\S.*)$/.exec(one)),
  )
  .refine((found) => found.every((one) => one !== null), {
    error: 'must be a list such as clinic=/srv/warehouse,clinic/deidentified=postgres://db/research',
    abort: true,
  })
  .transform((found) =>
    found.map(
      (one): WarehouseSetting => ({
        workspace: one?.[1] ?? '',
        view: (one?.[2] as 'limited' | 'deidentified' | undefined) ?? 'full',
        place: (one?.[3] ?? '').trim(),
      }),
    ),
  );

/** A mail server, with its user and password. */
const smtpUrl = z.url({
  protocol: /^smtps?$/,
  error: 'must be an address such as smtps://mail.example.com:465',
});

/** An address of another service. */
const endpoint = z
  .url({ protocol: /^https?$/, error: 'must be an address such as http://collector:4318', abort: true })
  .refine(hasNoUser, NO_USER);

/** An address to which paths are added. */
const baseUrl = z
  .url({
    protocol: /^https?$/,
    error: 'must be an address such as https://chartledger.example.com',
    abort: true,
  })
  .refine((value) => new URL(value).href === `${new URL(value).origin}/`, { error: 'must not have a path' })
  .transform((value) => new URL(value).origin);

/** `2575`, `2575,2576` */
const portNumbers = z
  .string()
  .refine((list) => parts(list).every((port) => /^\d{1,5}$/.test(port) && Number(port) <= 65_535), {
    error: 'must be ports, such as 2575 or 2575,2576',
  })
  .transform((list) => parts(list).map(Number));

/** `10.0.0.0/8, fd00::/8` */
const networks = z
  .string()
  .refine((list) => parts(list).every((network) => ipaddr.isValidCIDR(network)), {
    error: 'must be networks, such as 10.0.0.0/8, fd00::/8',
  })
  .transform(parts);

/** What a process can do; several processes share the work by each doing less. */
const usualRoles = ['api', 'projector', 'webhooks', 'heads', 'warehouse'] as const;
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
    'Years that records are kept in workspaces that set no retention period: ' +
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
  WAREHOUSES: variable(
    warehouses.optional(),
    'The warehouses that the role `warehouse` writes: a comma-separated list of `WORKSPACE=PLACE`, or ' +
      '`WORKSPACE/deidentified=PLACE` for the de-identified view, `WORKSPACE/limited=PLACE` for a limited data set. A place is a folder or a `postgres:` URL.',
    'none',
  ),
  WAREHOUSES_EVERY_SECONDS: variable(
    wholeNumber(1, 86_400).default(60),
    'How often to add what was recorded.',
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
      'which it is required (comma-separated): `admin`, `compliance`, `billing`, `integrator`, `auditor`, `viewer`.',
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
  SMTP_URL: variable(
    smtpUrl.optional(),
    'The mail server that sends notifications, with its user and password: `smtps://…`, or `smtp://…`, which ' +
      'must offer TLS (STARTTLS) unless it is this machine.',
    'no mail is sent',
  ),
  SMTP_FROM: variable(
    z
      .string()
      .max(320)
      .regex(/^[^\p{Cc}]*@[^\p{Cc}]*$/u, 'must be an e-mail address')
      .optional(),
    'The sender of notifications: `Chartledger <chartledger@clinic.example>`. Required with `SMTP_URL`.',
    'none',
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
    "The ID token claim that holds the user's roles or groups. `admin`, `compliance`, `billing`, `integrator`, " +
      '`auditor` or `viewer` is a role in all workspaces, `billing@clinic` one in a workspace.',
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
      '`webhooks` sends messages, `heads` signs and sends heads if `HEADS_TO` is set, `warehouse` writes ' +
      '`WAREHOUSES` if there are any, `mllp` accepts HL7 v2 messages over MLLP.',
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
    '`true`, for one start only: create a state store although this event log had one, which is ' +
      'permanently lost.',
  ),
  LOG_LEVEL: variable(
    z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }).default('info'),
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  ),
  BUILD_ID: variable(
    z.string().optional(),
    'Identifies the build in the first line of the log, such as a commit. An image has the one that it was built with.',
    'unknown',
  ),
  NODE_ENV: variable(
    // Any other name, such as `prod`, would print a key with all permissions.
    z
      .enum(['development', 'test', 'production'], { error: 'must be development, test or production' })
      .default('development'),
    'With `production`, the first start does not create an API key; create one with ' +
      '`chartledger keys create`.',
  ),
});

/** A setting, as described in the reference. */
interface SettingDescription {
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
