import { type Command, InvalidArgumentError } from 'commander';
import { endAt, limitNames, type NullableLimits } from '../../modules/auth/keyLimits.ts';
import { parseInstant } from '../lib/parseInstant.ts';
import { durationOf } from './parseDuration.ts';

/** The values of the options of `addLimitOptions`; a keyword removes a limit. */
export interface LimitOptions {
  expires?: string;
  network?: string[];
  rateLimit?: number | 'none';
}

/** `2027-06-30`, `90d`, `never`. */
function parseEnd(text: string): string {
  if (text === 'never') return text;
  const seconds = durationOf(text);
  if (seconds !== undefined) return endAt(Date.now() + seconds * 1000);
  return parseInstant(text);
}

/** `192.0.2.0/24,2001:db8::/32`, may be repeated; `any`. */
function parseNetworks(text: string, before: string[] = []): string[] {
  if (text === 'any') return [];
  return [...before, ...text.split(',').map((part) => part.trim())];
}

/** `6000/min`, `none`. */
function parseRate(text: string): number | 'none' {
  if (text === 'none') return text;
  const [, perMinute] = /^(\d{1,9})\/min$/.exec(text) ?? [];
  if (perMinute !== undefined) return Number(perMinute);
  throw new InvalidArgumentError('Specify requests per minute, such as 6000/min, or none.');
}

/** Adds the options that restrict the use of a key. */
export function addLimitOptions(command: Command): Command {
  return command
    .option(
      '--expires <time>',
      'when it expires: an ISO 8601 date or date-time, a time from now such as 90d, or never',
      parseEnd,
    )
    .option(
      '--network <cidr>',
      'accept it only from this network, such as 192.0.2.0/24 or 2001:db8::/32; separate several with ' +
        'commas, or repeat the option; any: from anywhere',
      parseNetworks,
    )
    .option(
      '--rate-limit <rate>',
      'count its requests by key instead of by client address: a limit such as 6000/min; none: by address',
      parseRate,
    );
}

/** Splits options into the limits and the rest. */
export function limitsOfOptions<Options extends LimitOptions>(options: Options) {
  const { expires, network, rateLimit, ...others } = options;
  const sent: NullableLimits = {
    expires_at: expires === 'never' ? null : expires,
    networks: network,
    rate_limit: rateLimit === 'none' ? null : rateLimit,
  };
  const given = limitNames.filter((name) => sent[name] !== undefined).map((name) => [name, sent[name]]);
  const limits: NullableLimits = Object.fromEntries(given);
  return { limits, others };
}
