import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../src/platform/config.ts';
import { misspeltSettings } from '../../src/platform/settingsSpelling.ts';
import { openReadModels, pathOf } from '../../src/server/openStorage.ts';
import { startFailure } from '../../src/server/startFailure.ts';
import { eventLogName } from '../../src/server/stores.ts';
import { runOn } from '../../src/server/terminal.ts';

describe('settings', () => {
  test('all have defaults, and an empty variable is an unset one', () => {
    const defaults = loadConfig({});
    expect(defaults).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      rateLimitPerMinute: 100,
      requestThreads: Math.min(4, Math.max(1, availableParallelism() - 2)),
      trustProxy: '0',
      documentRetentionDays: 30,
      openapiPublic: false,
      logLevel: 'info',
      production: false,
    });
    expect(defaults.eventLogUrl).toMatch(/^sqlite:.*\/data\/events\.db$/);
    expect(defaults.readModelUrl).toMatch(/^sqlite:.*\/data\/read-models\.db$/);
    expect(defaults.stateUrl).toMatch(/^sqlite:.*\/data\/state\.db$/);
    expect(defaults.documentsUrl).toMatch(/^file:.*\/data\/documents$/);
    const names = ['DATA_DIR', 'EVENT_LOG_URL', 'PORT', 'HOST', 'RATE_LIMIT_PER_MINUTE', 'TRUST_PROXY'];
    for (const empty of ['', ' ', '\n']) {
      expect(loadConfig(Object.fromEntries(names.map((name) => [name, empty])))).toEqual(defaults);
    }
  });

  test('the stores are in DATA_DIR unless they are given', () => {
    expect(loadConfig({ DATA_DIR: '/var/lib/x', DOCUMENTS_URL: 'file:/scans' })).toMatchObject({
      eventLogUrl: 'sqlite:/var/lib/x/events.db',
      readModelUrl: 'sqlite:/var/lib/x/read-models.db',
      stateUrl: 'sqlite:/var/lib/x/state.db',
      documentsUrl: 'file:/scans',
    });
  });

  test('state is beside read models in MongoDB unless it is given a place', () => {
    const READ_MODEL_URL = 'mongodb://127.0.0.1/clinic';
    expect(loadConfig({ READ_MODEL_URL }).stateUrl).toBe(READ_MODEL_URL);
    expect(loadConfig({ READ_MODEL_URL, STATE_URL: 'sqlite:/s.db' }).stateUrl).toBe('sqlite:/s.db');
  });

  test('a path is the same in all URLs: %20 is a space, a percent sign is %25', () => {
    for (const url of ['sqlite:/my%20data/100%25', 'file:/my%20data/100%25', 'file:///my%20data/100%25']) {
      expect(pathOf(url)).toBe('/my data/100%');
    }
    const { eventLogUrl, documentsUrl } = loadConfig({ DATA_DIR: '/my data/100%' });
    expect(pathOf(eventLogUrl)).toBe('/my data/100%/events.db');
    expect(pathOf(documentsUrl)).toBe('/my data/100%/documents');
  });

  test('a name that is nearly a setting’s is told, and no other', () => {
    const nearly = { DATADIR: 'DATA_DIR', data_dir: 'DATA_DIR', ROLE: 'ROLES', RATE_LIMIT: undefined };
    const other = ['PATH', 'HOME', 'HOSTNAME', 'LOGNAME', 'NODE_OPTIONS', 'TZ', 'USER', 'KUBERNETES_PORT'];
    const env = Object.fromEntries([...Object.keys(nearly), ...other, 'PORT'].map((name) => [name, '1']));
    expect(misspeltSettings(env)).toEqual([
      { name: 'DATADIR', meant: 'DATA_DIR' },
      { name: 'data_dir', meant: 'DATA_DIR' },
      { name: 'ROLE', meant: 'ROLES' },
    ]);
  });

  test.each(['0', '2', 'loopback', '10.0.0.0/8, 192.168.1.7', '::1', 'fc00::/7'])(
    'TRUST_PROXY takes %s',
    (value) => {
      expect(loadConfig({ TRUST_PROXY: value }).trustProxy).toBe(value);
    },
  );

  test.each([
    ['PORT', 'abc', 'must be a number'],
    ['METRICS_PORT', '3000', 'must not be PORT'],
    ['EVENT_LOG_URL', 'events.db', 'must be a URL such as sqlite:FILE or esdb://HOST or'],
    ['LOG_LEVEL', 'loud', 'must be one of trace, debug, info, warn, error, fatal, silent'],
    ['NODE_ENV', 'prod', 'must be development, test or production'],
    ['NODE_ENV', 'Production', 'must be development, test or production'],
    ['PORT', '65536', 'must be at most 65535'],
    ['PORT', '-1', 'must be at least 0'],
    ['PORT', '1.5', 'must be a whole number'],
    ['RATE_LIMIT_PER_MINUTE', '-1', 'must be at least 0'],
    ['RATE_LIMIT_PER_MINUTE', 'many', 'must be a number'],
    ['DOCUMENT_RETENTION_DAYS', '-1', 'must be at least 0'],
    ['LOG_LEVEL', 'loud', ''],
    ['OPENAPI_PUBLIC', 'yes', 'must be true or false'],
    ['TRUST_PROXY', 'nonsense', 'must be a number of hops, or IP addresses and networks'],
    ['TRUST_PROXY', '10.0.0.1,', 'must be a number of hops, or IP addresses and networks'],
    ['TRUST_PROXY', '-1', 'must be a number of hops, or IP addresses and networks'],
    ['WEBHOOK_SECRETS_KEY', 'c2hvcnQ=', 'must be 32 bytes'],
    ['WEBHOOK_SECRETS_KEY', 'no base64!', 'must be base64'],
    ['WEBHOOK_ALLOW_NETWORKS', '10.0.0.1', 'must be networks, such as 10.0.0.0/8, fd00::/8'],
    ['WEBHOOK_ALLOW_NETWORKS', '10.0.0.0/8,', 'must be networks, such as 10.0.0.0/8, fd00::/8'],
    ['WEBHOOK_ALLOW_NETWORKS', '10.0.0.0/33', 'must be networks, such as 10.0.0.0/8, fd00::/8'],
    ['MLLP_PORT', '2575,', 'must be ports, such as 2575 or 2575,2576'],
    ['MLLP_PORT', '65536', 'must be ports, such as 2575 or 2575,2576'],
    ['PUBLIC_URL', 'chartledger.example.com', 'must be an address such as https://'],
    ['PUBLIC_URL', 'https://example.com/chartledger', 'must not have a path'],
    ['OIDC_ISSUER', 'http://login.example.com', 'must begin with https:'],
    ['OIDC_ISSUER', 'https://u:secret@login.example.com', 'must have no user and no password'],
    ['HEADS_TO', 'https://u:secret@heads.example.com', 'must have no user and no password'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://u:secret@collector:4318', 'must have no user and no password'],
    ['OIDC_ISSUER', 'login.example.com', 'must be an address that begins with https:'],
    ['EVENT_LOG_URL', 'foo:', 'must be a URL such as'],
    ['EVENT_LOG_URL', 'sqlite:', 'must be a URL such as'],
    ['EVENT_LOG_URL', '/var/lib/events.db', 'must be a URL such as'],
    ['READ_MODEL_URL', 'redis://localhost', 'must be a URL such as'],
    ['DOCUMENTS_URL', 's3://bucket', 'must be a URL such as'],
    ['DOCUMENTS_URL', 'file:/100%', 'must have %25 for a percent sign'],
    ['EVENT_LOG_URL', 'sqlite:/a%2', 'must have %25 for a percent sign'],
    ['EVENT_LOG_URL', 'esdb://u:secret@a?tlss=false', 'must have no options but connectionName, '],
    [
      'EVENT_LOG_URL',
      'kurrentdb://u:secret@a?tls=false&authSource=secret',
      'must have no options but connectionName, ',
    ],
    ['EVENT_LOG_URL', 'esdb://u:secret@a?tls', 'has a value for the option tls'],
    ['EVENT_LOG_URL', 'esdb://u:secret@a?tls=secret', 'has a value for the option tls'],
    [
      'EVENT_LOG_URL',
      'esdb://u:secret@a?keep-alive-interval=secret',
      'has a value for the option keepAliveInterval',
    ],
    ['EVENT_LOG_URL', 'esdb://u:sec@ret@a', 'must have USER:PASSWORD before its @'],
    ['EVENT_LOG_URL', 'esdb://secret@a', 'must have USER:PASSWORD before its @'],
    ['EVENT_LOG_URL', 'esdb://u:secret%@a', 'must have %25 for a percent sign'],
    ['EVENT_LOG_URL', 'esdb://u:secret@a b', 'must name hosts as NAME or NAME:PORT'],
    ['EVENT_LOG_URL', 'esdb://u:secret@', 'must name hosts as NAME or NAME:PORT'],
  ])('%s=%s is refused in one line that names it', (name, value, reason) => {
    const message = messageOf(() => loadConfig({ [name]: value }));
    expect(message).toContain(`Bad settings: ${name} ${reason}`);
    expect(message).not.toContain('\n');
    expect(message).not.toContain('secret');
  });

  test.each([
    ['mongodb://u:secret@a/x?foo=secret', 'its option foo'],
    ['mongodb://u:secret@a/x?compressors=secret', 'accept it'],
    ['mongodb://u:secret@a/x?authMechanism=secret', 'its option authMechanism'],
    ['mongodb://u:sec/ret@a/x', 'accept it'],
    ['mongodb://u:secret%@a/x', 'accept it'],
  ])('%s is refused in one line without anything of its values', async (url, what) => {
    const failure = startFailure(await openReadModels(url).catch((error) => error), 'info');
    expect(failure).toContain(what);
    expect(failure).not.toMatch(/secret|ret@|\n/);
  });

  test.each([
    'esdb://one',
    'kurrentdb://one:2113,two:2114/?tls=false',
    'esdb+discover://user:pa/s,s?%40@one.example.com?TLS_CA_FILE=%2Fca.crt&nodePreference=ReadOnlyReplica&keep-alive-interval=10000',
  ])('%s is an event log', (url) => {
    expect(loadConfig({ EVENT_LOG_URL: url }).eventLogUrl).toBe(url);
  });

  test('an event log is named without its user, password and options', async () => {
    const env = { EVENT_LOG_URL: 'esdb://user:pa/ss@one,two:2114?connectionName=secret' };
    const { stdin, stdout, stderr } = process;
    expect(await runOn({ env, stdin, stdout, stderr }, async () => eventLogName())).toBe(
      'esdb://one,two:2114',
    );
  });

  test.each([
    ['true', ['admin', 'compliance', 'billing', 'integrator', 'auditor', 'viewer']],
    ['false', []],
    ['', []],
    ['admin, compliance', ['admin', 'compliance']],
  ])('DASHBOARD_REQUIRE_TOTP=%s names roles', (value, roles) => {
    expect(loadConfig({ DASHBOARD_REQUIRE_TOTP: value }).dashboardRequireTotp).toEqual(roles);
    expect(messageOf(() => loadConfig({ DASHBOARD_REQUIRE_TOTP: 'admin,root' }))).toContain(
      'must be true, false or some of admin,compliance',
    );
  });

  test('an identity provider needs all its settings', () => {
    const env = { OIDC_ISSUER: 'http://localhost:4000', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret' };
    expect(loadConfig(env).openIdConnect).toEqual({
      issuer: 'http://localhost:4000',
      clientId: 'id',
      clientSecret: 'secret',
      roleClaim: 'roles',
      groups: {},
    });
    const groups = '{"A": "billing@clinic", "B": ["admin", "viewer@lab"]}';
    expect(loadConfig({ ...env, OIDC_GROUPS: groups }).openIdConnect?.groups).toEqual({
      A: ['billing@clinic'],
      B: ['admin', 'viewer@lab'],
    });
    for (const wrong of ['A=admin', '["admin"]', '{"A": "root"}', '{"A": "admin@Clinic!"}', '{"A": 1}']) {
      expect(messageOf(() => loadConfig({ ...env, OIDC_GROUPS: wrong }))).toContain('OIDC_GROUPS');
    }
    expect(loadConfig({ OIDC_ROLE_CLAIM: 'groups' }).openIdConnect).toBeUndefined();
    for (const missing of Object.keys(env)) {
      expect(messageOf(() => loadConfig({ ...env, [missing]: '' }))).toContain('must be set together');
    }
    expect(loadConfig({ PUBLIC_URL: 'https://example.com/' }).publicUrl).toBe('https://example.com');
  });

  test('MLLP is no usual role, takes several ports, and needs a certificate with its key', () => {
    expect(loadConfig({}).roles).not.toContain('mllp');
    expect(loadConfig({ ROLES: 'mllp' }).mllp).toMatchObject({
      host: '127.0.0.1',
      ports: [2575],
      tls: undefined,
    });
    const files = { MLLP_TLS_CERTIFICATE: '/tls.crt', MLLP_TLS_KEY: '/tls.key' };
    expect(loadConfig({ MLLP_PORT: '2575, 2576', ...files }).mllp).toMatchObject({
      ports: [2575, 2576],
      tls: { certificate: '/tls.crt', key: '/tls.key', ca: undefined },
    });
    for (const alone of [...Object.keys(files), 'MLLP_TLS_CA']) {
      expect(messageOf(() => loadConfig({ [alone]: '/a.pem' }))).toContain('must be set together');
    }
  });

  test('every bad setting is named at once', () => {
    const message = messageOf(() => loadConfig({ PORT: 'abc', LOG_LEVEL: 'loud' }));
    expect(message).toMatch(/PORT .*; LOG_LEVEL /);
  });
});

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
  }
  throw new Error('it was not refused as a bad setting');
}
