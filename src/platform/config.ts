import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { type Role, settings, type WarehouseSetting } from './settings.ts';

/** Default without a setting. */
const MOST_USUAL_THREADS = 4;

/** How the dashboard signs people in through an identity provider. */
export interface OpenIdConnectSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  roleClaim: string;
  /** Role grants (`settings.ts`) by group. */
  groups: Readonly<Record<string, readonly string[]>>;
}

/** Where and how the role `mllp` listens. */
export interface MllpSettings {
  host: string;
  /** 0: any free port. */
  ports: number[];
  /** At once, on all ports. */
  connections: number;
  /** How long a connection is kept that sends nothing. */
  idleSeconds: number;
  /** Paths of PEM files; undefined: without TLS. Without `ca` no client certificate is requested. */
  tls: { certificate: string; key: string; ca: string | undefined } | undefined;
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
  /** Threads that answer requests. */
  requestThreads: number;
  /** 0: any free port; undefined: metrics are not served. */
  metricsPort: number | undefined;
  metricsHost: string;
  /** Where metrics are sent by OTLP; undefined: nowhere. */
  otlpMetricsUrl: string | undefined;
  keepAliveSeconds: number;
  drainSeconds: number;
  rateLimitPerMinute: number;
  batchLinesPerMinute: number;
  batchConcurrency: number;
  dashboardRateLimitPerMinute: number;
  trustProxy: string;
  documentRetentionDays: number;
  /** For workspaces without a retention of their own; undefined: everything is kept. */
  retentionYears: number | undefined;
  /** Base64; undefined: kept in `dataDir`. */
  signingKey: string | undefined;
  /** A path, `file:`, `gs:` or `https:`; undefined: heads are not sent. */
  headsTo: string | undefined;
  headsEveryMinutes: number;
  warehouses: WarehouseSetting[];
  warehousesEverySeconds: number;
  /** Base64; undefined: kept in `dataDir`. */
  deidentificationKey: string | undefined;
  /** Base64; undefined: kept in `dataDir`. */
  webhookSecretsKey: string | undefined;
  /** Base64; undefined: kept in `dataDir`. */
  totpSecretsKey: string | undefined;
  /** The roles of users who need an authenticator app. */
  dashboardRequireTotp: NonNullable<z.output<typeof settings>['DASHBOARD_REQUIRE_TOTP']>;
  /** Base64; undefined: kept in `dataDir`. */
  sessionSecret: string | undefined;
  /** CIDR. */
  webhookAllowNetworks: string[];
  /** The mail server, and the sender of notifications; undefined: no mail is sent. */
  mail: { url: string; from: string } | undefined;
  openapiPublic: boolean;
  /** An origin, such as `https://chartledger.example.com`. */
  publicUrl: string | undefined;
  openIdConnect: OpenIdConnectSettings | undefined;
  roles: Role[];
  mllp: MllpSettings;
  allowOtherEventLog: boolean;
  allowOtherKeys: boolean;
  allowNewStateStore: boolean;
  logLevel: string;
  /** Identifies the build in the log; undefined: unknown. */
  buildId: string | undefined;
  production: boolean;
}

/** A setting with which the service cannot start; the message is one line that says which and why. */
export class ConfigError extends Error {}

function openIdConnectOf(values: z.output<typeof settings>): OpenIdConnectSettings | undefined {
  const {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_ROLE_CLAIM: roleClaim,
    OIDC_GROUPS: groups = {},
  } = values;
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError(
      'Bad settings: OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set together',
    );
  }
  return { issuer, clientId, clientSecret, roleClaim, groups };
}

function mailOf({ SMTP_URL: url, SMTP_FROM: from }: z.output<typeof settings>): Config['mail'] {
  if (url === undefined && from === undefined) return undefined;
  if (url === undefined || from === undefined)
    throw new ConfigError('Bad settings: SMTP_URL and SMTP_FROM must be set together');
  return { url, from };
}

/** As defined by the specification of OpenTelemetry's exporters. */
function otlpMetricsUrlOf(values: z.output<typeof settings>): string | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: whole } = values;
  return whole ?? (base && `${base.replace(/\/$/, '')}/v1/metrics`);
}

/** The projector and the writer need processors, too. Not every system lets threads share a port. */
function usualRequestThreads(): number {
  if (process.platform !== 'linux') return 1;
  return Math.min(MOST_USUAL_THREADS, Math.max(1, availableParallelism() - 2));
}

/** Heads cannot be sent without a place for them, nor warehouses written. */
function rolesOf({ ROLES, HEADS_TO, WAREHOUSES }: z.output<typeof settings>): Role[] {
  const unset: Role[] = [
    ...(HEADS_TO === undefined ? (['heads'] as const) : []),
    ...(WAREHOUSES === undefined ? (['warehouse'] as const) : []),
  ];
  const roles = ROLES.filter((role) => !unset.includes(role));
  if (roles.length === 0) {
    const setting = ROLES.includes('heads') ? 'HEADS_TO' : 'WAREHOUSES';
    throw new ConfigError(`Bad settings: ROLES has only ${ROLES.join(', ')}, and ${setting} is not set`);
  }
  return roles;
}

function mllpOf(values: z.output<typeof settings>): MllpSettings {
  const { MLLP_TLS_CERTIFICATE: certificate, MLLP_TLS_KEY: key, MLLP_TLS_CA: ca } = values;
  const isTls = certificate !== undefined && key !== undefined;
  if (!isTls && (certificate ?? key ?? ca) !== undefined) {
    throw new ConfigError('Bad settings: MLLP_TLS_CERTIFICATE and MLLP_TLS_KEY must be set together');
  }
  return {
    host: values.MLLP_HOST,
    ports: values.MLLP_PORT,
    connections: values.MLLP_CONNECTIONS,
    idleSeconds: values.MLLP_IDLE_SECONDS,
    tls: isTls ? { certificate, key, ca } : undefined,
  };
}

/** Reads the settings from environment variables. Throws `ConfigError`. */
export function loadConfig(env: Record<string, string | undefined>): Config {
  const result = settings.safeParse(env);
  if (!result.success) {
    const problems = new Set(result.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`));
    throw new ConfigError(`Bad settings: ${[...problems].join('; ')}`);
  }
  const values = result.data;
  const { PORT, HOST, METRICS_PORT, METRICS_HOST = HOST } = values;
  if (METRICS_PORT === PORT && PORT !== 0 && METRICS_HOST === HOST)
    throw new ConfigError('Bad settings: METRICS_PORT must not be PORT');
  const inDataDir = (name: string) => resolve(values.DATA_DIR, name).replaceAll('%', '%25');
  const readModelUrl = values.READ_MODEL_URL ?? `sqlite:${inDataDir('read-models.db')}`;
  return {
    dataDir: resolve(values.DATA_DIR),
    eventLogUrl: values.EVENT_LOG_URL ?? `sqlite:${inDataDir('events.db')}`,
    readModelUrl,
    stateUrl:
      values.STATE_URL ??
      (readModelUrl.startsWith('mongodb') ? readModelUrl : `sqlite:${inDataDir('state.db')}`),
    documentsUrl: values.DOCUMENTS_URL ?? `file:${inDataDir('documents')}`,
    port: values.PORT,
    host: values.HOST,
    requestThreads: values.REQUEST_THREADS ?? usualRequestThreads(),
    metricsPort: values.METRICS_PORT,
    metricsHost: values.METRICS_HOST ?? values.HOST,
    otlpMetricsUrl: otlpMetricsUrlOf(values),
    keepAliveSeconds: values.KEEP_ALIVE_SECONDS,
    drainSeconds: values.DRAIN_SECONDS,
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    batchLinesPerMinute: values.BATCH_LINES_PER_MINUTE,
    batchConcurrency: values.BATCH_CONCURRENCY,
    dashboardRateLimitPerMinute: values.DASHBOARD_RATE_LIMIT_PER_MINUTE,
    trustProxy: values.TRUST_PROXY,
    documentRetentionDays: values.DOCUMENT_RETENTION_DAYS,
    retentionYears: values.RETENTION_YEARS,
    signingKey: values.SIGNING_KEY,
    headsTo: values.HEADS_TO,
    headsEveryMinutes: values.HEADS_EVERY_MINUTES,
    warehouses: values.WAREHOUSES ?? [],
    warehousesEverySeconds: values.WAREHOUSES_EVERY_SECONDS,
    deidentificationKey: values.DEIDENTIFICATION_KEY,
    webhookSecretsKey: values.WEBHOOK_SECRETS_KEY,
    totpSecretsKey: values.TOTP_SECRETS_KEY,
    dashboardRequireTotp: values.DASHBOARD_REQUIRE_TOTP ?? [],
    sessionSecret: values.SESSION_SECRET,
    webhookAllowNetworks: values.WEBHOOK_ALLOW_NETWORKS ?? [],
    mail: mailOf(values),
    openapiPublic: values.OPENAPI_PUBLIC,
    publicUrl: values.PUBLIC_URL,
    openIdConnect: openIdConnectOf(values),
    roles: rolesOf(values),
    mllp: mllpOf(values),
    allowOtherEventLog: values.ALLOW_OTHER_EVENT_LOG,
    allowOtherKeys: values.ALLOW_OTHER_KEYS,
    allowNewStateStore: values.ALLOW_NEW_STATE_STORE,
    logLevel: values.LOG_LEVEL,
    buildId: values.BUILD_ID,
    production: values.NODE_ENV === 'production',
  };
}

/** Returns the address of a service that listens there, as reached from this machine. */
export function listeningAddress(host: string, port: number): string {
  const name =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
