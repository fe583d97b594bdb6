import { z } from 'zod';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import { canonicalNetwork } from './sourceNetworks.ts';

/** Restrictions on the use of a key, as in its events; what is absent does not restrict it. */
export interface KeyLimits {
  /** The key is refused from this time, ISO 8601, UTC. */
  expires_at?: string | undefined;
  /** In CIDR notation: requests from anywhere else are refused. */
  networks?: readonly string[] | undefined;
  /** Requests per minute, counted for this key instead of for the client address. */
  rate_limit?: number | undefined;
}

export const limitNames = ['expires_at', 'networks', 'rate_limit'] as const satisfies (keyof KeyLimits)[];

/** Limits in which `null` removes one. */
export type NullableLimits = { [Name in keyof KeyLimits]?: KeyLimits[Name] | null };

const MAX_NETWORKS = 50;
const MAX_RATE_LIMIT = 1_000_000;

/** The last end that ISO 8601 can write with a year of four digits. */
const LAST_END = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Returns the end of a key at a moment (milliseconds since 1970), ISO 8601; beyond the calendar, its last moment. */
export function endAt(moment: number): string {
  return new Date(Math.min(moment, LAST_END)).toISOString();
}

const network = z.string().transform((text, context) => {
  const found = canonicalNetwork(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: 'must be a network such as 192.0.2.0/24 or 2001:db8::/32' });
  return z.NEVER;
});

const schema = z.object({
  expires_at: requiredDate('2027-06-30').nullable().optional(),
  networks: z
    .array(network)
    .max(MAX_NETWORKS, { error: `must have at most ${MAX_NETWORKS} networks` })
    .nullable()
    .optional(),
  rate_limit: z.int().min(1).max(MAX_RATE_LIMIT).nullable().optional(),
});

/**
 * Validates limits at a moment (milliseconds since 1970): the expiry is in the future, networks are normalized and unique; an
 * empty list becomes `null`. Throws `validation_failed` with one detail per bad field.
 */
export function parseLimits(input: NullableLimits, now: number): NullableLimits {
  const sent = validate(schema, input);
  const parsed: NullableLimits = { ...sent };
  if (sent.expires_at) {
    const end = instantOf(sent.expires_at);
    if (end <= now) throw validationError([{ field: 'expires_at', message: 'must be in the future' }]);
    parsed.expires_at = endAt(end);
  }
  if (sent.networks) parsed.networks = sent.networks.length === 0 ? null : [...new Set(sent.networks)];
  return parsed;
}

/** Returns the limits among the given fields, omitting those not set; as separate members, as in events. */
export function limitsOf(fields: NullableLimits): KeyLimits {
  const given = limitNames.flatMap((name) => {
    const value = fields[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  return Object.fromEntries(given);
}

/** Returns a sentence for each limit, for display; none if there are no limits. */
export function limitSentences({ expires_at: end, networks, rate_limit: rate }: KeyLimits): string[] {
  return [
    ...(end === undefined ? [] : [`It expires at ${end}.`]),
    ...(networks === undefined ? [] : [`It is accepted only from ${networks.join(', ')}.`]),
    ...(rate === undefined ? [] : [`Its own limit: ${rate} requests per minute.`]),
  ];
}
