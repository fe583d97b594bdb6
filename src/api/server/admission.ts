import type { IncomingMessage } from 'node:http';
import type { UnknownKeyTally } from '../../modules/audit/requestLog.ts';
import { type AccessTokens, looksLikeToken } from '../../modules/auth/accessTokens.ts';
import { type ApiKey, isExpired, type Workspace } from '../../modules/auth/apiKeys.ts';
import type { FoundKey, KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import type { Permission } from '../../modules/auth/permissions.ts';
import { networkOf } from '../../modules/auth/signIn.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isInNetworks } from '../../platform/networks.ts';
import { type Count, type RateLimiters, secondsUntilReset } from '../../storage/rateLimiters.ts';
import type { RequestContext } from './requestContext.ts';

/** The refusals of requests because of their API key. */
export const missingKey = () =>
  new ServiceError(
    'unauthorized',
    'An API key is required. Send it in the x-api-key header or as Authorization: Bearer.',
  );

export const unknownKey = () => new ServiceError('unauthorized', 'The API key is not valid.');

export const unknownToken = () => new ServiceError('unauthorized', 'The access token is not valid.');

export const expiredKey = () => new ServiceError('key_expired', 'The API key has expired.');

/** It does not reveal from where the key is accepted. */
export const foreignAddress = () =>
  new ServiceError(
    'address_not_allowed',
    'The API key cannot be used from the IP address that the request came from.',
  );

export const deactivatedKey = () => new ServiceError('key_deactivated', 'The API key is deactivated.');

export const deactivatedWorkspace = ({ deletion }: Pick<Workspace, 'deletion'> = {}) =>
  new ServiceError(
    'workspace_deactivated',
    `The workspace of the API key is ${deletion ? 'deleted' : 'deactivated'}.`,
  );

/** Returns the refusal of a key that has none of these permissions. */
export function lackingPermission(permissions: readonly Permission[]): ServiceError {
  const named = permissions.map((permission) => `'${permission}'`).join(' or ');
  return new ServiceError('permission_denied', `The API key lacks the permission ${named}.`);
}

/** Returns the key that a request carries: `x-api-key`, otherwise `Authorization: Bearer` (spec section 5). */
function credentialOf(req: IncomingMessage): string | undefined {
  const header = req.headers['x-api-key'];
  if (typeof header === 'string' && header !== '') return header;
  return /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1];
}

export interface Gate {
  directory: KeyDirectory;
  limit: RateLimit;
  /** Counts requests with unknown keys. */
  unknownKeys: Pick<UnknownKeyTally, 'add'>;
  /** Those that some endpoints accept in place of a key. */
  tokens?: Pick<AccessTokens, 'find'> | undefined;
}

/**
 * Admits a request, synchronously where no store need be asked, checking in this order: it carries a key (else 401);
 * the rate, of the client's address or of a usable key that has a limit of its own (429); the key is known, and not
 * deleted (401); it is accepted from this address, has not expired, is active, and so is its workspace (403); it has
 * one of the permissions, if any is needed (403). `takesTokens`: an access token stands for the key that it was issued to.
 */
export function authenticateAndLimit(
  gate: Gate,
  context: RequestContext,
  permissions: readonly Permission[],
  takesTokens = false,
): void | Promise<void> {
  const credential = credentialOf(context.req);
  if (credential === undefined) {
    throw missingKey();
  }
  if (takesTokens && looksLikeToken(credential)) return admitToken(gate, context, permissions, credential);
  const known = gate.directory.findKnown(credential);
  const counted = gate.limit(context, known && countedByKey(known, context));
  if (known && !counted) return authorize(context, known, permissions);
  return (async () => {
    await counted;
    const found = await gate.directory.find(credential);
    if (found === undefined) gate.unknownKeys.add(networkOf(context.clientIp));
    authorize(context, found, permissions);
  })();
}

async function admitToken(
  gate: Gate,
  context: RequestContext,
  permissions: readonly Permission[],
  token: string,
): Promise<void> {
  const found = await gate.tokens?.find(token).catch(async (error) => {
    await gate.limit(context);
    throw error;
  });
  await gate.limit(context, found && countedByKey(found, context));
  if (found === undefined) {
    gate.unknownKeys.add(networkOf(context.clientIp));
    throw unknownToken();
  }
  authorize(context, found, permissions);
}

/**
 * Returns the key, where requests are counted by it: it has a limit of its own, and could be admitted. If other keys
 * were counted this way, anyone with a refused key could use up its limit, or send refused requests without end, each
 * of which is an entry in the audit trail.
 */
function countedByKey(found: FoundKey, { clientIp }: RequestContext): ApiKey | undefined {
  if (found.key.rateLimit === undefined) return undefined;
  return keyProblem(found, clientIp) === undefined ? found.key : undefined;
}

/** Throws the refusal of a request whose key has been looked up. */
function authorize(
  context: RequestContext,
  found: FoundKey | undefined,
  permissions: readonly Permission[],
): void {
  if (found === undefined) throw unknownKey();
  context.found = found;
  requireUsable(found, permissions, context.clientIp);
}

/** Throws the refusal of an admitted request whose key, or workspace, was changed since. */
export function requireAdmitted(
  { directory }: Pick<Gate, 'directory'>,
  { found, clientIp }: Pick<RequestContext, 'found' | 'clientIp'>,
  permissions: readonly Permission[],
): void {
  if (found) requireUsable(directory.current(found), permissions, clientIp);
}

/** Throws the refusal of a key: it is not valid now, or not from this address, or it has none of the permissions. */
export function requireUsable(found: FoundKey, permissions: readonly Permission[], clientIp: string): void {
  const refusal = keyProblem(found, clientIp);
  if (refusal) throw refusal;
  if (permissions.length > 0) requirePermission(found, permissions);
}

/**
 * Throws `permission_denied` when a key has none of these permissions; for a part of a request that needs a
 * permission other than the rest.
 */
export function requirePermission({ key }: FoundKey, permissions: readonly Permission[]): void {
  if (!permissions.some((permission) => key.permissions.includes(permission))) {
    throw lackingPermission(permissions);
  }
}

/**
 * Returns why a key is refused, whatever is requested. A sender at another address is not told about the key's state.
 */
export function keyProblem({ key, workspace }: FoundKey, clientIp: string): ServiceError | undefined {
  if (workspace.state === 'deleted') return deactivatedWorkspace(workspace);
  if (key.state === 'deleted') return unknownKey();
  if (key.networks && !isInNetworks(key.networks, clientIp)) return foreignAddress();
  if (isExpired(key, Date.now())) return expiredKey();
  if (key.state === 'deactivated') return deactivatedKey();
  return workspace.state === 'active' ? undefined : deactivatedWorkspace(workspace);
}

/**
 * Counts a request, and sets what is left in the response's headers: synchronously, where that is counted in this
 * process. `key`: the one by whose sender it is counted, which has a limit of its own; without one it is counted by
 * the client's IP address, in IPv6 by its /64.
 */
type RateLimit = (context: RequestContext, key?: ApiKey) => void | Promise<void>;

/** Length of the window over which requests are counted. */
const RATE_WINDOW_SECONDS = 60;

/** Counts a request of a sender. */
type Counting = (context: RequestContext, sender: string) => void | Promise<void>;

/**
 * Returns the limit on requests per minute from one client IP address, in IPv6 from one /64 (spec section 8), where 0 means no limit, and
 * those of keys that have one of their own. Beyond it, the returned function rejects with `rate_limited` and the
 * seconds to wait.
 */
export function rateLimit(limiters: RateLimiters, perMinute: number): RateLimit {
  const byAddress = perMinute === 0 ? undefined : counting(limiters, 'requests', 'default', perMinute);
  const byKey = new Map<number, Counting>();
  return (context, key) => {
    if (key?.rateLimit === undefined) return byAddress?.(context, networkOf(context.clientIp));
    let count = byKey.get(key.rateLimit);
    if (count === undefined) {
      count = counting(limiters, 'requests_of_keys', 'key', key.rateLimit);
      byKey.set(key.rateLimit, count);
    }
    return count(context, key.sender);
  };
}

/** Headers: draft-ietf-httpapi-ratelimit-headers-10. */
function counting(limiters: RateLimiters, name: string, policyName: string, points: number): Counting {
  const limiter = limiters.limiter({ name, points, seconds: RATE_WINDOW_SECONDS });
  const policy = `"${policyName}";q=${points};w=${RATE_WINDOW_SECONDS}`;
  const note = ({ headers }: RequestContext, count: Count) => {
    const rest = `"${policyName}";r=${count.remaining};t=${secondsUntilReset(count)}`;
    headers.push('RateLimit-Policy', policy, 'RateLimit', rest);
    requireWithin(count);
  };
  return (context, sender) => {
    const count = limiter.consume(sender);
    return count instanceof Promise ? count.then((counted) => note(context, counted)) : note(context, count);
  };
}

/** Throws `rate_limited`, with the seconds to wait, where a limit on requests was exceeded. */
export function requireWithin(count: Count): void {
  if (!count.refused) return;
  throw rateLimited(secondsUntilReset(count));
}

/** Returns the refusal of a request beyond the limit, with the seconds to wait. */
export function rateLimited(seconds: number): ServiceError {
  return new ServiceError('rate_limited', `Too many requests. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}
