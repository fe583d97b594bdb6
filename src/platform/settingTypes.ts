import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';
import { z } from 'zod';

const parts = (list: string) => list.split(',').map((part) => part.trim());

/**
 * An environment variable that counts as unset when it is empty or blank; with its description, and what unset means.
 */
export function variable<Schema extends z.ZodType>(schema: Schema, description: string, whenUnset?: string) {
  return z
    .preprocess((value) => (typeof value === 'string' ? value.trim() || undefined : value), schema)
    .meta({ description, whenUnset });
}

/** A whole number within bounds, both inclusive. */
export const wholeNumber = (least: number, most: number) =>
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
export const userRoles = ['admin', 'compliance', 'billing', 'integrator', 'viewer'] as const;

/** The roles for which something is required: `true` for all, `false` for none, or a comma-separated list of them. */
export const requiringRoles = z
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
export const rolesByGroup = z
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
export const onOff = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

/** Base64 of at least `leastBytes` bytes. */
export const base64 = (leastBytes: number) =>
  z.base64({ error: 'must be base64' }).refine((value) => Buffer.from(value, 'base64').length >= leastBytes, {
    error: `must be at least ${leastBytes} bytes`,
  });

/** A key of `sealing.ts`. */
export const sealingKey = z
  .base64({ error: 'must be base64' })
  .refine((value) => Buffer.from(value, 'base64').length === 32, { error: 'must be 32 bytes' });

/** A key; during a change, the old and the new one, separated by a comma. */
export const oneOrTwo = (key: z.ZodType<string>) =>
  z.string().superRefine((value, { addIssue }) => {
    const parts = value.split(',');
    if (parts.length > 2) addIssue('must be one key, or two separated by a comma');
    for (const part of parts)
      for (const { message } of key.safeParse(part).error?.issues ?? []) addIssue(message);
  });

const url = (...schemes: string[]) =>
  z.string().regex(new RegExp(`^(?:${schemes.join('|').replaceAll('+', '\\+')}):.`), {
    error: `must begin with ${schemes.map((scheme) => `${scheme}:`).join(' or ')} and go on with a place`,
    abort: true,
  });

/** A URL that may be a path after `sqlite:` or `file:`, where a percent sign begins an encoded byte. */
export const pathUrl = (...schemes: string[]) =>
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
export const eventLogUrl = pathUrl(
  'sqlite',
  'esdb',
  'esdb+discover',
  'kurrentdb',
  'kurrentdb+discover',
).superRefine((value, context) => {
  if (value.startsWith('sqlite:')) return;
  const message = eventStoreUrlProblem(value);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

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
export const trustProxy = z
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
export const safeUrl = z
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
export const headsPlace = z.string().superRefine((value, context) => {
  const [scheme] = /^[a-z][a-z0-9+.-]+(?=:)/i.exec(value) ?? [];
  if (scheme === undefined) return;
  const { error } = (/^https?$/.test(scheme) ? safeUrl : pathUrl('file', 'gs')).safeParse(value);
  for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
});

/** An address of another service. */
export const endpoint = z
  .url({ protocol: /^https?$/, error: 'must be an address such as http://collector:4318', abort: true })
  .refine(hasNoUser, NO_USER);

/** An address to which paths are added. */
export const baseUrl = z
  .url({
    protocol: /^https?$/,
    error: 'must be an address such as https://chartledger.example.com',
    abort: true,
  })
  .refine((value) => new URL(value).href === `${new URL(value).origin}/`, { error: 'must not have a path' })
  .transform((value) => new URL(value).origin);

/** `2575`, `2575,2576` */
export const portNumbers = z
  .string()
  .refine((list) => parts(list).every((port) => /^\d{1,5}$/.test(port) && Number(port) <= 65_535), {
    error: 'must be ports, such as 2575 or 2575,2576',
  })
  .transform((list) => parts(list).map(Number));

/** `10.0.0.0/8, fd00::/8` */
export const networks = z
  .string()
  .refine((list) => parts(list).every((network) => ipaddr.isValidCIDR(network)), {
    error: 'must be networks, such as 10.0.0.0/8, fd00::/8',
  })
  .transform(parts);
