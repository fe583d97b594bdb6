import { resolve } from 'node:path';
import { z } from 'zod';
import {
  base64,
  baseUrl,
  networks,
  onOff,
  pathUrl,
  safeUrl,
  sealingKey,
  trustProxy,
  variable,
  wholeNumber,
} from './settingTypes.ts';

/** What a process can do; several share the work by doing less each. */
const allRoles = ['api', 'projector', 'webhooks'] as const;

export type Role = (typeof allRoles)[number];

/** Every setting, with its default. */
const schema = z.object({
  /** Folder of the embedded stores. */
  DATA_DIR: variable(z.string().default('data')),
  /** `sqlite:FILE`, or EventStoreDB's connection string; default `events.db` in DATA_DIR. */
  EVENT_LOG_URL: variable(pathUrl('sqlite', 'esdb', 'esdb+discover').optional()),
  /**
   * `sqlite:FILE`, or MongoDB's connection string, whose path names the database (`chartledger` when it has none);
   * default `read-models.db` in DATA_DIR.
   */
  READ_MODEL_URL: variable(pathUrl('sqlite', 'mongodb', 'mongodb+srv').optional()),
  /**
   * Where deliveries of webhooks, sessions and leases are kept: `sqlite:FILE`, or MongoDB's connection string; default
   * the MongoDB of READ_MODEL_URL, else `state.db` in DATA_DIR.
   */
  STATE_URL: variable(pathUrl('sqlite', 'mongodb', 'mongodb+srv').optional()),
  /**
   * `file:FOLDER`, or `gs://BUCKET/PREFIX` in Google Cloud Storage, where `?endpoint=http://HOST:PORT` names an emulator;
   * default `documents` in DATA_DIR.
   */
  DOCUMENTS_URL: variable(pathUrl('file', 'gs').optional()),
  PORT: variable(wholeNumber(0, 65_535).default(3000)),
  HOST: variable(z.string().default('127.0.0.1')),
  /** How long a connection is kept that nobody uses; longer than the load balancer before it keeps one. */
  KEEP_ALIVE_SECONDS: variable(wholeNumber(1, 86_400).default(75)),
  /** How long requests under way may take to end when the service is stopped. */
  DRAIN_SECONDS: variable(wholeNumber(0, 3_600).default(10)),
  /** Requests a minute from one client IP address (spec section 8); 0 turns the limit off. */
  RATE_LIMIT_PER_MINUTE: variable(wholeNumber(0, 1_000_000_000).default(100)),
  /** Requests a minute to the dashboard of one session, before the sign-in of one network; 0 turns the limit off. */
  DASHBOARD_RATE_LIMIT_PER_MINUTE: variable(wholeNumber(0, 1_000_000_000).default(120)),
  /** Proxies whose `X-Forwarded-For` is believed: a number of hops, or addresses and networks, comma-separated. */
  TRUST_PROXY: variable(trustProxy.default('0')),
  /** Days for which replaced and deleted documents are kept. */
  DOCUMENT_RETENTION_DAYS: variable(wholeNumber(0, 36_500).default(30)),
  /**
   * Ed25519 private key that signs exports and tree heads: PKCS#8, DER, in base64. Default: `signing-key` in DATA_DIR,
   * made when it is first needed; several instances must share one.
   */
  SIGNING_KEY: variable(base64(32).optional()),
  /**
   * Key of the hashes that stand for ids in the de-identified stream: 32 bytes or more, in base64. Default:
   * `deidentification-key` in DATA_DIR, made when it is first needed; several instances must share one.
   */
  DEIDENTIFICATION_KEY: variable(base64(32).optional()),
  /**
   * Key that seals the secrets of webhooks in the event log: 32 bytes, in base64. Default: `webhook-secrets-key` in
   * DATA_DIR, made when it is first needed; several instances must share one.
   */
  WEBHOOK_SECRETS_KEY: variable(sealingKey.optional()),
  /**
   * Secret that signs the cookies of the dashboard: 32 bytes or more, in base64. Default: `session-secret` in DATA_DIR,
   * made when it is first needed; several instances must share one.
   */
  SESSION_SECRET: variable(base64(32).optional()),
  /**
   * Key that seals the secrets of authenticator apps in the event log: 32 bytes, in base64. Default: `totp-secrets-key` in
   * DATA_DIR, made when it is first needed; several instances must share one.
   */
  TOTP_SECRETS_KEY: variable(sealingKey.optional()),
  /** Whether users with passwords need an authenticator app beside. */
  DASHBOARD_REQUIRE_TOTP: variable(onOff.default(false)),
  /**
   * Networks, as CIDR and comma-separated, to which webhooks are sent although their addresses are not public; `http:`
   * is allowed there, too. For development, and for receivers beside the service.
   */
  WEBHOOK_ALLOW_NETWORKS: variable(networks.optional()),
  /** Whether `GET /openapi/json` answers without a key. */
  OPENAPI_PUBLIC: variable(onOff.default(false)),
  /** The service's address, as clients see it; default: what a request says it was sent to. */
  PUBLIC_URL: variable(baseUrl.optional()),
  /** Identity provider (OpenID Connect Discovery 1.0) through which people sign in to the dashboard; default: none. */
  OIDC_ISSUER: variable(safeUrl.optional()),
  OIDC_CLIENT_ID: variable(z.string().optional()),
  OIDC_CLIENT_SECRET: variable(z.string().optional()),
  /** Claim of the ID token that names the user's role or roles: `admin`, `compliance`, `viewer`. */
  OIDC_ROLE_CLAIM: variable(z.string().default('roles')),
  /**
   * What this process does, comma-separated: `api` answers requests, `projector` keeps the read models up, `webhooks`
   * sends messages.
   */
  ROLES: variable(
    z
      .string()
      .default(allRoles.join())
      .transform((value) => value.split(',').map((role) => role.trim()))
      .pipe(z.array(z.enum(allRoles, { error: `must be a list of ${allRoles.join(', ')}` }))),
  ),
  /**
   * Whether to start although the documents or the read models belong to another event log: one that was lost and is not
   * to come back. For one start; left on, it would hide a loss.
   */
  ALLOW_OTHER_EVENT_LOG: variable(onOff.default(false)),
  /**
   * Whether to start although a key is not the one that the event log knows, which was lost for good: the present one
   * takes its place. For one start.
   */
  ALLOW_OTHER_KEYS: variable(onOff.default(false)),
  LOG_LEVEL: variable(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')),
  NODE_ENV: variable(z.string().default('development')),
});

/** The names of all settings: the environment variables that the service reads. */
export const settingNames: readonly string[] = Object.keys(schema.shape);

/** How the dashboard signs people in through an identity provider. */
export interface OpenIdConnectSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  roleClaim: string;
}

export interface Config {
  /** Absolute path. */
  dataDir: string;
  eventLogUrl: string;
  readModelUrl: string;
  stateUrl: string;
  documentsUrl: string;
  port: number;
  host: string;
  keepAliveSeconds: number;
  drainSeconds: number;
  rateLimitPerMinute: number;
  dashboardRateLimitPerMinute: number;
  trustProxy: string;
  documentRetentionDays: number;
  /** Base64; undefined: kept in `dataDir`. */
  signingKey: string | undefined;
  /** Base64; undefined: kept in `dataDir`. */
  deidentificationKey: string | undefined;
  /** Base64; undefined: kept in `dataDir`. */
  webhookSecretsKey: string | undefined;
  /** Base64; undefined: kept in `dataDir`. */
  totpSecretsKey: string | undefined;
  dashboardRequireTotp: boolean;
  /** Base64; undefined: kept in `dataDir`. */
  sessionSecret: string | undefined;
  /** CIDR. */
  webhookAllowNetworks: string[];
  openapiPublic: boolean;
  /** An origin, such as `https://chartledger.example.com`. */
  publicUrl: string | undefined;
  openIdConnect: OpenIdConnectSettings | undefined;
  roles: Role[];
  allowOtherEventLog: boolean;
  allowOtherKeys: boolean;
  logLevel: string;
  production: boolean;
}

/** A setting that the service cannot start with; the message is one line that says which and why. */
export class ConfigError extends Error {}

function openIdConnectOf(settings: z.output<typeof schema>): OpenIdConnectSettings | undefined {
  const {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_ROLE_CLAIM: roleClaim,
  } = settings;
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError(
      'Bad settings: OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set together',
    );
  }
  return { issuer, clientId, clientSecret, roleClaim };
}

/** The settings out of environment variables. Throws `ConfigError`. */
export function loadConfig(env: Record<string, string | undefined>): Config {
  const result = schema.safeParse(env);
  if (!result.success) {
    const problems = result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
    throw new ConfigError(`Bad settings: ${problems.join('; ')}`);
  }
  const settings = result.data;
  const inDataDir = (name: string) => resolve(settings.DATA_DIR, name).replaceAll('%', '%25');
  const readModelUrl = settings.READ_MODEL_URL ?? `sqlite:${inDataDir('read-models.db')}`;
  return {
    dataDir: resolve(settings.DATA_DIR),
    eventLogUrl: settings.EVENT_LOG_URL ?? `sqlite:${inDataDir('events.db')}`,
    readModelUrl,
    stateUrl:
      settings.STATE_URL ??
      (readModelUrl.startsWith('mongodb') ? readModelUrl : `sqlite:${inDataDir('state.db')}`),
    documentsUrl: settings.DOCUMENTS_URL ?? `file:${inDataDir('documents')}`,
    port: settings.PORT,
    host: settings.HOST,
    keepAliveSeconds: settings.KEEP_ALIVE_SECONDS,
    drainSeconds: settings.DRAIN_SECONDS,
    rateLimitPerMinute: settings.RATE_LIMIT_PER_MINUTE,
    dashboardRateLimitPerMinute: settings.DASHBOARD_RATE_LIMIT_PER_MINUTE,
    trustProxy: settings.TRUST_PROXY,
    documentRetentionDays: settings.DOCUMENT_RETENTION_DAYS,
    signingKey: settings.SIGNING_KEY,
    deidentificationKey: settings.DEIDENTIFICATION_KEY,
    webhookSecretsKey: settings.WEBHOOK_SECRETS_KEY,
    totpSecretsKey: settings.TOTP_SECRETS_KEY,
    dashboardRequireTotp: settings.DASHBOARD_REQUIRE_TOTP,
    sessionSecret: settings.SESSION_SECRET,
    webhookAllowNetworks: settings.WEBHOOK_ALLOW_NETWORKS ?? [],
    openapiPublic: settings.OPENAPI_PUBLIC,
    publicUrl: settings.PUBLIC_URL,
    openIdConnect: openIdConnectOf(settings),
    roles: settings.ROLES,
    allowOtherEventLog: settings.ALLOW_OTHER_EVENT_LOG,
    allowOtherKeys: settings.ALLOW_OTHER_KEYS,
    logLevel: settings.LOG_LEVEL,
    production: settings.NODE_ENV === 'production',
  };
}
